"""`/quality/disputes/`: labels of one solution that disagree, side by side, and a manager's decision."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Prefetch, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate.errors import PlumblineError
from annotate.loop import adjudicate as verbs
from annotate.loop.work import split
from annotate.models import HOW_FAR, Label, Solution, StepRating
from annotate.models.label import NO_ERROR

from .access import PersonRequest, manager_required
from .acts import act, first_behind, on_to
from .prose import parts

_PER_PAGE = 25


@manager_required
@require_safe
def disputes(request: PersonRequest) -> HttpResponse:
    opinions = (
        Label.objects.opinions().with_first_error().select_related("annotator").order_by("submitted_at")
    )
    disputed = Label.objects.disputed_solutions().select_related("problem").order_by("pk")
    with_opinions = disputed.prefetch_related(Prefetch("labels", queryset=opinions, to_attr="opinions"))
    page = Paginator(with_opinions, _PER_PAGE).get_page(request.GET.get("page"))
    decided = Label.objects.filter(adjudicates=True).with_first_error().select_related("annotator", "problem")
    context = {"page": page, "decided": decided.order_by("-submitted_at")[:10]}
    return render(request, "quality/disputes.html", context)


@manager_required
@require_safe
def dispute(request: PersonRequest, pk: int) -> HttpResponse:
    return _page(request, get_object_or_404(Solution.objects.select_related("problem"), pk=pk))


@manager_required
@require_POST
def decide(request: PersonRequest, pk: int) -> HttpResponse:
    """As one of the labels has it (`label`), or with ratings of one's own (`rating-0` …)."""
    solution = get_object_or_404(Solution.objects.select_related("problem"), pk=pk)
    label = (
        Label.objects.opinions().filter(solution=solution, pk=_number(request.POST.get("label")) or 0).first()
    )
    given = [_number(request.POST.get(f"rating-{index}")) for index in range(solution.steps.count())]
    try:
        if label is not None:
            verbs.side_with(label=label, by=request.user)
        else:
            verbs.adjudicate(solution=solution, ratings=given, by=request.user)
    except PlumblineError as error:
        return _page(request, solution, given=given, refused=str(error))
    following = _next(solution)
    return act(
        request,
        lambda: _("Decided. The labels stay; training takes the decision."),
        back_to=on_to("dispute", following, otherwise="disputes"),
    )


def _next(solution: Solution) -> int | None:
    """The disputed solution to look at next."""
    waiting = Label.objects.disputed_solutions().exclude(pk=solution.pk).order_by("pk")
    return first_behind(waiting, Q(pk__gt=solution.pk))


def _page(
    request: PersonRequest, solution: Solution, *, given: list[int | None] | None = None, refused: str = ""
) -> HttpResponse:
    labels = list(
        Label.objects.opinions()
        .filter(solution=solution)
        .with_first_error()
        .select_related("annotator")
        .prefetch_related("ratings")
        .order_by("submitted_at", "id")
    )
    if not labels:
        raise Http404("Nobody has labelled this solution.")
    context = {
        "solution": solution,
        "labels": labels,
        "rows": _side_by_side(labels, given),
        "further": [said for label in labels if (said := _further(label))],
        "decided": solution.labels.filter(adjudicates=True).select_related("annotator").first(),
        "refused": refused,
        "following": _next(solution),
    }
    return render(request, "quality/dispute.html", context, status=400 if refused else 200)


def _side_by_side(labels: list[Label], given: list[int | None] | None) -> list[dict[str, Any]]:
    """A row a step: its text, each label's rating row, and the rating to suggest where all agree."""
    by_label = [{row.step_index: row for row in label.ratings.all() if row.option == 0} for label in labels]
    rows = []
    for index, text in enumerate(labels[0].question["pre_generated_steps"]):
        ratings = [rated.get(index) for rated in by_label]
        values = {row.rating if row else None for row in ratings}
        agreed = values.pop() if len(values) == 1 else None
        chosen = given[index] if given is not None else agreed
        rows.append(
            {
                "index": index,
                "number": index + 1,
                "ratings": ratings,
                "chosen": chosen,
                "apart": agreed is None and any(row is not None for row in ratings),
                **parts(text),
            }
        )
    return rows


def _further(label: Label) -> dict[str, Any] | None:
    """What a label says beside the ratings of the steps that were served; None where it says nothing more.

    `options` are other steps that were rated, and steps that the person wrote.
    """
    _, others = split(label, label.ratings.all())
    beside = [row for row in others if row.source in (StepRating.Source.MODEL, StepRating.Source.HUMAN)]
    said = {
        "far": None if label.progress is None else HOW_FAR[label.progress],
        "critique": label.critique,
        "model_critique": next((row for row in others if row.source == StepRating.Source.CRITIQUE), None),
        "options": beside,
    }
    number = label.first_error + 1 if label.first_error != NO_ERROR else None
    return {"name": label.annotator.username, "number": number, **said} if any(said.values()) else None


def _number(value: str | None) -> int | None:
    try:
        return int(value or "")
    except ValueError:
        return None
