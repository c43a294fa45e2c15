"""`/settings/`: what a person chooses for themselves: the keys they label with, their language, their password."""

from __future__ import annotations

from django.conf import settings as site
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate.errors import PlumblineError
from annotate.loop import keymap

from .access import PersonRequest, annotator_required
from .keys import sheet


@require_safe
def settings(request: PersonRequest) -> HttpResponse:
    return _show(request)


@annotator_required
@require_POST
def choose_keys(request: PersonRequest) -> HttpResponse:
    """Keep the keys that were typed, or all defaults; what cannot be is said above them, and they stay typed."""
    typed = {} if "defaults" in request.POST else {a: request.POST.get(a, "") for a in keymap.DEFAULTS}
    try:
        keymap.choose_keys(person=request.user, keys=typed)
    except PlumblineError as error:
        return _show(request, refusal=str(error), typed=typed, status=error.status)
    messages.success(request, _("Your keys are saved."))
    return redirect("settings")


@require_POST
def choose_language(request: PersonRequest) -> HttpResponse:
    """Keep the language; an unknown one, like none, follows the browser."""
    asked = request.POST.get("language", "")
    request.user.language = asked if asked in dict(site.LANGUAGES) else ""
    request.user.save(update_fields=("language",))
    return redirect("settings")


def _show(
    request: PersonRequest, *, refusal: str = "", typed: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    context = {"refusal": refusal, "languages": site.LANGUAGES, **sheet(request.user)}
    if typed:
        context["key_rows"] = [(action, typed[action], words) for action, _key, words in context["key_rows"]]
    return render(request, "settings/settings.html", context, status=status)
