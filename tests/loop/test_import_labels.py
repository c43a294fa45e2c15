"""Labels from elsewhere: PRM800K's own records go in and come out equal."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command

from annotate.loop.import_labels import import_labels, read_records
from annotate.loop.problems import ImportSummary
from annotate.loop.snapshot import write_labels
from annotate.models import Label, Person, Problem, Solution, Step, StepRating
from tests.factories import ProblemFactory
from tests.waiting import at_once

pytestmark = pytest.mark.django_db

RECORDS = Path(__file__).resolve().parents[3] / "shared" / "data" / "prm800k_records" / "records.jsonl"
LABELER = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def verbatim() -> list[str]:
    """PRM800K's own rows, in the order of an export."""
    if not RECORDS.exists():
        pytest.skip(f"needs {RECORDS}")
    return sorted(RECORDS.read_text().splitlines(), key=lambda line: json.loads(line)["timestamp"])


def completion(text: str, rating: int | None, flagged: bool | None = None) -> dict[str, Any]:
    return {"text": text, "rating": rating, "flagged": flagged}


def step(*completions: dict[str, Any], human: Any = None, chosen: int | None = 0) -> dict[str, Any]:
    return {"completions": list(completions), "human_completion": human, "chosen_completion": chosen}


def record(**changes: Any) -> dict[str, Any]:
    """A phase-2 row; keys of `question` and `label` may be named directly."""
    row: dict[str, Any] = {
        "labeler": LABELER,
        "timestamp": "2026-01-02T03:04:05.000006",
        "generation": 0,
        "is_quality_control_question": False,
        "is_initial_screening_question": False,
        "question": {
            "problem": "How many?",
            "ground_truth_solution": "Count them.",
            "ground_truth_answer": "3",
            "pre_generated_steps": ["I count.", "Four.\n\n# Answer\n\n4"],
            "pre_generated_answer": "4",
            "pre_generated_verifier_score": 0.25,
        },
        "label": {
            "steps": [
                step(completion("I count.", 1)),
                step(completion("Four.\n\n# Answer\n\n4", -1), completion("Three.", 1, False), chosen=None),
            ],
            "total_time": 1234,
            "finish_reason": "found_error",
        },
    }
    for key, value in changes.items():
        place = next((row[part] for part in ("question", "label") if key in row[part]), row)
        place[key] = value
    return row


