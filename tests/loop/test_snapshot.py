"""Labels out: PRM800K rows of what people did here, in one order, in constant memory, kept by their hash."""

from __future__ import annotations

import hashlib
import io
import json
import math
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from annotate.loop.label import claim, flag, rate, submit
from annotate.loop.snapshot import CHUNK, label_lines, naive_utc, snapshot, write_labels
from annotate.models import Label, Person, Problem, Snapshot
from prm_backend.text.prm800k import parse_record
from prm_backend.text.supervision import labelled_solution
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    PRMVersionFactory,
    ProblemFactory,
    QueueItemFactory,
    RoundFactory,
)

pytestmark = pytest.mark.django_db


def exported() -> bytes:
    stream = io.BytesIO()
    write_labels(labels=Label.objects.all(), stream=stream)
    return stream.getvalue()


def labelled(
    person: Person, *ratings: int, finish: str = "", comment: str = "", unsure: int | None = None
) -> Label:
    """A label made as people make them: claimed, rated, submitted."""
    work = claim(person=person)
    assert work is not None
    for index, rating in enumerate(ratings):
        rate(person=person, item=work.item, step_index=index, rating=rating)
    if unsure is not None:
        flag(person=person, item=work.item, step_index=unsure, unsure=True)
    return submit(person=person, item=work.item, finish_reason=finish, comment=comment)


def make_labels(n: int, steps: int = 8) -> None:
    """Many labels of one person, written straight into the tables by the database itself."""
    person = AnnotatorFactory.create()
    problem = ProblemFactory.create()
    texts = [f"Step {i}: we add ${i}$ to both sides, which keeps the equation true." for i in range(steps)]
    question = {
        "problem": problem.text,
        "ground_truth_solution": "Add and simplify.",
        "ground_truth_answer": "7",
        "pre_generated_steps": texts,
        "pre_generated_answer": "8",
        "pre_generated_verifier_score": 0.5,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """
            insert into annotate_label (problem_id, annotator_id, generation, question, finish_reason, submitted_at,
                created_at, total_time, comment, is_quality_control_question, is_initial_screening_question, way,
                adjudicates, critique)
            select %s, %s, 0, %s, 'solution', timestamptz '2026-01-01' + n * interval '1 millisecond',
                now(), 1000, '', false, false, 'first_error', false, ''
            from generate_series(1, %s) as n
            """,
            [problem.pk, person.pk, json.dumps(question), n],
        )
        cursor.execute(
            """
            insert into annotate_steprating (label_id, step_index, option, source, text, rating, chosen, rated_at,
                active_ms)
            select label.id, step.i - 1, 0, 'model', step.text, 1, true, now(), 0
            from annotate_label as label cross join unnest(%s::text[]) with ordinality as step(text, i)
            where label.annotator_id = %s
            """,
            [texts, person.pk],
        )
        cursor.execute("analyze annotate_label, annotate_steprating")


def test_a_found_error_is_the_released_phase_2_row_field_for_field() -> None:
    person = AnnotatorFactory.create()
    solution = GradedSolutionFactory.create(
        problem=ProblemFactory.create(text="How many?", answer="3", solution="Count them."),
        round=RoundFactory.create(number=3),
        text="I count.\nThat is four.\nDone.\n# Answer\n\n4",
    )
    QueueItemFactory.create(solution=solution, score=math.log(0.25))
    label = labelled(person, 1, -1)
    (line,) = exported().splitlines()
    assert json.loads(line) == {
        "labeler": str(person.labeler),
        "timestamp": naive_utc(label.submitted_at),
        "generation": 2,
        "is_quality_control_question": False,
        "is_initial_screening_question": False,
        "question": {
            "problem": "How many?",
            "ground_truth_solution": "Count them.",
            "ground_truth_answer": "3",
            "pre_generated_steps": ["I count.", "That is four.", "Done.\n\n# Answer\n\n4"],
            "pre_generated_answer": "4",
            "pre_generated_verifier_score": pytest.approx(0.25),
        },
        "label": {
            "steps": [
                {
                    "completions": [{"text": "I count.", "rating": 1, "flagged": None}],
                    "human_completion": None,
                    "chosen_completion": 0,
                },
                {
                    "completions": [{"text": "That is four.", "rating": -1, "flagged": None}],
                    "human_completion": None,
                    "chosen_completion": None,
                },
            ],
            "total_time": label.total_time,
            "finish_reason": "found_error",
        },
    }
    assert labelled_solution(parse_record(json.loads(line))).ratings == (1, -1, None)


