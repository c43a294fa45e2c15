"""Adjudication: where labels of one solution disagree a manager decides, by a label of its own. Every label is kept."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.models import Label, Person, Solution, StepRating
from prm_backend.types import FinishReason, Rating


class NotDecidable(PlumblineError):
    """The solution has no labels to decide between, or is decided."""

    status = 409


def adjudicate(*, solution: Solution, ratings: Sequence[int | None], by: Person) -> Label:
    """Decide with ratings of one's own: those of the steps up to the first error, or of every step.

    What comes after the first -1 is not looked at. Raises PlumblineError for a step that lacks its rating,
    NotDecidable where there is nothing to decide or it is decided.
    """
    like = _opinions(solution)[0]
    texts = like.question["pre_generated_steps"]
    run = ratings[: ratings.index(Rating.BAD) + 1] if Rating.BAD in ratings else ratings
    missing = next((i for i, rating in enumerate(run) if rating not in list(Rating)), None)
    if missing is None and Rating.BAD not in run and len(run) < len(texts):
        missing = len(run)
    if missing is not None:
        raise PlumblineError(_("Step %(step)s is not rated yet.") % {"step": missing + 1})
    rows = [
        StepRating(step_index=i, option=0, text=texts[i], rating=rating, chosen=rating != Rating.BAD)
        for i, rating in enumerate(run[: len(texts)])
    ]
    finish = FinishReason.FOUND_ERROR if Rating.BAD in run else FinishReason.SOLUTION
    return _decide(like, rows, by, Label(finish_reason=finish))


def side_with(*, label: Label, by: Person) -> Label:
    """Decide as one of the labels has it, with all that it says. Raises as `adjudicate` does."""
    assert label.solution is not None
    if label not in _opinions(label.solution):
        raise NotDecidable(_("That label is not one of those that disagree."))
    rows = [
        StepRating(
            step_index=row.step_index,
            option=row.option,
            source=row.source,
            text=row.text,
            rating=row.rating,
            flagged=row.flagged,
            chosen=row.chosen,
        )
        for row in label.ratings.all()
    ]
    said = Label(
        way=label.way, finish_reason=label.finish_reason, progress=label.progress, critique=label.critique
    )
    return _decide(label, rows, by, said)


def _opinions(solution: Solution) -> list[Label]:
    labels = list(Label.objects.opinions().filter(solution=solution).order_by("submitted_at", "id"))
    if not labels:
        raise NotDecidable(_("Nobody has labelled this solution: there is nothing to decide."))
    return labels


def _decide(like: Label, rows: list[StepRating], by: Person, decision: Label) -> Label:
    decision.problem_id, decision.solution_id, decision.annotator = like.problem_id, like.solution_id, by
    decision.generation, decision.question = like.generation, like.question
    decision.adjudicates, decision.submitted_at = True, timezone.now()
    try:
        with transaction.atomic():
            decision.save()
            for row in rows:
                row.label = decision
            StepRating.objects.bulk_create(rows)
    except IntegrityError:
        raise NotDecidable(_("This solution is decided already.")) from None
    return decision
