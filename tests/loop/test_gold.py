"""Gold: made of a label, and mixed in where nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.errors import PlumblineError
from annotate.loop.gold import (
    make_gold,
    retire_gold,
    use_gold,
)
from annotate.loop.label import claim, fetch_ahead, rate, release, submit
from annotate.loop.overlap import spread
from annotate.loop.work import Work
from annotate.models import Label, Person, Queue, QueueItem
from tests.factories import AnnotatorFactory, GoldFactory, ManagerFactory
from tests.loop.labelling import begin, expire, labelled, make_item, policy, rate_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def mara(db: None) -> Person:
    return ManagerFactory.create(username="mara")


def is_gold(work: Work | None) -> bool:
    return QueueItem.objects.get(pk=work.item).gold_id is not None


# Making


def test_gold_is_made_of_a_label_with_its_question(ada: Person, mara: Person) -> None:
    make_item()
    label = labelled(ada, 1, -1)
    gold = make_gold(label=label, accepted=[2, 1, 2], explanation=" It is 6. ", by=mara)
    assert (gold.accepted, gold.question, gold.explanation) == ([1, 2], label.question, "It is 6.")
    with pytest.raises(PlumblineError, match="gold already"):
        make_gold(label=label, accepted=[1], by=mara)


@pytest.mark.parametrize(("accepted", "why"), [((), "Say which"), ((4,), "no step 5"), ((-2,), "no step")])
def test_gold_names_steps_that_exist(accepted: Any, why: str, ada: Person, mara: Person) -> None:
    make_item()
    with pytest.raises(PlumblineError, match=why):
        make_gold(label=labelled(ada, 1, -1), accepted=accepted, by=mara)


def test_a_label_without_a_served_solution_makes_no_gold(mara: Person) -> None:
    label = Label.objects.create(
        problem=make_item().solution.problem, annotator=AnnotatorFactory.create(), question={"problem": "?"}
    )
    with pytest.raises(PlumblineError, match="whole solution"):
        make_gold(label=label, accepted=[-1], by=mara)


# Serving


def test_one_item_in_every_so_many_is_gold_at_a_place_that_differs(ada: Person) -> None:
    policy(gold_every=5)
    for _ in range(40):
        make_item()
    GoldFactory.create_batch(8)
    golds = []
    for _ in range(40):
        work = claim(person=ada)
        golds.append(is_gold(work))
        submit(person=ada, item=work.item, finish_reason="give_up", comment="x")
        Person.objects.update(suspended_at=None)
        ada.suspended_at = None
    blocks = [golds[i : i + 5] for i in range(0, 40, 5)]
    assert [sum(block) for block in blocks] == [1] * 8
    assert len({block.index(True) for block in blocks}) > 1


def test_nobody_meets_a_gold_twice_and_everybody_meets_them_in_another_order() -> None:
    policy(gold_every=1)
    for _ in range(12):
        make_item()
    GoldFactory.create_batch(6, accepted=[-1])
    orders = []
    for person in AnnotatorFactory.create_batch(3):
        met = [labelled(person, 1, 1, 1, 1).gold_id for _ in range(7)]
        assert met[-1] is None
        orders.append(tuple(met[:-1]))
        assert len(set(met[:-1])) == 6
    assert len(set(orders)) > 1


def test_a_gold_never_goes_to_who_made_it_or_labelled_it(ada: Person, ben: Person) -> None:
    make_item()
    label = labelled(ada, 1, -1)
    gold = make_gold(label=label, accepted=[1], by=ben)  # ben manages and labels
    policy(gold_every=1)
    make_item()
    assert not is_gold(claim(person=ada))
    make_item()
    assert not is_gold(claim(person=ben))
    make_item()
    cleo = AnnotatorFactory.create()
    assert claim(person=cleo)
    assert Label.objects.get(annotator=cleo).gold == gold


def test_who_answered_a_solution_as_gold_is_not_given_it_as_an_ordinary_item(
    ada: Person, ben: Person
) -> None:
    item = make_item()
    gold = make_gold(label=labelled(ben, -1), accepted=[0], by=ManagerFactory.create())
    other = make_item()
    policy(gold_every=1)
    assert labelled(ada, -1).gold == gold
    Queue.objects.update(overlap=3)
    spread(queue=Queue.objects.get(), solutions=[item.solution_id])
    assert claim(person=ada).item == other.pk
    submit(person=ada, item=other.pk, finish_reason="give_up", comment="x")
    assert claim(person=ada) is None


def test_gold_comes_in_the_place_of_an_item_never_where_there_is_none(ada: Person) -> None:
    policy(gold_every=1)
    GoldFactory.create()
    assert claim(person=ada) is None
    make_item()
    assert is_gold(claim(person=ada))


def test_without_gold_left_ordinary_items_come(ada: Person) -> None:
    policy(gold_every=1)
    retire_gold(gold=GoldFactory.create())
    GoldFactory.create(screens=True)
    make_item()
    assert not is_gold(claim(person=ada))


def test_retired_gold_is_served_again_when_it_is_taken_back(ada: Person) -> None:
    policy(gold_every=1)
    gold = GoldFactory.create()
    retire_gold(gold=gold)
    use_gold(gold=gold)
    make_item()
    assert is_gold(claim(person=ada))


def test_a_gold_item_that_is_given_back_waits_for_its_person_alone(ada: Person, ben: Person) -> None:
    policy(gold_every=1)
    GoldFactory.create()
    make_item()
    work = claim(person=ada)
    rate_all(ada, work, 1)
    policy(gold_every=0)
    release(person=ada, item=work.item)
    assert claim(person=ben).item != work.item
    again = claim(person=ada)
    assert (again.item, again.steps[0].rating) == (work.item, 1)
    expire(work.item)
    assert claim(person=AnnotatorFactory.create()) is None


def test_a_paused_queue_serves_no_gold(ada: Person) -> None:
    policy(gold_every=1)
    GoldFactory.create()
    item = make_item()
    Queue.objects.update(paused_at=item.created_at)
    assert claim(person=ada) is None


# Telling them apart


def test_a_gold_item_has_the_fields_and_values_of_any_other(ada: Person, ben: Person) -> None:
    gold = GoldFactory.create()
    ordinary = begin(ada)
    policy(gold_every=1)
    make_item(solution__round=QueueItem.objects.get(pk=ordinary.item).solution.round)
    served = claim(person=ben)
    assert is_gold(served)
    assert not is_gold(ordinary)
    assert served.generation == ordinary.generation
    assert [step.text for step in served.steps] == gold.question["pre_generated_steps"]
    kinds = [{name: type(value) for name, value in vars(work).items()} for work in (ordinary, served)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("fetches", [False, True])
def test_gold_takes_exactly_as_many_queries_at_every_act(fetches: bool, ada: Person) -> None:
    GoldFactory.create_batch(3)
    current = policy(gold_every=1)
    for _ in range(4):
        make_item()
    if fetches:  # so that each of the lives was itself fetched ahead
        fetch_ahead(person=ada, item=claim(person=ada).item)
        submit(person=ada, item=claim(person=ada).item, finish_reason="give_up", comment="x")

    def a_life() -> tuple[bool, list[int]]:
        counts = []
        with CaptureQueriesContext(connection) as claimed:
            work = claim(person=ada)
        counts.append(len(claimed))
        for act in (
            lambda: claim(person=ada),
            lambda: fetch_ahead(person=ada, item=work.item) if fetches else None,
            lambda: rate(person=ada, item=work.item, step_index=0, rating=1),
            lambda: rate(person=ada, item=work.item, step_index=1, rating=-1),
            lambda: submit(person=ada, item=work.item),
        ):
            with CaptureQueriesContext(connection) as asked:
                act()
            counts.append(len(asked))
        return Label.objects.get(queue_item=work.item).gold_id is not None, counts

    lives = [a_life(), a_life()]
    current.gold_every = 10**4  # the same programme, not due now
    current.save()
    GoldFactory.create()
    lives.append(a_life())
    assert [gold for gold, _ in lives] == [True, True, False]
    assert lives[0][1] == lives[1][1] == lives[2][1]
