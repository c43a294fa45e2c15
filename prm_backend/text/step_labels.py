"""Step labels that others made: first-error files, ProcessBench, scored samples. Trains on nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from prm_backend.text.json_fields import boolean, each, integer, number, optional, refuse, string
from prm_backend.text.rows import DEFAULT_LIMITS, ReadLimits, Refused, read_rows
from prm_backend.types import LabelledSolution, Rating, StepProbs


@dataclass(frozen=True)
class ScoredSample:
    """A row of PRM800K's best-of-N file: a graded solution with a PRM's probabilities for each step."""

    problem: str
    steps: tuple[str, ...]
    answer: str | None
    is_correct: bool
    probs: tuple[StepProbs, ...]
    prm_score: float
    ground_truth_answer: str
    subject: str = ""
    level: int | None = None
    unique_id: str = ""
    orm_score: float | None = None


def read_step_labels(
    source: str | Path | BinaryIO, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[LabelledSolution | Refused]:
    """Labelled solutions out of a JSON or JSONL file (also `.gz`), in bounded memory.

    A row has `problem`, `steps` and the 0-based index of the first wrong step, -1 for none, as `first_error`
    or (ProcessBench) `label`. Steps before it count as +1, it as -1, those after it are unlabelled. Where
    `ratings` are given they are taken as they are, up to the first error.
    """
    for row in read_rows(source, limits=limits):
        if isinstance(row, Refused):
            yield row
            continue
        try:
            yield labelled_solution(row.value)
        except ValueError as error:
            yield Refused(row.line, str(error))


def labelled_solution(row: Any) -> LabelledSolution:
    """Read one row of JSON data. Raises ValueError naming the key and why."""
    problem, steps = _problem_and_steps(row)
    if any(row.get(flag) for flag in ("outcome_only", "beyond_error")):
        return _whole(row, problem, steps)
    key = "label" if "label" in row else "first_error"
    first_error = integer(row.get(key), key, -1)
    if first_error >= len(steps):
        refuse(first_error, key, f"-1 or the index of one of the {len(steps)} steps")
    if row.get("ratings") is None:
        ratings: tuple[int | None, ...] = (Rating.GREAT,) * len(steps)
    else:
        ratings = each(_rating, row["ratings"], "ratings")
        if len(ratings) != len(steps):
            refuse(len(ratings), "the number of ratings", f"that of the steps, {len(steps)}")
    if first_error >= 0:
        after = len(steps) - first_error - 1
        ratings = (*ratings[:first_error], Rating.BAD, *(None,) * after)
    return LabelledSolution(problem, steps, ratings, **_more(row))


def to_dict(solution: LabelledSolution) -> dict[str, Any]:
    """The row that `labelled_solution` reads back, but for ratings after the first error that do not count."""
    row: dict[str, Any] = {
        "id": solution.id,
        "problem": solution.problem,
        "steps": list(solution.steps),
        "first_error": solution.first_error,
        "ratings": [None if rating is None else int(rating) for rating in solution.ratings],
    }
    plain = LabelledSolution("", (), ())
    for key in ("outcome_only", "beyond_error", "weight", "context"):
        if getattr(solution, key) != getattr(plain, key):
            row[key] = getattr(solution, key)
    if solution.groups:
        row["groups"] = dict(solution.groups)
    return row


def scored_sample(row: Any) -> ScoredSample:
    """Read one row of JSON data. Raises ValueError naming the key and why."""
    problem, steps = _problem_and_steps(row)
    probs = each(_probs, row.get("rating_probs"), "rating_probs")
    if len(probs) != len(steps):
        refuse(len(probs), "the number of rating_probs", f"that of the steps, {len(steps)}")
    return ScoredSample(
        problem=problem,
        steps=steps,
        answer=optional(string, row.get("answer"), "answer"),
        is_correct=boolean(row.get("is_correct"), "is_correct"),
        probs=probs,
        prm_score=number(row.get("prm_score"), "prm_score"),
        ground_truth_answer=string(row.get("ground_truth_answer"), "ground_truth_answer"),
        subject=optional(string, row.get("subject"), "subject") or "",
        level=optional(integer, row.get("level"), "level", 0),
        unique_id=optional(string, row.get("unique_id"), "unique_id") or "",
        orm_score=optional(number, row.get("orm_score"), "orm_score"),
    )


def _problem_and_steps(row: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(row, dict):
        refuse(row, "the row", "an object")
    steps = each(string, row.get("steps"), "steps")
    if not steps:
        refuse([], "steps", "a list of one or more")
    return string(row.get("problem"), "problem"), steps


def _whole(row: dict[str, Any], problem: str, steps: tuple[str, ...]) -> LabelledSolution:
    """A row whose ratings all count, also after the first error."""
    return LabelledSolution(
        problem,
        steps,
        each(_rating, row.get("ratings"), "ratings"),
        outcome_only=boolean(row.get("outcome_only") or False, "outcome_only"),
        beyond_error=boolean(row.get("beyond_error") or False, "beyond_error"),
        **_more(row),
    )


def _more(row: dict[str, Any]) -> dict[str, Any]:
    weight = optional(number, row.get("weight"), "weight")
    return {
        "weight": 1.0 if weight is None else weight,
        "id": "" if row.get("id") is None else str(row["id"]),
        "context": optional(integer, row.get("context"), "context", 0) or 0,
        "groups": optional(_groups, row.get("groups"), "groups") or (),
    }


def _groups(value: object, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        refuse(value, where, "an object of names")
    return tuple((kind, string(name, f"{where}[{kind!r}]")) for kind, name in value.items())


def _rating(value: object, where: str) -> int | None:
    return None if value is None else Rating(integer(value, where, -1))


def _probs(value: object, where: str) -> StepProbs:
    if not isinstance(value, dict):
        refuse(value, where, "an object")
    bad, okay, great = (number(value.get(key), f"{where}[{key!r}]") for key in ("-1", "0", "1"))
    return StepProbs(bad=bad, okay=okay, great=great)
