"""The snapshot stage: submitted labels as PRM800K JSONL, streamed; and that file kept, named by its hash.

Knows nothing of training: who reads a snapshot decides what of it trains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, BinaryIO

from django.utils import timezone

from annotate.loop.kept_files import keep_once
from annotate.models import Label, Snapshot, StepRating, Way
from annotate.models.label import LabelQuerySet
from prm_backend.text.prm800k import (
    Completion,
    Extra,
    HumanCompletion,
    LabelledStep,
    PreGenerated,
    Record,
    to_json,
)
from prm_backend.types import FinishReason, Rating

CHUNK = 500  # labels in memory at a time

_LABEL = [
    "id",
    "annotator__labeler",
    "submitted_at",
    "generation",
    "is_quality_control_question",
    "is_initial_screening_question",
    "question",
    "total_time",
    "finish_reason",
    "way",
    "progress",
    "critique",
    "comment",
    "adjudicates",
]
_RATING = ["label_id", "step_index", "option", "source", "text", "rating", "flagged", "chosen"]


def label_lines(*, labels: LabelQuerySet) -> Iterator[bytes]:
    """The submitted ones of `labels` as PRM800K rows (PRM800K.md, section 1), one line of UTF-8 each.

    Constant memory: labels come through a server-side cursor, their ratings a chunk at a time. The same state
    gives the same bytes.
    """
    rows = labels.submitted().in_export_order().values_list(*_LABEL).iterator(chunk_size=CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        ratings = _ratings_by_label([row[0] for row in chunk])
        for row in chunk:
            yield f"{to_json(_record(row, ratings.get(row[0], [])))}\n".encode()


def write_labels(*, labels: LabelQuerySet, stream: BinaryIO) -> int:
    """Write `label_lines` to a binary stream; returns how many labels that were."""
    return _copy(label_lines(labels=labels), stream.write)


def snapshot() -> Snapshot:
    """Keep all submitted labels as one file in the default storage; where nothing changed, the file that is there."""
    began = timezone.now()

    def fill(keep: Callable[[bytes], object]) -> dict[str, Any]:
        return {"n_labels": _copy(label_lines(labels=Label.objects.all()), keep)}

    kept, created = keep_once(Snapshot, "snapshots", fill)
    if created:  # what is submitted from `began` on may not be in it, and still waits for the next one
        kept.created_at = began
        kept.save(update_fields=("created_at",))
    return kept


def _copy(lines: Iterable[bytes], write: Callable[[bytes], object]) -> int:
    count = 0
    for count, line in enumerate(lines, start=1):  # noqa: B007  the last count is what we return
        write(line)
    return count


def _ratings_by_label(label_ids: list[int]) -> dict[int, list[tuple[Any, ...]]]:
    """The ratings of each label as plain rows, in order; they become objects one label at a time."""
    ratings = (
        StepRating.objects.filter(label_id__in=label_ids)
        .order_by("label_id", "step_index", "option")  # the human's row, whose option is null, comes last
        .values_list(*_RATING)
    )
    return {label_id: list(rows) for label_id, rows in groupby(ratings, key=itemgetter(0))}


def _step(rows: Iterable[tuple[Any, ...]]) -> LabelledStep:
    completions: list[Completion] = []
    human = chosen = None
    for _, _, _, source, text, rating, flagged, is_chosen in rows:
        if source == StepRating.Source.MODEL:
            chosen = len(completions) if is_chosen else chosen
            completions.append(Completion(text, rating, flagged))
        elif source == StepRating.Source.HUMAN:
            human = HumanCompletion(text=text, rating=rating, flagged=flagged)
    return LabelledStep(tuple(completions) or None, human, chosen)


def _record(row: tuple[Any, ...], ratings: list[tuple[Any, ...]]) -> Record:
    _, labeler, submitted_at, generation, is_control, is_screening, question, total_time, *more = row
    finish_reason, way, progress, critique, comment, adjudicates = more
    steps = [_step(options) for _, options in groupby(ratings, key=itemgetter(1))]
    n_steps = len(steps) if way != Way.EVERY_STEP else _up_to_the_error(steps)
    pre_generated = None
    if "pre_generated_steps" in question:
        pre_generated = PreGenerated(
            ground_truth_solution=question["ground_truth_solution"],
            steps=tuple(question["pre_generated_steps"]),
            answer=question["pre_generated_answer"],
            verifier_score=question["pre_generated_verifier_score"],
        )
    return Record(
        labeler=str(labeler),
        timestamp=naive_utc(submitted_at),
        generation=generation,
        is_quality_control_question=is_control,
        is_initial_screening_question=is_screening,
        problem=question["problem"],
        ground_truth_answer=question["ground_truth_answer"],
        pre_generated=pre_generated,
        steps=tuple(steps[:n_steps]),
        total_time=total_time,
        finish_reason=FinishReason(finish_reason),
        extra=Extra(
            way=way if way == Way.EVERY_STEP else "",  # the other two show in the row's shape
            after_error=tuple(option for step in steps[n_steps:] for option in step.completions or ()),
            progress=progress,
            critique=critique,
            comment=comment,
            model_critique=_model_critique(ratings),
            adjudicates=adjudicates,
        ),
    )


def _model_critique(ratings: Iterable[tuple[Any, ...]]) -> Completion | None:
    for _, _, _, source, text, rating, flagged, _ in ratings:
        if source == StepRating.Source.CRITIQUE:
            return Completion(text, rating, flagged)
    return None


def is_error(step: LabelledStep) -> bool:
    """Whether the step that was served, its first completion, is rated -1."""
    return bool(step.completions and step.completions[0].rating == Rating.BAD)


def _up_to_the_error(steps: list[LabelledStep]) -> int:
    """How many steps PRM800K keeps: those up to and including the first error."""
    return next((i + 1 for i, step in enumerate(steps) if is_error(step)), len(steps))


def naive_utc(moment: datetime) -> str:
    """PRM800K's timestamps: UTC without saying so, always with microseconds."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
