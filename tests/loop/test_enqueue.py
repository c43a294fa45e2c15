"""The enqueue stage: each text once, an equal quota a problem, the reason on every item, and the order."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest
from django.utils import timezone

from annotate.loop.enqueue import enqueue, out_of_order, reorder, wholly_scored
from annotate.models import PRMVersion, QueueItem, RoundProblem, Solution
from prm_backend.types import Arm, Outcome
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    PRMVersionFactory,
    ProblemFactory,
    QueueItemFactory,
    RoundFactory,
    ServingPRMFactory,
    SnapshotFactory,
    SolutionScoreFactory,
)

pytestmark = pytest.mark.django_db


def scored(prm: PRMVersion, log_product: float = -1.0, **fields: object) -> Solution:
    solution: Solution = GradedSolutionFactory(**fields)
    SolutionScoreFactory(solution=solution, prm=prm, log_product=log_product)
    return solution


def ready(prm: PRMVersion) -> list[RoundProblem]:
    return list(RoundProblem.objects.ready_to_choose(prm).select_related("round"))


@pytest.fixture
def prm() -> PRMVersion:
    """A serving PRM that knows human labels."""
    return ServingPRMFactory(snapshot=SnapshotFactory())


def test_each_problem_gives_its_quota_and_is_chosen_from_once(prm: PRMVersion) -> None:
    where = RoundFactory(quota=2)
    for problem in ProblemFactory.create_batch(3):
        for i in range(5):
            scored(prm, -i, round=where, problem=problem)
    places = ready(prm)
    assert enqueue(places=places, prm=prm) == 6
    assert enqueue(places=places, prm=prm) == 0
    assert set(Counter(QueueItem.objects.values_list("solution__problem", flat=True)).values()) == {2}
    assert not RoundProblem.objects.unchosen().exists()


def test_the_most_convincing_wrong_answer_is_chosen_and_the_item_says_why(prm: PRMVersion) -> None:
    where, problem = RoundFactory(quota=1, control_share=0, wrong_share=1), ProblemFactory()
    scored(prm, -0.1, round=where, problem=problem, outcome=Outcome.CORRECT)
    convincing = scored(prm, -0.5, round=where, problem=problem)
    scored(prm, -3.0, round=where, problem=problem)
    enqueue(places=ready(prm), prm=prm)
    item = QueueItem.objects.get()
    assert item.solution == convincing
    assert (item.arm, item.rank, item.score, item.prm) == (Arm.CONVINCING_WRONG, 1, -0.5, prm)
    assert item.strategy
    assert item.propensity == 1.0


def test_identical_texts_are_queued_once_whatever_round_they_came_from(prm: PRMVersion) -> None:
    problem = ProblemFactory()
    for where in (RoundFactory(quota=4), RoundFactory(quota=4)):
        scored(prm, round=where, problem=problem, text="Same.\n# Answer\n\n1")
        scored(prm, round=where, problem=problem, text="same   again.\n# Answer\n\n1")
    while places := ready(prm):
        enqueue(places=places, prm=prm)
    assert Counter(QueueItem.objects.values_list("solution__text_hash", flat=True)).most_common(1)[0][1] == 1
    assert QueueItem.objects.count() == 2


def test_what_is_queued_or_labelled_is_never_chosen_again(prm: PRMVersion) -> None:
    problem, where = ProblemFactory(), RoundFactory(quota=4)
    queued = scored(prm, problem=problem, text="Queued.\n# Answer\n\n1")
    QueueItemFactory(solution=queued, prm=prm, done_at=timezone.now())
    for text in ("Queued.\n# Answer\n\n1", "New.\n# Answer\n\n2"):
        scored(prm, round=where, problem=problem, text=text)
    enqueue(places=[place for place in ready(prm) if place.round == where], prm=prm)
    assert [item.solution.text for item in QueueItem.objects.filter(done_at=None)] == ["New.\n# Answer\n\n2"]


def test_without_an_answer_or_a_score_a_solution_is_no_candidate(prm: PRMVersion) -> None:
    where, problem = RoundFactory(quota=4), ProblemFactory()
    scored(prm, round=where, problem=problem, text="I do not know.")
    refused = GradedSolutionFactory(round=where, problem=problem)
    SolutionScoreFactory(solution=refused, prm=prm, unscorable="too long", log_product=None, product=None)
    assert enqueue(places=ready(prm), prm=prm) == 0
    assert not RoundProblem.objects.unchosen().exists()


def test_a_prm_without_human_labels_chooses_half_uniformly() -> None:
    prm = ServingPRMFactory(outcome_only=True)
    where = RoundFactory(quota=4, control_share=0.1)
    for problem in ProblemFactory.create_batch(30):
        for i in range(8):
            scored(prm, -i, round=where, problem=problem)
    enqueue(places=ready(prm), prm=prm)
    arms = Counter(QueueItem.objects.values_list("arm", flat=True))
    assert 0.35 < arms[Arm.CONTROL] / sum(arms.values()) < 0.65


def test_a_new_prm_reorders_what_is_free_and_touches_no_item_in_somebodys_hands(prm: PRMVersion) -> None:
    items = QueueItemFactory.create_batch(4, prm=prm)
    held = items[3]
    QueueItem.objects.filter(pk=held.pk).update(leased_by=AnnotatorFactory(), lease_token=uuid.uuid4())
    control = QueueItemFactory(prm=prm, arm=Arm.CONTROL, random_key=0.6)
    new = PRMVersionFactory()
    for item, log_product in zip([*items, control], (-3.0, -1.0, -2.0, -0.1, -9.0), strict=True):
        SolutionScoreFactory(solution=item.solution, prm=new, log_product=log_product)
    assert list(out_of_order(new)) == [control.queue]
    reorder(queue=control.queue, prm=new)
    assert list(QueueItem.objects.free()) == [items[1], control, items[2], items[0]]
    held_priority = held.priority
    held.refresh_from_db()
    assert held.priority == held_priority
    assert not out_of_order(new).exists()
    assert reorder(queue=control.queue, prm=new) == 0


def test_a_queue_waits_for_its_new_order_until_everything_open_is_scored(prm: PRMVersion) -> None:
    first, second = QueueItemFactory.create_batch(2, prm=prm)
    new = PRMVersionFactory()
    SolutionScoreFactory(solution=first.solution, prm=new)
    assert not wholly_scored(new).exists()
    SolutionScoreFactory(solution=second.solution, prm=new)
    assert list(wholly_scored(new)) == [first.queue]
