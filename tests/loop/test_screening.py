"""Screening: gold only until a person has shown that they rate as others do."""

from __future__ import annotations

import pytest

from annotate.errors import PlumblineError
from annotate.loop.gold import withdraw_gold
from annotate.loop.label import claim
from annotate.loop.retrain import training_data
from annotate.loop.screening import admit, screen_again, screening_of
from annotate.loop.second_thoughts import TooLate, can_take_back, take_back
from annotate.loop.snapshot import snapshot
from annotate.models import Label, Person, QueueItem
from tests.factories import GoldFactory, ManagerFactory, QueueFactory
from tests.loop.labelling import labelled, make_item, policy, rate_all

pytestmark = pytest.mark.django_db

RIGHT, WRONG = (1, -1), (-1,)


@pytest.fixture
def mara(db: None) -> Person:
    return ManagerFactory.create(username="mara")


@pytest.fixture(autouse=True)
def four_questions(db: None) -> None:
    QueueFactory.create()
    policy(screening=True, screening_items=4)


def test_until_admitted_a_person_is_served_screening_gold_alone(ada: Person) -> None:
    GoldFactory.create_batch(4, screens=True)
    GoldFactory.create(screens=False)
    make_item()
    for _ in range(4):
        label = labelled(ada, *RIGHT)
        assert label.gold is not None
        assert label.gold.screens
        assert (label.generation, label.is_initial_screening_question) == (-1, True)
        assert not label.is_quality_control_question
    assert claim(person=ada).item == QueueItem.objects.get(gold=None).pk


@pytest.mark.parametrize(("right", "admitted"), [(4, True), (3, True), (2, False)])
def test_three_of_four_admit(right: int, admitted: bool, ada: Person) -> None:
    GoldFactory.create_batch(4, screens=True)
    for ratings in [RIGHT] * right + [WRONG] * (4 - right):
        labelled(ada, *ratings)
    ada.refresh_from_db()
    assert (ada.admitted_at is not None, ada.screenings) == (admitted, 1)


def test_a_second_attempt_takes_other_questions_or_does_not_begin(ada: Person) -> None:
    GoldFactory.create_batch(6, screens=True)
    first = {labelled(ada, *WRONG).gold_id for _ in range(4)}
    assert claim(person=ada) is None
    standing = screening_of(ada)
    assert standing
    assert (standing.unmet, standing.attempts_left, standing.out_of_questions) == (2, 1, True)
    GoldFactory.create_batch(2, screens=True)
    second = {labelled(ada, *RIGHT).gold_id for _ in range(4)}
    assert not first & second
    ada.refresh_from_db()
    assert ada.admitted_at
    assert ada.screenings == 2


def test_after_the_last_attempt_nothing_is_served_until_a_manager_grants_more(
    ada: Person, mara: Person
) -> None:
    policy(screening_attempts=1)
    GoldFactory.create_batch(5, screens=True)
    for _ in range(4):
        labelled(ada, *WRONG)
    assert claim(person=ada) is None
    with pytest.raises(PlumblineError, match="has not met: 1;"):
        screen_again(person=ada, by=mara)
    GoldFactory.create_batch(3, screens=True)
    screen_again(person=ada, by=mara)
    ada.refresh_from_db()
    assert claim(person=ada)


def test_a_manager_admits_by_hand(ada: Person, mara: Person) -> None:
    make_item()
    assert claim(person=ada) is None
    admit(person=ada, by=mara)
    ada.refresh_from_db()
    assert claim(person=ada)


def test_without_enough_questions_a_screening_does_not_begin(ada: Person) -> None:
    GoldFactory.create_batch(3, screens=True)
    assert claim(person=ada) is None
    assert not Label.objects.exists()


def test_an_ordinary_draft_waits_until_its_person_is_admitted(ada: Person, mara: Person) -> None:
    policy(screening=False)
    make_item()
    work = rate_all(ada, claim(person=ada), 1)
    QueueItem.objects.update(leased_by=None)
    policy(screening=True)
    assert claim(person=ada) is None
    admit(person=ada, by=mara)
    ada.refresh_from_db()
    assert claim(person=ada).item == work.item


def test_screening_answers_do_not_pause_and_do_not_train(ada: Person) -> None:
    policy(screening_items=8, agreement_bar=1.0)
    GoldFactory.create_batch(8, screens=True)
    for _ in range(4):
        labelled(ada, *WRONG)
    ada.refresh_from_db()
    assert ada.suspended_at is None
    assert training_data(snapshot()) == ([], [])
    assert not Label.objects.untrained().exists()


def test_an_answer_cannot_be_taken_back_once_the_result_shows_the_right_ones(ada: Person) -> None:
    GoldFactory.create_batch(4, screens=True)
    label = labelled(ada, *WRONG)
    assert can_take_back(ada) is None
    with pytest.raises(TooLate, match="screening"):
        take_back(person=ada, label=label.pk)


def test_nobody_is_screened_where_no_policy_asks_for_it(ada: Person) -> None:
    policy(screening=False)
    assert screening_of(ada) is None
    make_item()
    assert claim(person=ada)


def test_a_withdrawn_question_is_no_miss_and_its_person_is_named_to_the_manager(ada: Person) -> None:
    golds = GoldFactory.create_batch(9, screens=True)
    for _ in range(4):
        labelled(ada, *WRONG)
    ada.refresh_from_db()
    [wrong] = [gold for gold in golds if gold == ada.labels.order_by("pk")[0].gold]
    then = withdraw_gold(gold=wrong)
    assert (then.answers, then.resumed, then.refused) == (1, (), (ada,))
    labelled(ada, *RIGHT)
    midway = ada.labels.order_by("-pk")[0].gold
    assert midway is not None
    withdraw_gold(gold=midway)
    standing = screening_of(ada)
    assert standing is not None
    assert standing.answered == 0