def test_keys_come_in_the_order_of_the_released_files() -> None:
    QueueItemFactory.create()
    labelled(AnnotatorFactory.create(), -1)
    row = json.loads(exported())
    assert list(row) == [
        "labeler",
        "timestamp",
        "generation",
        "is_quality_control_question",
        "is_initial_screening_question",
        "question",
        "label",
    ]
    assert list(row["question"]) == [
        "problem",
        "ground_truth_solution",
        "ground_truth_answer",
        "pre_generated_steps",
        "pre_generated_answer",
        "pre_generated_verifier_score",
    ]


def test_a_give_up_ends_in_the_all_null_step_and_unsure_is_flagged() -> None:
    QueueItemFactory.create()
    labelled(AnnotatorFactory.create(), 1, finish="give_up", comment="I am stuck.", unsure=0)
    label = json.loads(exported())["label"]
    assert label["finish_reason"] == "give_up"
    assert label["steps"][0]["completions"][0]["flagged"] is True
    assert label["steps"][1] == {"completions": None, "human_completion": None, "chosen_completion": None}


def test_a_bad_problem_rated_nowhere_has_no_steps() -> None:
    QueueItemFactory.create()
    labelled(AnnotatorFactory.create(), finish="bad_problem", comment="The figure is missing.")
    assert json.loads(exported())["label"]["steps"] == []


def test_drafts_are_not_exported() -> None:
    QueueItemFactory.create()
    person = AnnotatorFactory.create()
    work = claim(person=person)
    assert work is not None
    rate(person=person, item=work.item, step_index=0, rating=1)
    assert exported() == b""


def test_correcting_an_answer_later_does_not_rewrite_what_the_person_was_served() -> None:
    QueueItemFactory.create()
    labelled(AnnotatorFactory.create(), -1)
    before = exported()
    Problem.objects.update(answer="another", solution="another")
    assert exported() == before


def test_labels_come_in_the_order_of_their_submission_and_the_same_state_gives_the_same_bytes() -> None:
    people = AnnotatorFactory.create_batch(3)
    QueueItemFactory.create_batch(3)
    for person in people:
        labelled(person, -1)
    Label.objects.filter(annotator=people[0]).update(submitted_at=timezone.now())
    order = [json.loads(line)["labeler"] for line in exported().splitlines()]
    assert order == [str(p.labeler) for p in (people[1], people[2], people[0])]
    assert exported() == exported()


def test_deactivating_a_person_keeps_their_labels_in_the_export() -> None:
    QueueItemFactory.create()
    person = AnnotatorFactory.create()
    labelled(person, -1)
    before = exported()
    Person.objects.update(is_active=False)
    assert exported() == before


def test_text_that_no_table_sheet_or_page_would_like_goes_out_as_it_is() -> None:
    steps = ['=HYPERLINK("http://evil")', "</script><script>alert(1)</script>", "naïve \u2028 𝒳 — 終"]
    QueueItemFactory.create(solution=GradedSolutionFactory.create(text="\n".join(steps)))
    labelled(AnnotatorFactory.create(), 1, 1, 1)
    (line,) = exported().splitlines()
    assert [s["completions"][0]["text"] for s in json.loads(line)["label"]["steps"]] == steps


def test_queries_grow_with_chunks_and_not_with_labels(django_assert_num_queries: object) -> None:
    make_labels(CHUNK + 1, steps=2)
    with django_assert_num_queries(3):  # type: ignore[operator]
        assert len(list(label_lines(labels=Label.objects.all()))) == CHUNK + 1


