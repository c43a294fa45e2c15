"""Step labels in the formats of other tools: TRL's stepwise supervision, Math-Shepherd's text, ProcessBench's rows.

Each is read as LabelledSolutions and written from them. What a format cannot hold is counted in `lost`, by what it is;
what it would say wrongly is a ValueError.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from enum import StrEnum
from typing import Any

from prm_backend.text import prm800k
from prm_backend.text.json_fields import boolean, each, refuse, string
from prm_backend.text.steps import extract_answer
from prm_backend.text.supervision import labelled_solution
from prm_backend.types import FinishReason, LabelledSolution, Rating

TAG = "ки"


class Neutral(StrEnum):
    """What a rating of 0 is to a format with two labels. TRL's own PRM800K converter says bad, Qwen and PURE good."""

    GOOD = "good"
    BAD = "bad"
    CUT = "cut"  # neither: the solution ends before its first neutral step


# --- TRL


def read_trl(row: Any) -> LabelledSolution:
    """`{"prompt", "completions", "labels"}`: a completion a step, true for good."""
    if not isinstance(row, dict):
        refuse(row, "the row", "an object")
    steps = each(string, row.get("completions"), "completions")
    labels = each(boolean, row.get("labels"), "labels")
    return _rated(string(row.get("prompt"), "prompt"), steps, labels, "labels")


def write_trl(solution: LabelledSolution, neutral: Neutral | None, lost: Counter[str]) -> dict[str, Any]:
    """The rated steps, as far as they reach without a gap."""
    steps, labels = _binary(solution, neutral, lost)
    _lose_id(solution, lost)
    return {"prompt": solution.problem, "completions": steps, "labels": labels}


# --- Math-Shepherd


def read_math_shepherd(row: Any) -> LabelledSolution:
    """`{"input", "label"}`: `problem Step 1: … ки\\nStep 2: … ки`, and the same with `+` or `-` for each `ки`.

    "Step k: " is part of the format, not of the step. Its labels come from rollouts and go on after the first error.
    """
    if not isinstance(row, dict):
        refuse(row, "the row", "an object")
    pieces = string(row.get("input"), "input").split(TAG)
    label = string(row.get("label"), "label")
    if len(pieces) < 2:
        refuse(pieces[0], "input", f"a text with {TAG} after each step")
    labels, at = [], 0
    for number, piece in enumerate(pieces, 1):
        if not label.startswith(piece, at):
            raise ValueError(f"label is not input with + or - for each {TAG}: they part in step {number}")
        at += len(piece)
        if number < len(pieces):
            sign = label[at : at + 1]
            if sign not in ("+", "-"):
                refuse(sign, f"label of step {number}", "+ or -")
            labels.append(sign == "+")
            at += 1
    if pieces[-1].strip() or label[at:].strip():
        raise ValueError(f"text follows after the last {TAG}")
    begins = re.search(r" Step 1: ", pieces[0]) or re.search(r"\s*\bstep\s*1\s*:", pieces[0], re.I)
    if not begins:
        raise ValueError("input has no ' Step 1: ' after the problem")
    problem, first = pieces[0][: begins.start()], pieces[0][begins.end() :]
    steps = [first, *(re.sub(r"\A\s*step\s*\d+\s*:", "", piece, flags=re.I) for piece in pieces[1:-1])]
    return _rated(problem, tuple(step.strip() for step in steps), tuple(labels), "label")


def write_math_shepherd(
    solution: LabelledSolution, neutral: Neutral | None, lost: Counter[str]
) -> dict[str, Any]:
    steps, labels = _binary(solution, neutral, lost)
    lost["blanks around steps"] += sum(step != step.strip() for step in steps)
    steps = [step.strip() for step in steps]
    if "" in steps:
        raise ValueError(f"step {steps.index('') + 1} is blank, which this format cannot hold")
    if TAG in "".join([solution.problem, *steps]):
        raise ValueError(f"its text holds {TAG}, this format's mark")
    if " Step 1: " in f"{solution.problem} ":
        raise ValueError("its problem holds ' Step 1: ', where this format's solution begins")
    _lose_id(solution, lost)
    marks = ["+" if good else "-" for good in labels]
    return {
        "input": _shepherd_text(solution.problem, steps, [TAG] * len(steps)),
        "label": _shepherd_text(solution.problem, steps, marks),
    }


def _shepherd_text(problem: str, steps: list[str], marks: list[str]) -> str:
    lines = [f"Step {n}: {step} {mark}" for n, (step, mark) in enumerate(zip(steps, marks, strict=True), 1)]
    return f"{problem} " + "\n".join(lines)


# --- ProcessBench


