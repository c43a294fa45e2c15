"""Facts before the PRM before people: the first layer that decides is believed; all opinions asked for are kept."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from prm_backend.grading import AnswerKind, Gold, GraderPool
from prm_backend.search.verifier import facts, people, prm, verify
from prm_backend.text.steps import split_steps
from prm_backend.types import Outcome
from tests.fakes import ScriptedScorer

PROGRAM = ["We add one.\n```python\ndef f(x): return x + 1\n```"]
GOLD = Gold(kind=AnswerKind.CODE, tests=("assert f(1) == 2",))


def never(problem: str, steps: Sequence[str]) -> None:
    raise AssertionError("nobody had to ask")


@pytest.fixture(scope="module")
def graders():
    with GraderPool(size=1) as pool:
        yield pool


def scorer(bad: float | str) -> ScriptedScorer:
    return ScriptedScorer(lambda steps: bad)


def test_what_runs_outranks_what_a_model_and_people_think(graders):
    sure_it_is_wrong = prm(scorer(0.99), wrong_below=0.5, correct_from=0.9)
    verdict = verify("p", PROGRAM, [facts(GOLD, graders), sure_it_is_wrong, people(never)])
    assert (verdict.outcome, verdict.reason) == (Outcome.CORRECT, "all 1 tests pass")
    assert [opinion.grader for opinion in verdict.opinions] == ["tests"]


def test_a_program_runs_as_it_was_written_after_it_was_cut_into_steps(graders):
    steps = split_steps(
        "Like so:\n```python\ndef f(x):\n    if x:\n        return x + 1\n\n    return 1\n```"
    )
    assert len(steps) == 7
    assert verify("p", steps, [facts(GOLD, graders)]).outcome is Outcome.CORRECT


def test_the_prm_is_asked_where_there_are_no_facts(graders):
    layers = [facts("7", graders), prm(scorer(0.4), wrong_below=0.5, correct_from=0.9), people(never)]
    verdict = verify("p", ["I think.", "So I am."], layers)
    assert (verdict.outcome, verdict.reason) == (Outcome.WRONG, "scored 0.360")


def test_people_are_asked_last_and_every_opinion_is_kept(graders):
    doubtful = prm(scorer(0.2), wrong_below=0.5, correct_from=0.9)
    verdict = verify(
        "p",
        ["It is 0.333.\n\n# Answer\n\n0.333"],
        [facts("1/3", graders), doubtful, people(lambda p, s: [1])],
    )
    assert (verdict.outcome, verdict.reason) == (Outcome.CORRECT, "no step is rated bad")
    assert [(opinion.grader, opinion.outcome) for opinion in verdict.opinions] == [
        ("normaliser", "undecided"),
        ("scripted", "undecided"),
        ("people", "correct"),
    ]


def test_what_nobody_decides_stays_undecided_with_every_reason(graders):
    layers = [
        facts("7", graders),
        prm(scorer("too long"), wrong_below=0.5, correct_from=0.9),
        people(lambda p, s: None),
    ]
    verdict = verify("p", ["I think."], layers)
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.reason == "no answer; cannot be scored: too long; waits for a person"
    assert verify("p", [], []).reason == "nobody was asked"


def test_half_a_rating_decides_nothing():
    for ratings in ([1], [1, None], []):
        assert verify("p", ["a", "b"], [people(lambda p, s, r=ratings: r)]).outcome is Outcome.UNDECIDED
    assert verify("p", ["a", "b"], [people(lambda p, s: [-1])]).outcome is Outcome.WRONG


def test_thresholds_that_cross_are_refused():
    with pytest.raises(ValueError, match="wrong_below <= correct_from"):
        prm(scorer(0.5), wrong_below=0.9, correct_from=0.5)