def test_a_snapshot_is_the_export_in_storage_named_by_its_hash() -> None:
    make_labels(3)
    kept = snapshot()
    with default_storage.open(kept.path) as file:
        content = file.read()
    assert content == exported()
    assert kept.sha256 == hashlib.sha256(content).hexdigest()
    assert kept.sha256 in kept.path
    assert kept.n_labels == 3


def test_where_nothing_changed_a_snapshot_is_the_one_that_is_there() -> None:
    make_labels(3)
    first = snapshot()
    assert snapshot() == first
    make_labels(1)
    assert snapshot() != first
    assert Snapshot.objects.count() == 2


def test_a_label_submitted_while_a_snapshot_is_written_still_waits_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_labels(3)
    save = default_storage.save

    def save_slowly(name: str, content: File) -> str:
        QueueItemFactory.create()
        labelled(AnnotatorFactory.create(), -1)
        return save(name, content)

    monkeypatch.setattr(default_storage, "save", save_slowly)
    first = snapshot()
    PRMVersionFactory.create(number=1, snapshot=first)
    assert Label.objects.untrained().count() == 1
    assert first.n_labels == 3


def test_a_file_that_a_kill_left_half_written_is_not_taken_for_a_snapshot() -> None:
    make_labels(3)
    digest = hashlib.sha256(exported()).hexdigest()
    default_storage.save(f"snapshots/{digest}.jsonl", ContentFile(b"{half"))
    kept = snapshot()
    with default_storage.open(kept.path) as file:
        assert hashlib.sha256(file.read()).hexdigest() == digest == kept.sha256


@pytest.mark.django_db(transaction=True)
def test_two_snapshots_at_once_are_one_and_leave_one_file() -> None:
    make_labels(200)
    kept: list[Snapshot] = []

    def run() -> None:
        kept.append(snapshot())
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept[0] == kept[1] == Snapshot.objects.get()
    _, files = default_storage.listdir("snapshots")
    assert [f for f in files if kept[0].sha256 in f] == [Path(kept[0].path).name]


def test_the_command_writes_a_file_that_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_labels(3)
    path = tmp_path / "labels.jsonl"
    call_command("export_labels", output=str(path), stderr=io.StringIO())
    assert path.read_bytes() == exported()
    assert [p.name for p in tmp_path.iterdir()] == ["labels.jsonl"]


def test_an_export_that_is_interrupted_leaves_the_file_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_labels(3)
    path = tmp_path / "labels.jsonl"
    path.write_text("before")
    Label.objects.filter(pk=Label.objects.latest("id").pk).update(
        question={}
    )  # its last row can't be written
    with pytest.raises(KeyError):
        call_command("export_labels", output=str(path), stderr=io.StringIO())
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["labels.jsonl"]


def test_the_command_writes_to_the_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    make_labels(3)
    call_command("export_labels", output="-")
    assert capfdbinary.readouterr().out == exported()


def test_the_command_says_where_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be written: No such file or directory"):
        call_command("export_labels", output=str(tmp_path / "nowhere" / "labels.jsonl"))


class Nowhere(io.RawIOBase):
    """A stream that forgets, so that only the export's own memory is measured."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return len(data)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_labels() -> None:
    make_labels(10_000)

    def peak(labels: int) -> int:
        last = Label.objects.in_export_order()[labels - 1]
        tracemalloc.start()
        some = Label.objects.filter(submitted_at__lte=last.submitted_at)
        assert write_labels(labels=some, stream=Nowhere()) == labels
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    began = time.process_time()
    write_labels(labels=Label.objects.all(), stream=Nowhere())
    pace = 10_000 / (time.process_time() - began)
    few, many = peak(1_000), peak(5_000)
    print(
        f"{pace:,.0f} labels a CPU second; peak {few / 2**20:.1f} MB for 1,000, {many / 2**20:.1f} MB for 5,000"
    )
    assert many < few + 2**20
