"""Gold judged: which answers it accepts, who keeps missing it and is paused, and what its correction changes."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from annotate.errors import PlumblineError
from annotate.loop.gold import (
    Agreement,
    correct_gold,
    lift_pause,
    withdraw_gold,
)
from annotate.loop.label import claim, submit
from annotate.loop.retrain import training_data
from annotate.loop.snapshot import snapshot
from annotate.loop.standing import agreement_before
from annotate.models import Gold, Label, Person
from tests.factories import GoldFactory, ManagerFactory, PRMVersionFactory, SnapshotFactory
from tests.loop.labelling import labelled, make_item, policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def mara(db: None) -> Person:
    return ManagerFactory.create(username="mara")


# Judging


@pytest.mark.parametrize(
    ("accepted", "ratings", "agrees"),
    [
        ([1, 2], (1, -1), True),
        ([1, 2], (1, 0, -1), True),
        ([1, 2], (-1,), False),
        ([1, 2], (1, 1, 1, 1), False),
        ([-1], (1, 1, 0, 1), True),
        ([-1], (1, -1), False),
        ([3, -1], (1, 1, 1, 1), True),
    ],
)
def test_an_answer_agrees_if_the_gold_accepts_its_first_error(
    accepted: list[int], ratings: tuple[int, ...], agrees: bool, ada: Person
) -> None:
    policy(gold_every=1)
    GoldFactory.create(accepted=accepted)
    make_item()
    label = labelled(ada, *ratings)
    assert label.agrees_with_gold is agrees
    assert label.is_quality_control_question
    assert not label.is_initial_screening_question


def test_who_gives_up_on_gold_has_missed_it(ada: Person) -> None:
    policy(gold_every=1)
    GoldFactory.create(accepted=[0, 1, 2, 3, -1])
    make_item()
    label = submit(person=ada, item=claim(person=ada).item, finish_reason="give_up", comment="x")
    assert label.agrees_with_gold is False


def test_gold_answers_never_train_and_call_for_no_training(ada: Person) -> None:
    policy(gold_every=1)
    GoldFactory.create()
    make_item()
    labelled(ada, 1, -1)
    assert training_data(snapshot()) == ([], [])
    PRMVersionFactory.create(snapshot=SnapshotFactory.create(), number=9)
    assert not Label.objects.untrained().exists()


# Pausing


def test_who_surely_is_below_the_bar_is_paused_and_given_nothing(ada: Person) -> None:
    policy(gold_every=1, agreement_bar=0.6)
    GoldFactory.create_batch(4, accepted=[-1])
    for _ in range(4):
        make_item()
    labelled(ada, -1)
    labelled(ada, -1)
    ada.refresh_from_db()
    assert ada.suspended_at is None
    labelled(ada, -1)
    assert claim(person=ada) is None
    ada.refresh_from_db()
    assert ada.suspended_at
    assert "0 of the latest 3" in ada.suspension
    assert claim(person=ada) is None


def test_a_lifted_pause_starts_the_count_anew(ada: Person, mara: Person) -> None:
    policy(gold_every=1, agreement_bar=0.6)
    GoldFactory.create_batch(5, accepted=[-1])
    for _ in range(5):
        make_item()
    for _ in range(3):
        labelled(ada, -1)
    lift_pause(person=ada, by=mara)
    ada.refresh_from_db()
    labelled(ada, -1)
    ada.refresh_from_db()
    assert ada.suspended_at is None


def test_only_the_latest_answers_count(ada: Person) -> None:
    policy(gold_every=1, agreement_bar=0.6, agreement_window=4)
    GoldFactory.create_batch(8, accepted=[-1])
    for _ in range(8):
        make_item()
    for ratings in [(1, 1, 1, 1)] * 4 + [(-1,)] * 3:
        labelled(ada, *ratings)
    ada.refresh_from_db()
    assert ada.suspended_at is None  # 1 of 4: up to 70 %
    labelled(ada, -1)
    ada.refresh_from_db()
    assert ada.suspended_at


def test_the_bar_is_met_by_the_upper_end_of_wilsons_interval() -> None:
    below = {(k, n) for n in range(1, 8) for k in range(n + 1) if Agreement(k, n).is_below(0.6)}
    assert Counter(n for _, n in below) == {3: 1, 4: 1, 5: 1, 6: 2, 7: 2}
    assert not Agreement(0, 0).is_below(1.0)


def test_gold_is_kept_apart_from_the_screening(ada: Person) -> None:
    assert Gold.objects.mixed_in().count() == 0
    GoldFactory.create(screens=True)
    assert Gold.objects.mixed_in().count() == 0
    assert Gold.objects.screening().count() == 1


# Corrected and withdrawn


def test_a_corrected_gold_judges_its_answers_anew_and_ends_the_pauses_that_rested_on_them(
    ada: Person, ben: Person
) -> None:
    golds = paused_by_three_misses(ada)
    for _ in range(3):
        labelled(ben, 1, 1, 1, 1)
    with pytest.raises(PlumblineError, match="no step 5"):
        correct_gold(gold=golds[0], accepted=[4])
    then = correct_gold(gold=golds[0], accepted=[0])
    assert (then.answers, then.resumed, then.refused) == (2, (ada,), ())
    assert agreements(ada, golds[0]) == [True]
    assert agreements(ben, golds[0]) == [False]
    ada.refresh_from_db()
    assert (ada.suspended_at, ada.suspension) == (None, "")
    assert claim(person=ada) is not None
    assert correct_gold(gold=golds[0], accepted=[0]).answers == 0


def test_a_pause_that_still_holds_stays_with_its_figures_renewed(ada: Person) -> None:
    golds = paused_by_three_misses(ada)
    policy(gold_every=1, agreement_bar=0.9)
    assert correct_gold(gold=golds[0], accepted=[0]).resumed == ()
    ada.refresh_from_db()
    assert ada.suspended_at
    assert "1 of the latest 3" in ada.suspension


def test_answers_to_a_withdrawn_gold_count_no_more_nor_is_it_served(ada: Person, ben: Person) -> None:
    golds = paused_by_three_misses(ada)
    then = withdraw_gold(gold=golds[0])
    assert (then.answers, then.resumed) == (1, (ada,))
    assert agreements(ada, golds[0]) == [None]
    assert agreement_before(ada, timezone.now()) == Agreement(0, 2)
    assert [labelled(ben, 1, -1).gold for _ in range(3)].count(golds[0]) == 0


def paused_by_three_misses(person: Person) -> list[Gold]:
    policy(gold_every=1)
    golds = GoldFactory.create_batch(3, accepted=[-1])
    for _ in range(8):
        make_item()
    for _ in range(3):
        labelled(person, -1)
    person.refresh_from_db()
    assert person.suspended_at
    return golds


def agreements(person: Person, gold: Gold) -> list[bool | None]:
    return list(person.labels.filter(gold=gold).values_list("agrees_with_gold", flat=True))
