"""PRM800K's record: what is read comes out equal, and what is not one is refused by name."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from prm_backend.text import prm800k
from prm_backend.text.prm800k import (
    NO_EXTRA,
    Completion,
    Extra,
    HumanCompletion,
    LabelledStep,
    PreGenerated,
    Record,
    parse_record,
    to_dict,
    to_json,
)
from prm_backend.types import FinishReason

VERBATIM = Path(__file__).parents[3] / "shared" / "data" / "prm800k_records" / "records.jsonl"
SCHEMA = Draft202012Validator(
    json.loads((Path(prm800k.__file__).parent / "prm800k.schema.json").read_text(encoding="utf-8"))
)

PHASE_2 = {
    "labeler": "cc88bf76-df08-4041-be67-3464279cb3b1",
    "timestamp": "2022-11-22T16:51:29.980606",
    "generation": 6,
    "is_quality_control_question": False,
    "is_initial_screening_question": False,
    "question": {
        "problem": "1 + 1 + 1?",
        "ground_truth_solution": None,
        "ground_truth_answer": "3",
        "pre_generated_steps": ["1 + 1 = 2", "2 + 1 = 4", "# Answer\n\n4"],
        "pre_generated_answer": "4",
        "pre_generated_verifier_score": 0.25,
    },
    "label": {
        "steps": [
            {
                "completions": [{"text": "1 + 1 = 2", "rating": 1, "flagged": None}],
                "human_completion": None,
                "chosen_completion": 0,
            },
            {
                "completions": [
                    {"text": "2 + 1 = 4", "rating": -1, "flagged": None},
                    {"text": "2 + 1 = 3", "rating": 1, "flagged": False},
                ],
                "human_completion": None,
                "chosen_completion": None,
            },
        ],
        "total_time": 1000,
        "finish_reason": "found_error",
    },
}

texts = st.text(max_size=20)
ratings = st.sampled_from([-1, 0, 1, None])
flags = st.sampled_from([True, False, None])
completions = st.lists(st.builds(Completion, texts, ratings, flags), min_size=1, max_size=3).map(tuple)
steps = completions.flatmap(
    lambda options: st.builds(
        LabelledStep,
        completions=st.just(options),
        human_completion=st.none() | st.builds(HumanCompletion, text=texts, rating=ratings),
        chosen_completion=st.none() | st.integers(0, len(options) - 1),
    )
) | st.just(LabelledStep(None))
extras = st.just(NO_EXTRA) | st.builds(
    Extra,
    way=st.sampled_from(["", "every_step"]),
    after_error=st.lists(st.builds(Completion, texts, ratings, flags), max_size=3).map(tuple),
    progress=st.none() | st.integers(0, 3),
    critique=texts,
)
records = st.builds(
    Record,
    labeler=st.uuids().map(str),
    timestamp=st.datetimes().map(lambda moment: moment.isoformat()),
    generation=st.none() | st.integers(-1, 10),
    is_quality_control_question=st.booleans(),
    is_initial_screening_question=st.booleans(),
    problem=texts,
    ground_truth_answer=st.none() | texts,
    pre_generated=st.none()
    | st.builds(
        PreGenerated,
        ground_truth_solution=st.none() | texts,
        steps=st.lists(texts, max_size=3).map(tuple),
        answer=texts,
        verifier_score=st.floats(0, 1),
    ),
    steps=st.lists(steps, max_size=3).map(tuple),
    total_time=st.integers(0, 10**9),
    finish_reason=st.sampled_from(FinishReason),
    extra=extras,
)


@pytest.fixture(scope="module")
def verbatim() -> list[str]:
    if not VERBATIM.exists():
        pytest.skip(f"{VERBATIM} is not there")
    return VERBATIM.read_text().splitlines()


def changed(*path: str | int, to: object) -> dict:
    row = copy.deepcopy(PHASE_2)
    place = row
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return row


def without(*path: str) -> dict:
    row = copy.deepcopy(PHASE_2)
    place = row
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return row


def test_the_released_records_come_out_byte_for_byte(verbatim):
    assert len(verbatim) == 8
    for line in verbatim:
        assert to_json(parse_record(json.loads(line))) == line


def test_the_released_records_fit_the_schema(verbatim):
    for line in verbatim:
        SCHEMA.validate(json.loads(line))


@given(records)
def test_any_record_survives_a_round_trip_and_fits_the_schema(record):
    row = json.loads(to_json(record))
    assert parse_record(to_dict(record)) == record
    SCHEMA.validate(row)


@given(records)
def test_reading_what_was_written_writes_the_same_bytes(record):
    line = to_json(record)
    assert to_json(parse_record(json.loads(line))) == line
    assert "\n" not in line


def test_a_row_with_nothing_to_add_has_only_the_keys_of_prm800k():
    row = to_dict(parse_record(PHASE_2))
    assert row == PHASE_2
    assert list(row) == list(PHASE_2)


def test_what_prm800k_has_no_key_for_stands_under_a_key_of_its_own():
    later = {"text": "# Answer\n\n4", "rating": 0, "flagged": None}
    said = {"way": "every_step", "progress": 2, "critique": "2 + 1 is 3.", "after_error": [later]}
    record = parse_record(changed("plumbline", to=said))
    assert record.extra.after_error == (Completion("# Answer\n\n4", 0, None),)
    assert to_dict(record) == changed("plumbline", to=said)


def test_a_lone_surrogate_does_not_kill_an_export():
    line = to_json(parse_record(changed("question", "problem", to="a\ud83d\x00b")))
    assert json.loads(line)["question"]["problem"] == "a\ufffd\ufffdb"
    line.encode()


def test_a_score_that_json_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="pre_generated_verifier_score must be a finite number"):
        parse_record(changed("question", "pre_generated_verifier_score", to=float("nan")))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([], "the row must be an object"),
        (without("labeler"), "the row lacks the key 'labeler'"),
        (without("question", "pre_generated_answer"), "question lacks the key 'pre_generated_answer'"),
        (without("label", "finish_reason"), "label lacks the key 'finish_reason'"),
        (changed("label", "extra", to=1), "label has the unknown key 'extra'"),
        (changed("plumbline", to={"scores": 1}), "plumbline has the unknown key 'scores'"),
        (changed("plumbline", to={"progress": "far"}), "plumbline.progress must be a whole number"),
        (changed("labeler", to="alice"), "labeler must be a UUID, got 'alice'"),
        (changed("timestamp", to="yesterday"), "timestamp must be an ISO-8601 time without a zone"),
        (changed("timestamp", to="2022-11-22T16:51:29+00:00"), "timestamp must be"),
        (changed("generation", to=-2), "generation must be a whole number from -1"),
        (changed("generation", to=True), "generation must be a whole number"),
        (changed("is_quality_control_question", to=0), "is_quality_control_question must be true or false"),
        (changed("question", "problem", to=None), "question.problem must be a text, got None"),
        (
            changed("question", "pre_generated_steps", to=[1]),
            r"question.pre_generated_steps\[0\] must be a text",
        ),
        (changed("label", "steps", to={}), "label.steps must be a list"),
        (
            changed("label", "steps", 0, "completions", 0, "rating", to=2),
            r"steps\[0\].completions\[0\].rating",
        ),
        (changed("label", "steps", 0, "completions", 0, "rating", to=True), "must be -1, 0, 1 or null"),
        (changed("label", "steps", 1, "chosen_completion", to=2), "an index into its 2 completions"),
        (changed("label", "steps", 1, "human_completion", to="text"), "human_completion must be an object"),
        (changed("label", "total_time", to=1.5), "label.total_time must be a whole number"),
        (changed("label", "finish_reason", to="bored"), "label.finish_reason must be one of found_error"),
    ],
)
def test_a_bad_row_is_refused_with_the_key_and_the_reason(row, said):
    with pytest.raises(ValueError, match=said):
        parse_record(row)
