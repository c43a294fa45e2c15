"""`/label/`: one solution at a time is claimed, rated, submitted. Parses, calls one verb, shows one template.

Every action is a plain form that works without JavaScript (it redirects back to the page). From label/page.js it is
answered with the part of the page that changed; a refusal is answered with the person's current work and the reason.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotate.errors import AlreadySubmitted, PlumblineError
from annotate.loop import concerns, second_thoughts
from annotate.loop import label as verbs

from . import sent
from .access import PersonRequest, View, annotator_required
from .keys import sheet
from .shown import show, show_changes, show_next, today, work_context


@annotator_required
@never_cache
@require_GET
def label(request: PersonRequest) -> HttpResponse:
    """The person's work: claimed by looking at it, which gives the same item as long as it is theirs."""
    if request.user.practised_at is None and not request.htmx and not request.user.labels.exists():
        return redirect("practice")
    return show(request, verbs.claim(person=request.user))


def act(view: Callable[..., HttpResponse]) -> View:
    """An action of an annotator: 403 where somebody else has signed in since the page was opened, and keeps it."""

    @annotator_required
    @never_cache
    @require_POST
    @wraps(view)
    def guarded(request: PersonRequest, **where: int) -> HttpResponse:
        if request.POST.get("person", str(request.user.pk)) != str(request.user.pk):
            return HttpResponse(status=403)
        return view(request, **where)

    return guarded


def act_on_item(view: Callable[[PersonRequest, int], HttpResponse]) -> View:
    """Such an action; what a verb refuses is shown with the person's current work."""

    @act
    @wraps(view)
    def guarded(request: PersonRequest, item: int) -> HttpResponse:
        try:
            response = view(request, item)
        except AlreadySubmitted as error:  # a second Enter, or another tab: there is nothing to mend
            response = _refuse(request, error, "")
        except PlumblineError as error:
            response = _refuse(request, error, error.message)
        response["Plumbline-Item"] = str(item)
        return response

    return guarded


@act_on_item
def rate(request: PersonRequest, item: int) -> HttpResponse:
    index, rating = sent.step_and_value(request, "rating")
    work = verbs.rate(
        person=request.user,
        item=item,
        step_index=index,
        rating=rating,
        given_at=sent.given_at(request),
        step_ms=sent.step_ms(request).get(index, 0),
        active_ms=sent.active_ms(request),
    )
    return show_changes(request, work, index)


@act_on_item
def flag(request: PersonRequest, item: int) -> HttpResponse:
    index, unsure = sent.step_and_value(request, "unsure")
    work = verbs.flag(
        person=request.user,
        item=item,
        step_index=index,
        unsure=bool(unsure),
        given_at=sent.given_at(request),
        active_ms=sent.active_ms(request),
    )
    return show_changes(request, work, index)


@act_on_item
def undo(request: PersonRequest, item: int) -> HttpResponse:
    work = verbs.undo(
        person=request.user,
        item=item,
        step_index=sent.number(request, "step"),
        active_ms=sent.active_ms(request),
    )
    return show_changes(request, work, min(work.changed, default=None))


@act_on_item
def dispute(request: PersonRequest, item: int) -> HttpResponse:
    concerns.dispute(person=request.user, item=item, text=request.POST.get("text", ""))
    return show_next(
        request, notice=_("Thank you: a manager will look at the answer. Go on rating the steps.")
    )


@act_on_item
def submit(request: PersonRequest, item: int) -> HttpResponse:
    """Submit, and answer with the next item; where the page has shown it already, with what it lacks of it."""
    screenings = request.user.screenings
    given: dict[str, Any] = {
        "item": item,
        "finish_reason": request.POST.get("finish_reason", ""),
        "comment": request.POST.get("comment", ""),
        "progress": sent.number(request, "progress"),
        "critique": request.POST.get("critique"),
        "given_at": sent.given_at(request),
        "step_ms": sent.step_ms(request),
        "active_ms": sent.active_ms(request),
    }
    if not request.htmx:
        verbs.submit(person=request.user, **given)
        return redirect("screening" if request.user.screenings > screenings else "label")
    done, work = verbs.submit_and_claim(person=request.user, **given)
    if work is not None and work.item == sent.number(request, "shown"):
        response = render(request, "label/label.html#lacking", {"done": done, "today": today(request.user)})
        response["HX-Reswap"], response["Plumbline-Token"] = "none", str(work.token)
        return response
    return show(request, work, done=done, screened=request.user.screenings > screenings)


@act_on_item
def ahead(request: PersonRequest, item: int) -> HttpResponse:
    """What the page shows once this item is submitted; 204 where that is not known before."""
    work = verbs.fetch_ahead(person=request.user, item=item)
    if work is None or work.lease_expires_at is None:
        return HttpResponse(status=204)
    response = render(request, "label/label.html#work", sheet(request.user) | work_context(work))
    response["Plumbline-Seconds"] = str(int((work.lease_expires_at - timezone.now()).total_seconds()))
    return response


@act_on_item
def skip(request: PersonRequest, item: int) -> HttpResponse:
    second_thoughts.skip(person=request.user, item=item, active_ms=sent.active_ms(request))
    return show_next(request)


@act
def unskip(request: PersonRequest) -> HttpResponse:
    second_thoughts.unskip(person=request.user)
    return show_next(request)


@act
def take_back(request: PersonRequest, pk: int) -> HttpResponse:
    """A submitted label becomes the person's draft again, and what they rate now."""
    try:
        submitted_at = parse_datetime(request.POST.get("submitted", ""))
        second_thoughts.take_back(person=request.user, label=pk, submitted_at=submitted_at)
    except (PlumblineError, ValueError) as error:
        status = getattr(error, "status", 400)
        if request.htmx:
            return show(request, verbs.claim(person=request.user), notice=str(error), status=status)
        messages.error(request, str(error))
        return redirect("work")
    return show_next(request)


@act_on_item
def heartbeat(request: PersonRequest, item: int) -> HttpResponse:
    verbs.heartbeat(person=request.user, item=item)
    return HttpResponse(status=204)


@act_on_item
def release(request: PersonRequest, item: int) -> HttpResponse:
    """Sent by the page that is left; nobody reads the answer."""
    try:
        token = uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        return HttpResponse(status=400)
    verbs.release(person=request.user, item=item, token=token)
    return HttpResponse(status=204)


def _refuse(request: PersonRequest, error: PlumblineError, notice: str) -> HttpResponse:
    if request.htmx:
        return show(request, verbs.claim(person=request.user), notice=notice, status=error.status)
    if notice:
        messages.error(request, notice)
    return redirect("label")
