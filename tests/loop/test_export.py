"""Labels out: PRM800K rows of what people did here, in one order and in constant memory."""

from __future__ import annotations

import io
import json
import math
import time
import tracemalloc

import pytest
from django.utils import timezone

from annotate.loop.label import claim, flag, rate, submit
from annotate.loop.snapshot import CHUNK, label_lines, naive_utc, write_labels
from annotate.models import Label, Person, Problem
from prm_backend.text.prm800k import parse_record
from prm_backend.text.supervision import labelled_solution
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    ProblemFactory,
    QueueItemFactory,
    RoundFactory,
)
from tests.loop.labelling import labelled
from tests.loop.records import exported_bytes, make_labels

pytestmark = pytest.mark.django_db


def test_a_found_error_is_the_released_phase_2_row_field_for_field() -> None:
    person = AnnotatorFactory.create()
    solution = GradedSolutionFactory.create(
        problem=ProblemFactory.create(text="How many?", answer="3", solution="Count them."),
        round=RoundFactory.create(number=3),
        text="I count.\nThat is four.\nDone.\n# Answer\n\n4",
    )
    QueueItemFactory.create(solution=solution, score=math.log(0.25))
    label = labelled(person, 1, -1)
    (line,) = exported_bytes().splitlines()
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
    row = json.loads(exported_bytes())
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
    person = AnnotatorFactory.create()
    work = claim(person=person)
    assert work is not None
    rate(person=person, item=work.item, step_index=0, rating=1)
    flag(person=person, item=work.item, step_index=0, unsure=True)
    submit(person=person, item=work.item, finish_reason="give_up", comment="I am stuck.")
    label = json.loads(exported_bytes())["label"]
    assert label["finish_reason"] == "give_up"
    assert label["steps"][0]["completions"][0]["flagged"] is True
    assert label["steps"][1] == {"completions": None, "human_completion": None, "chosen_completion": None}


def test_a_bad_problem_rated_nowhere_has_no_steps() -> None:
    QueueItemFactory.create()
    labelled(AnnotatorFactory.create(), finish_reason="bad_problem", comment="The figure is missing.")
    assert json.loads(exported_bytes())["label"]["steps"] == []


def test_drafts_are_not_exported() -> None:
    QueueItemFactory.create()
    person = AnnotatorFactory.create()
    work = claim(person=person)
    assert work is not None
    rate(person=person, item=work.item, step_index=0, rating=1)
    assert exported_bytes() == b""


def test_correcting_an_answer_later_does_not_rewrite_what_the_person_was_served() -> None:
    QueueItemFactory.create()
    labelled(AnnotatorFactory.create(), -1)
    before = exported_bytes()
    Problem.objects.update(answer="another", solution="another")
    assert exported_bytes() == before


def test_labels_come_in_the_order_of_their_submission_and_the_same_state_gives_the_same_bytes() -> None:
    people = AnnotatorFactory.create_batch(3)
    QueueItemFactory.create_batch(3)
    for person in people:
        labelled(person, -1)
    Label.objects.filter(annotator=people[0]).update(submitted_at=timezone.now())
    order = [json.loads(line)["labeler"] for line in exported_bytes().splitlines()]
    assert order == [str(p.labeler) for p in (people[1], people[2], people[0])]
    assert exported_bytes() == exported_bytes()


def test_deactivating_a_person_keeps_their_labels_in_the_export() -> None:
    QueueItemFactory.create()
    person = AnnotatorFactory.create()
    labelled(person, -1)
    before = exported_bytes()
    Person.objects.update(is_active=False)
    assert exported_bytes() == before


def test_text_that_no_table_sheet_or_page_would_like_goes_out_as_it_is() -> None:
    steps = ['=HYPERLINK("http://evil")', "</script><script>alert(1)</script>", "naïve \u2028 𝒳 — 終"]
    QueueItemFactory.create(solution=GradedSolutionFactory.create(text="\n".join(steps)))
    labelled(AnnotatorFactory.create(), 1, 1, 1)
    (line,) = exported_bytes().splitlines()
    assert [s["completions"][0]["text"] for s in json.loads(line)["label"]["steps"]] == steps


def test_queries_grow_with_chunks_and_not_with_labels(django_assert_num_queries: object) -> None:
    make_labels(CHUNK + 1, steps=2)
    with django_assert_num_queries(3):  # type: ignore[operator]
        assert len(list(label_lines(labels=Label.objects.all()))) == CHUNK + 1


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
