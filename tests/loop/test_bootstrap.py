"""Version 0 is trained on outcomes alone, once there are enough of both kinds or no more will come."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from annotate.loop.bootstrap import bootstrap, bootstrap_state
from annotate.loop.checkpoints import fetch
from annotate.models import PRMVersion
from prm_backend.types import Outcome, Progress
from tests.factories import (
    GradedSolutionFactory,
    PRMVersionFactory,
    ProblemFactory,
    RoundProblemFactory,
    SolutionFactory,
)
from tests.fakes import RecordingTrainer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _four_are_enough(settings: Settings) -> None:
    settings.BOOTSTRAP_SOLUTIONS = 4


def test_it_waits_for_enough_solutions_and_says_how_many_there_are() -> None:
    RoundProblemFactory()
    GradedSolutionFactory.create_batch(2)
    GradedSolutionFactory(outcome=Outcome.UNDECIDED)
    state = bootstrap_state()
    assert not state.due
    assert state.waiting_for == "2 of 4 solutions graded right or wrong"
    GradedSolutionFactory.create_batch(2, outcome=Outcome.CORRECT)
    assert bootstrap_state().due


def test_with_all_of_them_wrong_it_waits_for_a_right_one_or_the_end_of_the_round() -> None:
    place = RoundProblemFactory()
    GradedSolutionFactory.create_batch(5)
    assert bootstrap_state().waiting_for.startswith("a right solution, or the end of the round")
    place.delete()
    assert bootstrap_state().due


def test_with_nothing_right_or_wrong_there_is_nothing_to_learn_from() -> None:
    GradedSolutionFactory(outcome=Outcome.UNDECIDED)
    assert "nothing to learn from" in bootstrap_state().waiting_for


def test_once_there_is_a_prm_it_never_waits_again() -> None:
    GradedSolutionFactory.create_batch(5)
    PRMVersionFactory()
    assert not bootstrap_state().due


def test_each_step_takes_its_solutions_grade_and_nothing_held_out_is_learned_from() -> None:
    right = GradedSolutionFactory(outcome=Outcome.CORRECT, steps=("one", "two"))
    wrong = GradedSolutionFactory(outcome=Outcome.WRONG, steps=("three",))
    GradedSolutionFactory(outcome=Outcome.UNDECIDED)
    GradedSolutionFactory(problem=ProblemFactory(held_out=True))
    GradedSolutionFactory(steps=())
    SolutionFactory()
    trainer = RecordingTrainer()
    version = bootstrap(trainer=trainer)
    assert [(one.problem, one.ratings) for one in trainer.train] == [
        (right.problem.text, (1, 1)),
        (wrong.problem.text, (-1,)),
    ]
    assert all(one.outcome_only for one in trainer.train)
    assert trainer.outcome_only
    assert (version.number, version.outcome_only, version.snapshot, version.n_labels) == (0, True, None, 0)
    assert str(version) == "v0 (no human labels)"
    assert (fetch(version.checkpoint) / "meta.json").exists()
    assert version.report["notes"] == ["a note"]


def test_a_second_run_over_the_same_outcomes_trains_nothing() -> None:
    GradedSolutionFactory()
    version = bootstrap(trainer=RecordingTrainer())
    again = RecordingTrainer()
    assert bootstrap(trainer=again) == version
    assert again.train == []


def test_a_training_that_is_stopped_leaves_no_version() -> None:
    GradedSolutionFactory()

    def stop(now: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bootstrap(trainer=RecordingTrainer(), progress=stop)
    assert not PRMVersion.objects.exists()


def test_the_scratch_folder_is_empty_again_afterwards(settings: Settings) -> None:
    GradedSolutionFactory()
    bootstrap(trainer=RecordingTrainer())
    assert list((Path(settings.VAR_DIR) / "tmp").iterdir()) == []
