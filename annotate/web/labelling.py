"""`/label/`: one solution at a time is claimed, rated, submitted. Parses, calls one verb, shows one template.

Every action is a plain form that works without JavaScript (it redirects back to the page). From label.js it is
answered with the part of the page that changed; a refusal is answered with the person's current work and the reason.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotate.errors import AlreadySubmitted, InvalidRating, PlumblineError
from annotate.loop import label as verbs
from annotate.loop import progress
from annotate.loop.screening import screening_of
from annotate.loop.take import SCREENING_GENERATION
from annotate.loop.work import Work
from annotate.models import Person, QueueItem
from prm_backend.text.steps import ANSWER_HEADER

from .access import PersonRequest, View, annotator_required


@annotator_required
@never_cache
@require_GET
def label(request: PersonRequest) -> HttpResponse:
    """The person's work: claimed by looking at it, which gives the same item as long as it is theirs."""
    return _show(request, verbs.claim(person=request.user))


def _act(view: Callable[[PersonRequest, int], HttpResponse]) -> View:
    """An action of an annotator; what a verb refuses is shown with the person's current work."""

    @annotator_required
    @never_cache
    @require_POST
    @wraps(view)
    def guarded(request: PersonRequest, item: int) -> HttpResponse:
        try:
            return view(request, item)
        except AlreadySubmitted as error:  # a second Enter, or another tab: there is nothing to mend
            return _refuse(request, error, "")
        except PlumblineError as error:
            return _refuse(request, error, error.message)

    return guarded


@_act
def rate(request: PersonRequest, item: int) -> HttpResponse:
    index, rating = _step_and_value(request, "rating")
    work = verbs.rate(
        person=request.user, item=item, step_index=index, rating=rating, active_ms=_active_ms(request)
    )
    return _show_changes(request, work, index)


@_act
def flag(request: PersonRequest, item: int) -> HttpResponse:
    index, unsure = _step_and_value(request, "unsure")
    work = verbs.flag(
        person=request.user, item=item, step_index=index, unsure=bool(unsure), active_ms=_active_ms(request)
    )
    return _show_changes(request, work, index)


@_act
def undo(request: PersonRequest, item: int) -> HttpResponse:
    work = verbs.undo(person=request.user, item=item, active_ms=_active_ms(request))
    return _show_changes(request, work, min(work.changed, default=None))


@_act
def submit(request: PersonRequest, item: int) -> HttpResponse:
    """Submit, and answer with the next item."""
    screenings = request.user.screenings
    verbs.submit(
        person=request.user,
        item=item,
        finish_reason=request.POST.get("finish_reason", ""),
        comment=request.POST.get("comment", ""),
        active_ms=_active_ms(request),
    )
    screened = request.user.screenings > screenings
    if not request.htmx:
        return redirect("screening" if screened else "label")
    return _show(request, verbs.claim(person=request.user), screened=screened)


@_act
def heartbeat(request: PersonRequest, item: int) -> HttpResponse:
    verbs.heartbeat(person=request.user, item=item)
    return HttpResponse(status=204)


@_act
def release(request: PersonRequest, item: int) -> HttpResponse:
    """Sent by the page that is left; nobody reads the answer."""
    try:
        token = uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        return HttpResponse(status=400)
    verbs.release(person=request.user, item=item, token=token)
    return HttpResponse(status=204)


def _show(
    request: PersonRequest,
    work: Work | None,
    *,
    notice: str = "",
    screened: bool = False,
    status: int = 200,
) -> HttpResponse:
    """The whole page, or for label.js the part of it that a new item replaces. `screened`: a screening just ended."""
    context: dict[str, Any] = {
        "work": work,
        "notice": notice,
        "screened": screened,
        "lease_seconds": settings.LEASE_SECONDS,
    }
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    context["today"] = request.user.labels.submitted_since(today).paces().first()
    if work is None:
        context |= _why_nothing(request.user)
    else:
        context["rows"] = _rows(work)
        context["now"] = _now(work)
        if work.generation == SCREENING_GENERATION:
            context["screening"] = screening_of(request.user)
    template = "label/label.html#fragment" if request.htmx else "label/label.html"
    response = render(request, template, context, status=status)
    response["HX-Reswap"] = "outerHTML"
    return response


def _show_changes(request: PersonRequest, work: Work, index: int | None) -> HttpResponse:
    """What a rating changed: the steps that look different, and the bar; or back to the page, at the step."""
    number = "" if index is None else f"#step-{index + 1}"
    if not request.htmx:
        return redirect(reverse("label") + number)
    changed = [row for row in _rows(work) if row["step"].index in work.changed]
    response = render(request, "label/label.html#changes", {"work": work, "rows": changed, "oob": True})
    response["HX-Reswap"] = "none"
    if index is not None:
        response["Plumbline-Step"] = str(index + 1)
    return response


def _refuse(request: PersonRequest, error: PlumblineError, notice: str) -> HttpResponse:
    if request.htmx:
        return _show(request, verbs.claim(person=request.user), notice=notice, status=error.status)
    if notice:
        messages.error(request, notice)
    return redirect("label")


def parts(step: str) -> dict[str, str]:
    """A step's `text` and, apart from it, the final `answer` that the last one carries."""
    text, header, answer = step.partition(ANSWER_HEADER)
    return {"text": text.strip(), "answer": answer.strip()} if header else {"text": step, "answer": ""}


def _rows(work: Work) -> list[dict[str, Any]]:
    return [{"step": step, **parts(step.text)} for step in work.steps]


def _now(work: Work) -> int:
    """The step to stand at: the first that needs a rating, else the one that ended it."""
    if work.next_open is not None:
        return work.next_open
    return work.first_error if work.first_error is not None else len(work.steps) - 1


def _why_nothing(person: Person) -> dict[str, Any]:
    """What to say where nothing waits for this person: paused, not admitted, or what the loop is doing."""
    free = QueueItem.objects.open().filter(leased_by__isnull=True)
    counts = progress.loop_counts()
    return {
        "paused": free.filter(queue__paused_at__isnull=False).exists(),
        "preparing": counts.generate + counts.grade + counts.score + counts.enqueue,
        "counts": counts,
        "screening": screening_of(person),
    }


def _step_and_value(request: PersonRequest, name: str) -> tuple[int, int]:
    """The pressed button's value, "index:value"."""
    index, _, value = request.POST.get(name, "").partition(":")
    try:
        return int(index), int(value)
    except ValueError:
        raise InvalidRating(f"{name} must be a step's index and a value, like 0:1.") from None


def _active_ms(request: PersonRequest) -> int:
    try:
        return int(request.POST.get("active_ms", ""))
    except ValueError:
        return 0
