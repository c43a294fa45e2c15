"""The record formats by name: how each is known, read, written, and laid out in Parquet. Opens no file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prm_backend.text import prm800k, step_labels, stepwise
from prm_backend.text.stepwise import Neutral
from prm_backend.types import LabelledSolution

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[[LabelledSolution, Neutral | None, Counter[str]], dict[str, Any]]


@dataclass(frozen=True)
class Format:
    """`keys` give a row away; `held` are those that a LabelledSolution holds, None where that is another matter.

    `check` raises ValueError for a row that is none. `read` and `write` are None where a format holds something else
    than ratings. `optional` keys are left out of a row where Parquet has null.
    """

    name: str
    keys: frozenset[str]
    check: Callable[[Any], object]
    read: Callable[[Any], LabelledSolution] | None
    write: Write | None
    columns: str
    held: frozenset[str] | None = None
    optional: frozenset[str] = frozenset()

    def schema(self) -> pa.Schema:
        """The Parquet columns."""
        import pyarrow as pa

        return pa.schema([(name, _type(kind)) for name, kind in self._columns()])

    def from_parquet(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row as JSON has it: columns that it does not use are no keys."""
        row = {k: v for k, v in row.items() if not (v is None and k in self.optional)}
        question = row.get("question")
        if isinstance(question, dict) and question.get("pre_generated_steps") is None:  # phase 1
            row["question"] = {k: question[k] for k in ("problem", "ground_truth_answer") if k in question}
        if isinstance(extra := row.get("plumbline"), dict):
            row["plumbline"] = {k: v for k, v in extra.items() if v is not None}
        return row

    def unknown_keys(self, row: dict[str, Any]) -> set[str]:
        """What a Parquet file of this format would not keep."""
        return row.keys() - {name for name, _ in self._columns()}

    def carry(self, row: dict[str, Any], to: Format, written: dict[str, Any], lost: Counter[str]) -> None:
        """Take what a LabelledSolution does not hold of `row` over into `written`, where `to` knows it by that name."""
        for key in () if self.held is None else row.keys() - self.held:
            if key not in written and key not in to.unknown_keys({key: None}):
                written[key] = row[key]
            else:
                lost[f"the key {key[:60]!r}"] += 1

    def _columns(self) -> list[tuple[str, str]]:
        return [(name, kind) for name, _, kind in (c.partition(":") for c in self.columns.split())]


def _step_labels_write(
    solution: LabelledSolution, neutral: Neutral | None, lost: Counter[str]
) -> dict[str, Any]:
    if not (solution.outcome_only or solution.beyond_error) and solution.first_error >= 0:
        after = solution.ratings[solution.first_error + 1 :]
        lost["ratings after the first error"] += sum(rating is not None for rating in after)
    return step_labels.to_dict(solution)


def _type(kind: str) -> pa.DataType:
    import pyarrow as pa

    if kind.startswith("[") and kind.endswith("]"):
        return pa.list_(_type(kind[1:-1]))
    if kind == "question":
        return pa.struct(
            [
                ("problem", pa.string()),
                ("ground_truth_solution", pa.string()),
                ("ground_truth_answer", pa.string()),
                ("pre_generated_steps", pa.list_(pa.string())),
                ("pre_generated_answer", pa.string()),
                ("pre_generated_verifier_score", pa.float64()),
            ]
        )
    if kind == "label":
        human = [
            ("text", pa.string()),
            ("rating", pa.int8()),
            ("source", pa.string()),
            ("flagged", pa.bool_()),
        ]
        step = pa.struct(
            [
                ("completions", pa.list_(_type("completion"))),
                ("human_completion", pa.struct(human)),
                ("chosen_completion", pa.int32()),
            ]
        )
        return pa.struct(
            [("steps", pa.list_(step)), ("total_time", pa.int64()), ("finish_reason", pa.string())]
        )
    if kind == "extra":
        return pa.struct(
            [
                ("way", pa.string()),
                ("progress", pa.int32()),
                ("critique", pa.string()),
                ("comment", pa.string()),
                ("after_error", pa.list_(_type("completion"))),
                ("model_critique", _type("completion")),
                ("adjudicates", pa.bool_()),
            ]
        )
    if kind == "completion":
        return pa.struct([("text", pa.string()), ("rating", pa.int8()), ("flagged", pa.bool_())])
    if kind == "probs":
        return pa.struct([(rating, pa.float64()) for rating in ("-1", "0", "1")])
    return {"text": pa.string(), "bool": pa.bool_(), "int": pa.int32(), "float": pa.float64()}[kind]


