"""The counts a manager sees are the QuerySets the workers consume."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotate.loop import progress
from annotate.models import Worker
from prm_backend.types import Outcome
from tests import factories

pytestmark = pytest.mark.django_db


def test_the_counts_are_those_of_the_querysets_and_take_two_queries(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    prm = factories.ServingPRMFactory(number=0)
    factories.ProblemFactory.create_batch(3)  # untouched
    factories.RoundProblemFactory.create_batch(2)  # to generate
    factories.SolutionFactory()  # to grade
    factories.GradedSolutionFactory.create_batch(4)  # to score
    scored = factories.GradedSolutionFactory(outcome=Outcome.CORRECT)
    factories.SolutionScoreFactory(solution=scored, prm=prm)  # its problem is ready to choose from
    item = factories.QueueItemFactory(
        prm=prm, solution__problem=scored.problem, solution__round=scored.round, leased_by=None
    )
    factories.SolutionScoreFactory(solution=item.solution, prm=prm)
    factories.PRMVersionFactory(number=1)

    with django_assert_num_queries(2):
        counts = progress.loop_counts()

    assert counts == progress.LoopCounts(
        serving=prm,
        untouched=3,
        generate=2,
        grade=1,
        score=4,
        enqueue=1,
        label=1,
        leased=0,
        labelled=0,
        untrained=0,
        promote=1,
    )


def test_without_a_prm_graded_solutions_wait_for_the_first_one() -> None:
    factories.GradedSolutionFactory.create_batch(2)
    counts = progress.loop_counts()
    assert (counts.serving, counts.score, counts.enqueue) == (None, 2, 0)


def test_a_page_can_say_since_when_nobody_works() -> None:
    now = timezone.now()
    Worker.objects.create(name="a", queues="quick", started_at=now, seen_at=now)
    Worker.objects.create(name="b", queues="quick,model", started_at=now, seen_at=now - timedelta(hours=1))
    quick, model = progress.workers_state()
    assert str(quick) == "quick: 1 worker"
    assert (model.alive, model.seen_at) == (0, now - timedelta(hours=1))
    assert str(model).startswith("no model worker since 2")


def test_the_terminal_line_names_what_waits_and_who_is_missing() -> None:
    factories.SolutionFactory()
    line = progress.summary()
    assert "1 to grade" in line
    assert "no PRM yet" in line
    assert "no model worker yet" in line
