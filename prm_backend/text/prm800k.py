"""PRM800K's record, one labelled solution a row, as the released files have it. Knows no files, no database.

Source: openai/prm800k; where its README and its records disagree, the records win (a `human_completion` is an
object; phase-1 rows lack the `pre_generated_*` keys). `prm800k.schema.json` beside this tells the same shape; what of
a record trains is prm_backend.text.supervision's.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prm_backend.text.json_fields import boolean, each, fields, integer, number, optional, refuse, string
from prm_backend.text.tables import json_line
from prm_backend.types import FinishReason


@dataclass(frozen=True)
class Completion:
    """One option for a step. `flagged`: None on phase 2's served step, True where "Unsure" was pressed."""

    text: str
    rating: int | None
    flagged: bool | None


@dataclass(frozen=True)
class HumanCompletion:
    """A step the labeller wrote, where no option was good enough."""

    text: str
    rating: int | None = None
    source: str = "human"
    flagged: bool | None = False


@dataclass(frozen=True)
class LabelledStep:
    """The options of one step; all three are None on the last step of a solution that was given up."""

    completions: tuple[Completion, ...] | None
    human_completion: HumanCompletion | None = None
    chosen_completion: int | None = None


@dataclass(frozen=True)
class PreGenerated:
    """What phase 2 adds to a question: the solution that was served and its score by the PRM of the time."""

    ground_truth_solution: str | None
    steps: tuple[str, ...]
    answer: str  # "" where the solution reached none: the format has no null here
    verifier_score: float


@dataclass(frozen=True)
class Extra:
    """What PRM800K has no key for. A row with nothing of it lacks the key `plumbline`, and is PRM800K's exactly.

    `way` is how it was labelled, where that is not what the row's shape tells. `after_error` rates the steps after
    the first error, which `label.steps` never holds. `progress` (0 to 3) says how far the solution got before it.
    `model_critique` is what a model said is wrong with the first error, as the labeller rated it; `critique` are their
    own words, and `comment` why they gave up or what is bad about the problem. `adjudicates` marks a decision between
    labels that disagree.
    """

    way: str = ""
    after_error: tuple[Completion, ...] = ()
    progress: int | None = None
    critique: str = ""
    comment: str = ""
    model_critique: Completion | None = None
    adjudicates: bool = False


NO_EXTRA = Extra()
EXTRA_KEY = "plumbline"


@dataclass(frozen=True)
class Record:
    """One row. `pre_generated` is None in phase 1, which lacks its keys; `total_time` is in milliseconds."""

    labeler: str
    timestamp: str
    generation: int | None
    is_quality_control_question: bool
    is_initial_screening_question: bool
    problem: str
    ground_truth_answer: str | None
    pre_generated: PreGenerated | None
    steps: tuple[LabelledStep, ...]
    total_time: int
    finish_reason: FinishReason
    extra: Extra = NO_EXTRA


# --- writing


def to_dict(record: Record) -> dict[str, Any]:
    """The row as JSON data, its keys in the order of the released files; our own key comes last, where there is any."""
    question: dict[str, Any] = {"problem": record.problem}
    if record.pre_generated is not None:
        question["ground_truth_solution"] = record.pre_generated.ground_truth_solution
    question["ground_truth_answer"] = record.ground_truth_answer
    if record.pre_generated is not None:
        question["pre_generated_steps"] = list(record.pre_generated.steps)
        question["pre_generated_answer"] = record.pre_generated.answer
        question["pre_generated_verifier_score"] = record.pre_generated.verifier_score
    row = {
        "labeler": record.labeler,
        "timestamp": record.timestamp,
        "generation": record.generation,
        "is_quality_control_question": record.is_quality_control_question,
        "is_initial_screening_question": record.is_initial_screening_question,
        "question": question,
        "label": {
            "steps": [_step_to_dict(step) for step in record.steps],
            "total_time": record.total_time,
            "finish_reason": str(record.finish_reason),
        },
    }
    if record.extra != NO_EXTRA:
        row[EXTRA_KEY] = _extra_to_dict(record.extra)
    return row


def to_json(record: Record) -> str:
    """One line of ASCII JSON without its line end; the released records come out byte for byte. See `json_line`."""
    return json_line(to_dict(record))


def _step_to_dict(step: LabelledStep) -> dict[str, Any]:
    human = step.human_completion
    return {
        "completions": None
        if step.completions is None
        else [_completion_to_dict(completion) for completion in step.completions],
        "human_completion": None
        if human is None
        else {"text": human.text, "rating": human.rating, "source": human.source, "flagged": human.flagged},
        "chosen_completion": step.chosen_completion,
    }


def _completion_to_dict(completion: Completion) -> dict[str, Any]:
    return {"text": completion.text, "rating": completion.rating, "flagged": completion.flagged}


def _extra_to_dict(extra: Extra) -> dict[str, Any]:
    said: dict[str, Any] = {
        "way": extra.way,
        "progress": extra.progress,
        "critique": extra.critique,
        "comment": extra.comment,
    }
    if extra.model_critique is not None:
        said["model_critique"] = _completion_to_dict(extra.model_critique)
    said["after_error"] = [_completion_to_dict(completion) for completion in extra.after_error]
    said["adjudicates"] = extra.adjudicates or None
    return {key: value for key, value in said.items() if value not in ("", None, [])}


