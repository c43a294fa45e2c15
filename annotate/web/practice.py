"""`/practice/`: one made-up solution to try the keys and the ratings on, with a word on each step. Makes no label.

What was rated stays in the session until the practice is done. The page is the labelling page's own.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotate.errors import InvalidRating
from annotate.loop.work import Work, WorkStep
from annotate.models import Way
from prm_backend.types import Rating

from . import sent
from .access import PersonRequest, annotator_required
from .keys import sheet
from .prose import parts

PROBLEM = _(
    "A bus ticket costs 3 euros. Mia buys 4 tickets and pays with a 20-euro note. What change does she get?"
)
GREAT, OKAY, BAD = Rating.GREAT, Rating.OKAY, Rating.BAD
# Each step, the ratings that are reasonable for it, and why.
STEPS: tuple[tuple[Promise | str, set[int], Promise | str], ...] = (
    (
        _("Four tickets cost $4 \\cdot 3 = 12$ euros."),
        {GREAT},
        _("Great: it is right, easy to check, and the natural way to begin."),
    ),
    (
        _("So Mia has to pay 12 euros for all of them."),
        {OKAY},
        _("Okay: it is true, but it only repeats the step before."),
    ),
    (
        _("To be sure I add them up: $3 + 3 + 3 + 3 = 12$, as it should be."),
        {GREAT, OKAY},
        _("Great or okay, both are reasonable: a check is useful, though this one was hardly needed."),
    ),
    (
        _("She pays with 20 euros, so she gets $20 - 12 = 7$ euros back."),
        {BAD},
        _(
            "Bad: $20 - 12$ is 8. This is the first error, so the rating ends here; what follows is not rated."
        ),
    ),
    (format_lazy("{}\n\n# Answer\n\n7", _("The change is 7 euros.")), set(), _("It comes after the error.")),
)


@annotator_required
@never_cache
@require_GET
def practice(request: PersonRequest) -> HttpResponse:
    work = _work(request)
    now = work.rated_run if work.next_open is not None else work.first_error
    context = {"work": work, "rows": _rows(work), "now": now, **sheet(request.user)}
    return render(request, "practice/practice.html", context)


@annotator_required
@never_cache
@require_POST
def rate(request: PersonRequest) -> HttpResponse:
    before = _work(request)
    try:
        index, rating = sent.step_and_value(request, "rating")
    except InvalidRating:
        return HttpResponse(status=400)
    if not 0 <= index < len(STEPS) or rating not in (None, *Rating):
        return HttpResponse(status=400)
    request.session["practice"] = {**request.session.get("practice", {}), str(index): rating}
    if not request.htmx:
        return redirect("practice")
    work = _work(request).since(before)
    rows = [row for row in _rows(work) if row["step"].index in {*work.changed, index}]
    context = {"work": work, "rows": rows, "oob": True, **sheet(request.user)}
    response = render(request, "label/label.html#changes", context)
    response["HX-Reswap"] = "none"
    return response


@annotator_required
@require_POST
def done(request: PersonRequest) -> HttpResponse:
    """The practice is done, or skipped; either way it is not shown again by itself."""
    request.session.pop("practice", None)
    request.user.practised_at = timezone.now()
    request.user.save(update_fields=("practised_at",))
    return redirect("label")


def _work(request: PersonRequest) -> Work:
    given: dict[str, int | None] = request.session.get("practice", {})
    ratings = [given.get(str(index)) for index in range(len(STEPS))]
    error = ratings.index(BAD) if BAD in ratings else len(STEPS)
    steps = tuple(
        WorkStep(index=i, text=str(text), rating=ratings[i], unsure=False, after_error=i > error)
        for i, (text, _ratings, _why) in enumerate(STEPS)
    )
    return Work(
        item=0,
        way=Way.FIRST_ERROR,
        token=None,
        lease_expires_at=None,
        generation=None,
        problem=str(PROBLEM),
        guess="8",
        answer="7",
        steps=steps,
        active_ms=0,
    )


def _rows(work: Work) -> list[dict[str, Any]]:
    """The steps; a rated one with its lesson: whether the rating is a reasonable one, and why."""
    rows: list[dict[str, Any]] = []
    for step, (_text, reasonable, why) in zip(work.steps, STEPS, strict=True):
        row: dict[str, Any] = {"step": step, **parts(step.text)}
        if step.rating is not None and not step.after_error:
            row["lesson"] = {"why": str(why), "agrees": step.rating in reasonable}
        rows.append(row)
    return rows
