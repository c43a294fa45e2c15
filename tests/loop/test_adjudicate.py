"""Adjudication: which labels disagree, how a manager decides, what training takes, and that nothing is lost."""

from __future__ import annotations

import io
import json

import pytest

from annotate.errors import PlumblineError
from annotate.loop.adjudicate import NotDecidable, adjudicate, side_with
from annotate.loop.import_labels import import_labels, read_records
from annotate.loop.retrain import training_data
from annotate.loop.second_thoughts import TooLate, take_back
from annotate.loop.snapshot import snapshot, write_labels
from annotate.models import Label, Person, Solution
from prm_backend.text.prm800k import parse_record
from tests.factories import AnnotatorFactory, GoldFactory, ManagerFactory, QueueFactory
from tests.loop.labelling import labels_of_one, ratings_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def mara(db: None) -> Person:
    return ManagerFactory.create(username="mara")


def disputed() -> list[Solution]:
    return list(Label.objects.disputed_solutions())


def trained() -> list[tuple[tuple[int | None, ...], float]]:
    return [(one.ratings, one.weight) for one in training_data(snapshot())[0]]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ((1, -1), (1, 1, -1), True),
        ((1, -1), (1, 1, 1, 1), True),
        ((-1,), (0, -1), True),
        ((1, -1), (0, -1), False),
        ((1, 1, 1, 1), (0, 0, 1, 0), False),
    ],
)
def test_labels_disagree_that_name_different_first_errors(
    one: tuple[int, ...], other: tuple[int, ...], apart: bool
) -> None:
    label, _ = labels_of_one(one, other)
    assert disputed() == ([label.solution] if apart else [])


def test_every_step_labels_disagree_where_one_says_great_and_the_other_bad(ada: Person, ben: Person) -> None:
    QueueFactory.create(way="every_step")
    labels_of_one((-1, 1, 1, 1), (-1, 1, -1, 1))
    assert len(disputed()) == 1


def test_who_gave_up_or_answered_gold_disputes_nothing(ada: Person) -> None:
    label, _ = labels_of_one((1, -1), (1, -1))
    for more in ({"is_quality_control_question": True}, {"finish_reason": "give_up"}):
        other = Label.objects.create(
            problem=label.problem,
            solution=label.solution,
            annotator=AnnotatorFactory.create(),
            question=label.question,
            submitted_at=label.submitted_at,
            **{"finish_reason": "solution"} | more,
        )
        other.ratings.create(step_index=0, option=0, text="x", rating=1)
    assert disputed() == []


def test_a_decision_is_a_label_of_its_own_and_training_takes_it_alone(mara: Person) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    decision = adjudicate(solution=label.solution, ratings=[1, 1, -1, 1], by=mara)
    assert (decision.annotator, decision.adjudicates, decision.finish_reason) == (mara, True, "found_error")
    assert ratings_of(decision) == [(0, 1), (1, 1), (2, -1)]
    assert decision.question == label.question
    assert disputed() == []
    assert trained() == [((1, 1, -1, None), 1.0)]
    assert Label.objects.submitted().count() == 3


def test_siding_with_a_label_takes_over_all_it_says(mara: Person) -> None:
    _, other = labels_of_one((1, -1), (0, 1, 1, 1))
    decision = side_with(label=other, by=mara)
    assert ratings_of(decision) == ratings_of(other)
    assert trained() == [((0, 1, 1, 1), 1.0)]


def test_without_a_decision_the_majority_trains_else_each_with_its_part() -> None:
    labels_of_one((1, -1), (0, -1), (1, 1, 1, 1))
    assert trained() == [((1, -1, None, None), 0.5), ((0, -1, None, None), 0.5)]
    Label.objects.filter(finish_reason="solution").delete()
    Label.objects.latest("pk").delete()
    assert trained() == [((1, -1, None, None), 1.0)]


def test_two_that_disagree_train_with_half_each() -> None:
    labels_of_one((1, -1), (1, 1, 1, 1))
    assert trained() == [((1, -1, None, None), 0.5), ((1, 1, 1, 1), 0.5)]


def test_a_decision_that_lacks_a_rating_or_comes_twice_is_refused(mara: Person) -> None:
    label, other = labels_of_one((1, -1), (1, 1, 1, 1))
    for incomplete in ([1, None, -1, None], [1, 1, 1], [1, 7, 1, 1], []):
        with pytest.raises(PlumblineError, match="not rated yet"):
            adjudicate(solution=label.solution, ratings=incomplete, by=mara)
    side_with(label=label, by=mara)
    with pytest.raises(NotDecidable, match="decided already"):
        side_with(label=other, by=ManagerFactory.create())
    with pytest.raises(NotDecidable, match="Nobody"):
        adjudicate(solution=GoldFactory.create().solution, ratings=[1], by=mara)
    assert Label.objects.filter(adjudicates=True).count() == 1


def test_a_decided_label_can_no_longer_be_taken_back_but_a_gold_answer_can(mara: Person, ada: Person) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    side_with(label=label, by=mara)
    with pytest.raises(TooLate, match="decided"):
        take_back(person=label.annotator, label=label.pk)


def test_decisions_are_exported_under_our_own_key_and_come_back(mara: Person) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    side_with(label=label, by=mara)
    stream = io.BytesIO()
    write_labels(labels=Label.objects.all(), stream=stream)
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [row.get("plumbline") for row in rows] == [None, None, {"adjudicates": True}]
    assert parse_record(rows[2]).extra.adjudicates
    Label.objects.all().delete()
    file = io.BytesIO(stream.getvalue())
    file.name = "labels.jsonl"
    assert import_labels(records=read_records(file)).added == 3
    again = io.BytesIO()
    write_labels(labels=Label.objects.all(), stream=again)
    assert again.getvalue() == stream.getvalue()
    assert Label.objects.get(adjudicates=True).solution is not None