# --- reading


def parse_record(row: object) -> Record:
    """Read a row of JSON data. Raises ValueError naming the key (`label.steps[3].chosen_completion`) and why.

    Unknown keys are refused too: a record that loses something on its way through would not come out equal.
    """
    top = fields(
        row,
        "the row",
        "labeler timestamp generation is_quality_control_question is_initial_screening_question"
        " question label",
        EXTRA_KEY,
    )
    question, pre_generated = _question(top["question"])
    label = fields(top["label"], "label", "steps total_time finish_reason")
    return Record(
        labeler=_uuid(top["labeler"], "labeler"),
        timestamp=_timestamp(top["timestamp"], "timestamp"),
        generation=optional(integer, top["generation"], "generation", -1),
        is_quality_control_question=boolean(
            top["is_quality_control_question"], "is_quality_control_question"
        ),
        is_initial_screening_question=boolean(
            top["is_initial_screening_question"], "is_initial_screening_question"
        ),
        problem=string(question["problem"], "question.problem"),
        ground_truth_answer=optional(string, question["ground_truth_answer"], "question.ground_truth_answer"),
        pre_generated=pre_generated,
        steps=each(_step, label["steps"], "label.steps"),
        total_time=integer(label["total_time"], "label.total_time", 0),
        finish_reason=_finish_reason(label["finish_reason"], "label.finish_reason"),
        extra=_extra(top[EXTRA_KEY]) if EXTRA_KEY in top else NO_EXTRA,
    )


_PHASE_2_KEYS = "ground_truth_solution pre_generated_steps pre_generated_answer pre_generated_verifier_score"


def _question(value: object) -> tuple[dict[str, Any], PreGenerated | None]:
    keys = "problem ground_truth_answer"
    if not isinstance(value, dict) or not any(key in value for key in _PHASE_2_KEYS.split()):
        return fields(value, "question", keys), None
    question = fields(value, "question", f"{keys} {_PHASE_2_KEYS}")
    return question, PreGenerated(
        ground_truth_solution=optional(
            string, question["ground_truth_solution"], "question.ground_truth_solution"
        ),
        steps=each(string, question["pre_generated_steps"], "question.pre_generated_steps"),
        answer=string(question["pre_generated_answer"], "question.pre_generated_answer"),
        verifier_score=number(
            question["pre_generated_verifier_score"], "question.pre_generated_verifier_score"
        ),
    )


def _extra(value: object) -> Extra:
    said = fields(
        value, EXTRA_KEY, "", "way after_error progress critique comment model_critique adjudicates"
    )
    return Extra(
        way=string(said.get("way", ""), f"{EXTRA_KEY}.way"),
        after_error=each(_completion, said.get("after_error", []), f"{EXTRA_KEY}.after_error"),
        progress=optional(integer, said.get("progress"), f"{EXTRA_KEY}.progress", 0),
        critique=string(said.get("critique", ""), f"{EXTRA_KEY}.critique"),
        comment=string(said.get("comment", ""), f"{EXTRA_KEY}.comment"),
        model_critique=optional(_completion, said.get("model_critique"), f"{EXTRA_KEY}.model_critique"),
        adjudicates=boolean(said.get("adjudicates", False), f"{EXTRA_KEY}.adjudicates"),
    )


def _step(value: object, where: str) -> LabelledStep:
    step = fields(value, where, "completions human_completion chosen_completion")
    completions = (
        None
        if step["completions"] is None
        else each(_completion, step["completions"], f"{where}.completions")
    )
    chosen = optional(integer, step["chosen_completion"], f"{where}.chosen_completion", 0)
    if chosen is not None and chosen >= len(completions or ()):
        refuse(
            chosen, f"{where}.chosen_completion", f"an index into its {len(completions or ())} completions"
        )
    human = optional(_human_completion, step["human_completion"], f"{where}.human_completion")
    return LabelledStep(completions, human, chosen)


def _completion(value: object, where: str) -> Completion:
    completion = fields(value, where, "text rating flagged")
    return Completion(
        text=string(completion["text"], f"{where}.text"),
        rating=optional(_rating, completion["rating"], f"{where}.rating"),
        flagged=optional(boolean, completion["flagged"], f"{where}.flagged"),
    )


def _human_completion(value: object, where: str) -> HumanCompletion:
    human = fields(value, where, "text rating source flagged")
    return HumanCompletion(
        text=string(human["text"], f"{where}.text"),
        rating=optional(_rating, human["rating"], f"{where}.rating"),
        source=string(human["source"], f"{where}.source"),
        flagged=optional(boolean, human["flagged"], f"{where}.flagged"),
    )


def _rating(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value in (-1, 0, 1):
        return value
    return refuse(value, where, "-1, 0, 1 or null")


def _uuid(value: object, where: str) -> str:
    text = string(value, where)
    try:
        uuid.UUID(text)
    except ValueError:
        refuse(value, where, "a UUID")
    return text


def _timestamp(value: object, where: str) -> str:
    text = string(value, where)
    try:
        aware = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        aware = True
    return refuse(value, where, "an ISO-8601 time without a zone") if aware else text


def _finish_reason(value: object, where: str) -> FinishReason:
    try:
        return FinishReason(string(value, where))
    except ValueError:
        return refuse(value, where, "one of " + ", ".join(FinishReason))