def write_processbench(
    solution: LabelledSolution, neutral: Neutral | None, lost: Counter[str]
) -> dict[str, Any]:
    """`{"id", "problem", "steps", "label"}`; ValueError where nobody knows whether the solution has an error."""
    before = solution.ratings[: solution.first_error] if solution.first_error >= 0 else solution.ratings
    if None in before:
        raise ValueError("a step before its first error is not rated, so nobody knows where that is")
    lost["neutral ratings (this format knows only the first error)"] += before.count(Rating.OKAY)
    after = [r for r in solution.ratings[len(before) + 1 :] if r is not None]
    lost["ratings after the first error"] += len(after)
    _lose_origin(solution, lost)
    return {
        "id": solution.id,
        "problem": solution.problem,
        "steps": list(solution.steps),
        "label": solution.first_error,
    }


# --- PRM800K


def read_prm800k(row: Any) -> LabelledSolution:
    record = prm800k.parse_record(row)
    return labelled_solution(record, beyond_error=bool(record.extra.after_error))


def write_prm800k(solution: LabelledSolution, neutral: Neutral | None, lost: Counter[str]) -> dict[str, Any]:
    """A phase 2 record: its labeller is made of the id, its time and score are nought, since the format wants some."""
    end = solution.first_error + 1 if solution.first_error >= 0 else len(solution.steps)
    later = [None if r is None else int(r) for r in solution.ratings[end:]]
    while later and later[-1] is None:
        later.pop()
    lost["ids (PRM800K has none; labeler is made of it, timestamp, total_time and score are nought)"] += 1
    _lose_origin(solution, lost)
    rated = zip(solution.steps[:end], solution.ratings[:end], strict=True)
    record = prm800k.Record(
        labeler=str(uuid.uuid5(uuid.NAMESPACE_OID, solution.id)),
        timestamp="1970-01-01T00:00:00.000000",
        generation=None,
        is_quality_control_question=False,
        is_initial_screening_question=False,
        problem=solution.problem,
        ground_truth_answer=None,
        pre_generated=prm800k.PreGenerated(
            ground_truth_solution=None,
            steps=solution.steps,
            answer=extract_answer("\n".join(solution.steps)) or "",
            verifier_score=0.0,
        ),
        steps=tuple(
            prm800k.LabelledStep(
                (prm800k.Completion(text, rating, None),),
                chosen_completion=None if rating == Rating.BAD else 0,
            )
            for text, rating in rated
        ),
        total_time=0,
        extra=prm800k.Extra(
            after_error=tuple(
                prm800k.Completion(text, rating, None)
                for text, rating in zip(solution.steps[end:], later, strict=False)
            )
        ),
        finish_reason=FinishReason.FOUND_ERROR if solution.first_error >= 0 else FinishReason.SOLUTION,
    )
    return prm800k.to_dict(record)


# --- all of them


def _rated(problem: str, steps: tuple[str, ...], labels: tuple[bool, ...], where: str) -> LabelledSolution:
    if not steps:
        raise ValueError("it has no steps")
    if len(steps) != len(labels):
        refuse(len(labels), f"the number of {where}", f"that of the steps, {len(steps)}")
    ratings = tuple(Rating.GREAT if good else Rating.BAD for good in labels)
    return LabelledSolution(problem=problem, steps=steps, ratings=ratings)


def _binary(
    solution: LabelledSolution, neutral: Neutral | None, lost: Counter[str]
) -> tuple[list[str], list[bool]]:
    """The steps up to the first unrated one, true for good."""
    labels: list[bool] = []
    for rating in solution.ratings:
        if rating is None or (rating == Rating.OKAY and neutral == Neutral.CUT):
            break
        if rating == Rating.OKAY:
            if neutral is None:
                raise ValueError(
                    "it has neutral ratings and this format has none: say what they are (--neutral)"
                )
            lost[f"neutral ratings, written as {neutral}"] += 1
        labels.append(rating == Rating.GREAT or (rating == Rating.OKAY and neutral == Neutral.GOOD))
    if not labels:
        raise ValueError("its first step has no rating that this format can hold")
    left = solution.ratings[len(labels) :]
    lost["steps without a rating, and those after them"] += len(left)
    lost["that ratings after the first error count, too"] += solution.beyond_error and False in labels[:-1]
    _lose_origin(solution, lost)
    return list(solution.steps[: len(labels)]), labels


def _lose_id(solution: LabelledSolution, lost: Counter[str]) -> None:
    lost["ids"] += bool(solution.id)


def _lose_origin(solution: LabelledSolution, lost: Counter[str]) -> None:
    lost["that ratings were copied from the final answer's grade"] += solution.outcome_only
    lost["how many steps are context"] += solution.context > 0
    lost["weights"] += solution.weight != 1.0
