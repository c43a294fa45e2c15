"""The score stage: every step once by each PRM, and what cannot be scored is told why."""

from __future__ import annotations

import math

import pytest

from annotate.loop.score import score
from annotate.models import Solution, SolutionScore, StepScore
from tests.factories import GradedSolutionFactory, PRMVersionFactory, ServingPRMFactory
from tests.fakes import ScriptedScorer

pytestmark = pytest.mark.django_db


def test_steps_get_probabilities_and_the_solution_their_product() -> None:
    prm = ServingPRMFactory()
    solution = GradedSolutionFactory(steps=("one", "two"))
    assert score(solutions=[solution], prm=prm, scorer=ScriptedScorer(lambda steps: 0.25)) == 1
    assert list(StepScore.objects.values_list("p_bad", "p_okay", "p_great")) == [(0.25, 0.0, 0.75)] * 2
    whole = SolutionScore.objects.get()
    assert math.isclose(whole.log_product, 2 * math.log(0.75))
    assert (whole.minimum, whole.last, whole.unscorable) == (0.75, 0.75, "")
    assert not Solution.objects.unscored_by(prm).exists()


def test_scoring_again_writes_once_and_a_new_prm_scores_anew() -> None:
    old, new = ServingPRMFactory(), PRMVersionFactory()
    solution = GradedSolutionFactory(steps=("one", "two"))
    for prm, bad in ((old, 0.5), (old, 0.9), (new, 0.1)):
        score(solutions=[solution], prm=prm, scorer=ScriptedScorer(lambda steps, bad=bad: bad))
    assert [(row.prm, row.minimum) for row in SolutionScore.objects.order_by("pk")] == [
        (old, 0.5),
        (new, 0.9),
    ]
    assert StepScore.objects.count() == 4


def test_what_the_prm_refuses_keeps_the_reason_and_waits_no_more() -> None:
    prm = ServingPRMFactory()
    solution = GradedSolutionFactory()
    score(solutions=[solution], prm=prm, scorer=ScriptedScorer(lambda steps: "901 tokens, the limit is 512"))
    assert SolutionScore.objects.get().unscorable == "901 tokens, the limit is 512"
    assert not StepScore.objects.exists()
    assert not Solution.objects.unscored_by(prm).exists()


def test_a_solution_without_steps_is_unscorable_and_never_reaches_the_model() -> None:
    solution = GradedSolutionFactory(steps=())

    def never(steps: object) -> float:
        raise AssertionError("the model was asked")

    score(solutions=[solution], prm=ServingPRMFactory(), scorer=ScriptedScorer(never))
    assert SolutionScore.objects.get().unscorable == "the solution has no steps"


def test_probabilities_that_are_none_do_not_hold_up_the_others() -> None:
    odd, fine = GradedSolutionFactory.create_batch(2)
    scorer = ScriptedScorer(lambda steps: math.nan if steps[0] == odd.steps.first().text else 0.2)
    odd.steps.filter(index=0).update(text="odd")
    score(solutions=[odd, fine], prm=ServingPRMFactory(), scorer=scorer)
    assert SolutionScore.objects.get(solution=odd).unscorable.startswith("p(bad) must lie in [0, 1]")
    assert SolutionScore.objects.get(solution=fine).unscorable == ""
