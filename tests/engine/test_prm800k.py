"""PRM800K's record: what is read comes out equal, and what is not one is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from prm_backend.text import prm800k
from prm_backend.text.prm800k import (
    Completion,
    parse_record,
    to_dict,
    to_json,
)
from tests.engine.records import PHASE_2, changed, records, without

SCHEMA = Draft202012Validator(
    json.loads((Path(prm800k.__file__).parent / "prm800k.schema.json").read_text(encoding="utf-8"))
)


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
    said = {"way": "every_step", "progress": 2, "critique": "2 + 1 is 3.", "comment": "Hm."}
    said["after_error"] = [later]
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
