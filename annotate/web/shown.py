"""What the labelling page shows: the whole of it, the part that a new item replaces, or what an act changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.loop import progress
from annotate.loop.screening import screening_of
from annotate.loop.take import SCREENING_GENERATION
from annotate.loop.work import Work
from annotate.models import HOW_FAR, Given, Label, Person, QueueItem, Statement, Way

from .access import PersonRequest
from .keys import sheet
from .prose import parts

_TODAY = Statement(
    lambda: Label.objects.filter(annotator=Given("person")).submitted_since(Given("midnight")).paces()
)


def show(
    request: PersonRequest,
    work: Work | None,
    *,
    notice: str = "",
    screened: bool = False,
    done: Label | None = None,
    status: int = 200,
) -> HttpResponse:
    """The whole page, or for page.js the part of it that a new item, or a grown one, replaces.

    `done`: the label just submitted, which can be taken back; `screened`: a screening just ended.
    """
    context: dict[str, Any] = {"work": work, "notice": notice, "screened": screened, "refused": status >= 400}
    if done is not None and not done.is_initial_screening_question:
        context["done"] = done
    context |= {"server_ms": int(timezone.now().timestamp() * 1000), "today": today(request.user)}
    context |= sheet(request.user)
    if work is None:
        context |= _why_nothing(request)
    else:
        context |= work_context(work)
        if work.generation == SCREENING_GENERATION:
            context["screening"] = screening_of(request.user)
    template = "label/label.html#fragment" if request.htmx else "label/label.html"
    response = render(request, template, context, status=status)
    response["HX-Reswap"] = "outerHTML"
    return response


def show_next(request: PersonRequest, **more: Any) -> HttpResponse:
    if request.htmx:
        return show(request, verbs.claim(person=request.user), **more)
    if notice := more.get("notice"):
        messages.success(request, notice)
    return redirect("label")


def show_changes(request: PersonRequest, work: Work, index: int | None) -> HttpResponse:
    """What a rating changed: the steps that look different, and the bar; or back to the page, at the step."""
    place = "" if index is None else f"#step-{index + 1}"
    if work.grew and request.htmx:
        return show(request, work)
    if not request.htmx:
        return redirect(reverse("label") + place)
    context = {"work": work, "rows": _rows(work, work.changed), "oob": True, **sheet(request.user)}
    context["how_far"] = HOW_FAR
    if work.proposed is not None:
        context["options"] = [one for one in work.proposed.rated if one.index in work.changed_options]
    response = render(request, "label/label.html#changes", context)
    response["HX-Reswap"] = "none"
    return response


def work_context(work: Work) -> dict[str, Any]:
    rows, now, seconds = _rows(work), _now(work), settings.LEASE_SECONDS
    return {"work": work, "rows": rows, "now": now, "how_far": HOW_FAR, "lease_seconds": seconds}


def today(person: Person) -> dict[str, Any] | None:
    """How many `solutions` the person has rated today, and the median `milliseconds`; None before the first."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    for _name, solutions, milliseconds in _TODAY.rows(person=person.pk, midnight=midnight):
        return {"solutions": solutions, "milliseconds": milliseconds}
    return None


def _rows(work: Work, indexes: tuple[int, ...] | None = None) -> list[dict[str, Any]]:
    """The steps with those indexes, else all; the last one with the answer that the solution ends in."""
    shown = work.steps if indexes is None else [work.steps[index] for index in indexes]
    rows = [{"step": step, **parts(step.text)} for step in shown]
    if rows and shown[-1].number == len(work.steps):
        rows[-1]["answer"] = rows[-1]["answer"] or work.answer
    return rows


def _now(work: Work) -> int:
    """The step to stand at: the first that needs a rating, else the one that ended it."""
    if work.next_open is not None:
        return work.next_open
    if work.way == Way.STEP_BY_STEP:
        return 0
    return work.first_error if work.first_error is not None else len(work.steps) - 1


def _why_nothing(request: PersonRequest) -> dict[str, Any]:
    """What to say where nothing waits for this person: paused, not admitted, skipped, or what the loop is doing."""
    free = QueueItem.objects.open().filter(leased_by__isnull=True)
    counts = progress.loop_counts()
    skipped = request.user.labels.drafts().filter(skipped_at__isnull=False, queue_item__done_at=None)
    return {
        "paused": free.filter(queue__paused_at__isnull=False).exists(),
        "preparing": counts.generate + counts.grade + counts.score + counts.enqueue,
        "counts": counts,
        "screening": screening_of(request.user),
        "skipped": skipped.count(),
    }