FORMATS = {
    found.name: found
    for found in (
        Format(
            "prm800k",
            frozenset({"labeler", "question", "label"}),
            prm800k.parse_record,
            stepwise.read_prm800k,
            stepwise.write_prm800k,
            "labeler:text timestamp:text generation:int is_quality_control_question:bool "
            "is_initial_screening_question:bool question:question label:label plumbline:extra",
            optional=frozenset({"plumbline"}),
        ),
        Format(
            "trl",
            frozenset({"prompt", "completions", "labels"}),
            stepwise.read_trl,
            stepwise.read_trl,
            stepwise.write_trl,
            "prompt:text completions:[text] labels:[bool]",
            held=frozenset({"prompt", "completions", "labels"}),
        ),
        Format(
            "math-shepherd",
            frozenset({"input", "label"}),
            stepwise.read_math_shepherd,
            stepwise.read_math_shepherd,
            stepwise.write_math_shepherd,
            "input:text label:text task:text",
            held=frozenset({"input", "label"}),
            optional=frozenset({"task"}),
        ),
        Format(
            "scored-samples",
            frozenset({"steps", "rating_probs"}),
            step_labels.scored_sample,
            None,
            None,
            "problem:text answer:text is_correct:bool subject:text level:int unique_id:text steps:[text] "
            "rating_probs:[probs] orm_score:float prm_score:float ground_truth_answer:text",
            optional=frozenset({"subject", "level", "unique_id", "orm_score"}),
        ),
        Format(
            "processbench",
            frozenset({"problem", "steps", "label"}),
            step_labels.labelled_solution,
            step_labels.labelled_solution,
            stepwise.write_processbench,
            "id:text generator:text problem:text steps:[text] final_answer_correct:bool label:int",
            held=frozenset({"id", "problem", "steps", "label"}),
            optional=frozenset({"id", "generator", "final_answer_correct"}),
        ),
        Format(
            "step-labels",
            frozenset({"problem", "steps", "first_error"}),
            step_labels.labelled_solution,
            step_labels.labelled_solution,
            _step_labels_write,
            "source:text id:text problem:text steps:[text] first_error:int ratings:[int] "
            "final_answer_correct:bool generator:text outcome_only:bool beyond_error:bool weight:float context:int",
            held=frozenset(
                {
                    "id",
                    "problem",
                    "steps",
                    "first_error",
                    "ratings",
                    "outcome_only",
                    "beyond_error",
                    "weight",
                    "context",
                }
            ),
            optional=frozenset(
                {
                    "source",
                    "id",
                    "ratings",
                    "final_answer_correct",
                    "generator",
                    "outcome_only",
                    "beyond_error",
                    "weight",
                    "context",
                }
            ),
        ),
    )
}


def recognise(row: Any) -> Format | None:
    """The first format all of whose keys the row has."""
    if not isinstance(row, dict):
        return None
    return next((found for found in FORMATS.values() if found.keys <= row.keys()), None)


def how_to_convert(row: Any, to: str) -> str:
    """What to add to the refusal of a row that is none of `to`, where it is one of another format; else ""."""
    known = recognise(row)
    if known is None or known.name == to or known.read is None:
        return ""
    return f"; it is one of {known.name}: `python -m prm_backend.text.convert IN OUT --to {to}` converts it"
