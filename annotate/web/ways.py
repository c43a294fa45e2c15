"""What the other ways of labelling add to `/label/`: next steps of the model to wait for, choosing one, writing one."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotate.errors import InvalidRating, PlumblineError
from annotate.loop import further as further_verbs
from annotate.loop import grow

from . import sent
from .access import PersonRequest, annotator_required
from .keys import sheet
from .labelling import act_on_item
from .shown import show


@annotator_required
@never_cache
@require_GET
def proposed(request: PersonRequest, item: int) -> HttpResponse:
    """Asked while the model writes: what there is of its next steps; 204 where that is what the page `seen` has."""
    try:
        work = grow.look_again(person=request.user, item=item)
    except PlumblineError:  # submitted or lost meanwhile: the page itself will say so
        return HttpResponse(status=204) if request.htmx else redirect("label")
    if not request.htmx:
        return redirect("label")
    waiting = work.proposed.waiting if work.proposed else None
    if waiting is not None and request.GET.get("seen") == waiting.seen:
        return HttpResponse(status=204)
    context = {"work": work, "now": work.next_open, **sheet(request.user)}
    return render(request, "label/proposed.html#arrived", context)


@act_on_item
def again(request: PersonRequest, item: int) -> HttpResponse:
    work = grow.propose_again(person=request.user, item=item)
    return show(request, work) if request.htmx else redirect("label")


@act_on_item
def further(request: PersonRequest, item: int) -> HttpResponse:
    """Sent while it is typed; the page changes nothing."""
    further_verbs.tell(
        person=request.user,
        item=item,
        progress=sent.number(request, "progress"),
        critique=request.POST.get("critique"),
        active_ms=sent.active_ms(request),
    )
    return HttpResponse(status=204) if request.htmx else redirect("label")


@act_on_item
def choose(request: PersonRequest, item: int) -> HttpResponse:
    step, option = sent.number(request, "step"), sent.number(request, "option")
    if step is None or option is None:
        raise InvalidRating(_("Say which option to go on with."))
    work = grow.choose(
        person=request.user, item=item, step_index=step, option=option, active_ms=sent.active_ms(request)
    )
    return show(request, work) if request.htmx else redirect("label")


@act_on_item
def write(request: PersonRequest, item: int) -> HttpResponse:
    work = grow.write_step(
        person=request.user,
        item=item,
        step_index=sent.number(request, "step") or 0,
        text=request.POST.get("text", ""),
        active_ms=sent.active_ms(request),
    )
    return show(request, work) if request.htmx else redirect("label")