def bring_in(*rows: dict[str, Any] | str) -> ImportSummary:
    file = BytesIO("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows).encode())
    file.name = "labels.jsonl"
    return import_labels(records=read_records(file), source="prm800k")


def exported() -> list[str]:
    stream = io.BytesIO()
    write_labels(labels=Label.objects.all(), stream=stream)
    return stream.getvalue().decode().splitlines()


def test_the_released_records_go_in_and_come_out_byte_for_byte(verbatim: list[str]) -> None:
    assert bring_in(*verbatim) == ImportSummary(added=8, known=0)
    assert exported() == verbatim


def test_labels_in_another_format_are_refused_with_the_way_to_convert_them() -> None:
    (refused,) = bring_in({"problem": "p", "steps": ["a"], "first_error": 0}).refused
    assert "step-labels" in refused.reason
    assert "prm_backend.text.convert" in refused.reason
    (refused,) = bring_in({"what": "is this"}).refused
    assert "convert" not in refused.reason


def test_importing_twice_adds_nothing(verbatim: list[str]) -> None:
    bring_in(*verbatim)
    again = bring_in(*verbatim)
    assert (again.added, again.known) == (0, 8)
    assert exported() == verbatim


def test_the_same_record_with_its_keys_in_another_order_is_the_same_record() -> None:
    row = record()
    assert bring_in(row, dict(reversed(row.items()))) == ImportSummary(added=1, known=1)


def test_an_export_of_ours_read_back_where_it_was_made_adds_nothing() -> None:
    bring_in(record())
    Label.objects.update(imported_hash=None)  # as if it had been made here
    assert bring_in(*exported()) == ImportSummary(added=0, known=1)


def test_an_export_read_in_elsewhere_and_exported_again_has_the_same_bytes() -> None:
    bring_in(record(), record(timestamp="2026-01-02T03:04:06.000000", problem="Why?", generation=None))
    before = exported()
    for model in (StepRating, Label, Step, Solution, Problem, Person):
        model.objects.all().delete()
    bring_in(*before)
    assert exported() == before


def test_labelers_become_people_who_can_never_sign_in() -> None:
    bring_in(record())
    person = Person.objects.get(labeler=LABELER)
    assert not person.is_active
    assert not person.has_usable_password()
    assert not person.groups.exists()
    assert authenticate(username=person.username, password="") is None


def test_a_labeler_who_is_one_of_us_keeps_their_account() -> None:
    ours = Person.objects.create_user("ada", labeler=LABELER)
    bring_in(record())
    assert Label.objects.get().annotator == ours
    ours.refresh_from_db()
    assert ours.is_active


def test_a_problem_that_is_there_keeps_its_answer_and_the_label_keeps_the_records() -> None:
    ProblemFactory.create(text="How many?", answer="17")
    bring_in(record())
    label = Label.objects.get()
    assert (label.problem.answer, label.question["ground_truth_answer"]) == ("17", "3")


def test_a_new_problem_takes_answer_and_solution_from_the_record() -> None:
    bring_in(record())
    problem = Problem.objects.get()
    assert (problem.answer, problem.solution, problem.source) == ("3", "Count them.", "prm800k")


def test_one_solution_labelled_by_two_people_is_one_solution_with_its_steps() -> None:
    bring_in(record(), record(labeler="21111111-2222-4333-8444-555555555555"))
    solution = Solution.objects.get()
    assert solution.labels.count() == 2
    assert [s.text for s in solution.steps.all()] == ["I count.", "Four.\n\n# Answer\n\n4"]
    assert (solution.round, solution.answer) == (None, "4")


def test_a_second_label_of_the_same_person_on_the_same_solution_is_kept_too() -> None:
    rows = [record(), record(timestamp="2026-02-02T03:04:05.000006")]
    bring_in(*rows)
    assert [json.loads(line) for line in exported()] == rows
    assert Label.objects.filter(solution=None).count() == 1


def test_times_are_kept_as_utc_to_the_microsecond() -> None:
    bring_in(record())
    assert Label.objects.get().submitted_at == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{broken", ""),
        (record(finish_reason="tired"), "label.finish_reason must be one of"),
        (record(labeler="ada"), "labeler must be a UUID"),
        (record(timestamp="2026-01-02T03:04:05+02:00"), "timestamp must be"),
        (record(problem=" "), "question.problem is empty"),
        (record(problem="Half \ud83d?"), ""),
        (record(problem="NUL \x00?"), ""),
        (record(steps=[step(chosen=None)]), "label.steps[0].completions is empty"),
        (record(steps=[step(completion("a", 2))]), "label.steps[0].completions[0].rating must be"),
        (
            record(
                steps=[step(completion("a", -1), human={**completion("b", None), "source": "x"}, chosen=None)]
            ),
            'label.steps[0].human_completion.source must be "human"',
        ),
        (record(total_time=-1), "label.total_time must be"),
        (record(total_time=2**40), "label.total_time must be"),
        (record(is_quality_control_question=1), "is_quality_control_question must be true or false"),
    ],
)
def test_a_bad_record_is_refused_with_its_line_and_the_good_ones_go_in(bad: Any, reason: str) -> None:
    summary = bring_in(record(), bad, record(timestamp="2026-03-02T03:04:05.000006"))
    assert summary.added == Label.objects.count() == 2
    (refused,) = summary.refused
    assert refused.line == 2
    assert refused.reason
    assert reason in refused.reason


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_one_file_at_once_add_each_label_once(verbatim: list[str]) -> None:
    summaries = at_once(lambda: bring_in(*verbatim))
    assert sorted(s.added for s in summaries) == [0, 8]
    assert exported() == verbatim


def test_the_command_reads_gzip_tells_refusals_and_ends_with_status_1(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(record())}\n{{}}\n".encode()))
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="Rows refused: 1"):
        call_command("import_labels", path, stdout=out, stderr=err)
    assert "1 new, 0 known already, 1 refused" in out.getvalue()
    assert f"{path}:2: " in err.getvalue()
