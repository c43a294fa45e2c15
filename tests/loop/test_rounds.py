"""A round takes fresh problems first, one round at a time, and remembers how it samples."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotate.loop.rounds import (
    RoundRefused,
    start_round,
)
from annotate.models import Job, Problem, RoundProblem
from prm_backend.config import SelectionConfig
from prm_backend.types import Sampling
from tests.factories import (
    ManagerFactory,
    ProblemFactory,
    RoundFactory,
    RoundProblemFactory,
)

pytestmark = pytest.mark.django_db


def finish_all() -> None:
    RoundProblem.objects.update(generated_at=timezone.now(), chosen_at=timezone.now())


def test_untouched_problems_come_first_then_those_in_the_fewest_rounds() -> None:
    old = ProblemFactory.create_batch(2)
    for problem in old:
        RoundProblemFactory(problem=problem, round=RoundFactory())
    RoundProblemFactory(problem=old[0], round=RoundFactory())
    finish_all()
    new = ProblemFactory()
    where = start_round(problems=2)
    assert list(where.problems.order_by("places__position").distinct()) == [new, old[1]]


def test_a_round_remembers_everything_that_decides_it() -> None:
    manager = ManagerFactory()
    ProblemFactory()
    where = start_round(
        problems=5,
        samples_per_problem=3,
        selection=SelectionConfig(quota=2, control_share=0.2),
        sampling=Sampling(temperature=0.5, prompt_template="Q: {problem}\n"),
        generator="a-model",
        seed=7,
        by=manager,
    )
    where.refresh_from_db()
    assert where.sampling == Sampling(temperature=0.5, prompt_template="Q: {problem}\n")
    assert where.selection == SelectionConfig(quota=2, control_share=0.2)
    assert (where.number, where.generator, where.seed) == (1, "a-model", 7)
    assert (where.samples_per_problem, where.started_by) == (3, manager)
    assert [job.kind for job in Job.objects.all()] == ["generate"]


def test_retired_problems_and_those_without_an_answer_are_left_out() -> None:
    ProblemFactory(retired_at=timezone.now())
    ProblemFactory(answer=None)
    with pytest.raises(RoundRefused, match="Import some first"):
        start_round()


def test_a_second_round_waits_for_the_first_unless_forced() -> None:
    ProblemFactory.create_batch(2)
    start_round(problems=1)
    with pytest.raises(RoundRefused, match="Round 1 still runs"):
        start_round(problems=1)
    assert start_round(problems=1, force=True).number == 2
    finish_all()
    assert start_round(problems=1).number == 3


@pytest.mark.parametrize("nonsense", [{"problems": 0}, {"samples_per_problem": 0}])
def test_numbers_that_make_no_sense_are_refused(nonsense: dict[str, int]) -> None:
    ProblemFactory()
    with pytest.raises(RoundRefused, match="at least one"):
        start_round(**nonsense)


def test_problems_that_no_round_took_are_told_apart() -> None:
    RoundProblemFactory()
    ProblemFactory.create_batch(2)
    assert Problem.objects.usable().count() == 3
    assert Problem.objects.untouched().count() == 2
