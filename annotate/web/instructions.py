"""`/instructions/`: the rating rules, every version of them; managers publish a new one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate.errors import PlumblineError
from annotate.loop.instructions import publish
from annotate.models import Instructions

from .access import PersonRequest, manager_required


@require_safe
def instructions(request: PersonRequest, number: int | None = None) -> HttpResponse:
    """The current version, or a named one; for htmx only its text, which the labelling page's drawer shows."""
    shown = (
        Instructions.objects.current() if number is None else get_object_or_404(Instructions, number=number)
    )
    template = "instructions/instructions.html" + ("#rules" if request.htmx else "")
    versions = () if request.htmx else Instructions.objects.select_related("created_by")
    return render(request, template, {"shown": shown, "versions": versions})


@manager_required
@require_http_methods(["GET", "POST"])
def edit(request: PersonRequest) -> HttpResponse:
    """A new version begins with the text of the one before; a refusal keeps what was typed."""
    current = Instructions.objects.current()
    text = "" if current is None else current.words
    if request.method == "POST":
        text = request.POST.get("text", "")
        if "preview" not in request.POST:
            try:
                new = publish(by=request.user, text=text)
            except PlumblineError as error:
                messages.error(request, str(error))
            else:
                messages.success(request, _("Version %(number)s holds from now on.") % {"number": new.number})
                return redirect("instructions")
    return render(request, "instructions/edit.html", {"text": text, "current": current})
