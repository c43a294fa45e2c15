"""Best-of-N and voting: which of many solutions is taken, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.generators.finish import make_sample
from prm_backend.search import SCORES, Vote, best_of_n, majority_vote, rank, solve
from prm_backend.text.segmentation import OtherSegmentation, require_same
from prm_backend.types import NEWLINE, Sampling, StepProbs, Unscorable
from tests.fakes import ScriptedGenerator, ScriptedScorer


def steps(*good: float) -> list[StepProbs]:
    return [StepProbs(1 - p, 0.0, p) for p in good]


LONG_AND_STEADY, ONE_SLIP, ENDS_WELL = steps(*[0.9] * 9), steps(0.99, 0.4), steps(0.5, 0.6, 0.97)


@pytest.mark.parametrize(
    ("by", "order"),
    [
        ("log_product", [1, 0, 2]),  # .387, .396 and .291
        ("product", [1, 0, 2]),
        ("minimum", [0, 2, 1]),
        ("mean", [0, 1, 2]),
        ("last", [2, 0, 1]),
    ],
)
def test_solutions_are_ranked_by_the_score_that_is_asked_for(by: str, order: list[int]) -> None:
    scored = [LONG_AND_STEADY, ONE_SLIP, ENDS_WELL, Unscorable("too long")]
    assert rank(scored, by=by) == order
    assert best_of_n(scored, by=by) == order[0]
    assert by in SCORES


def test_scores_that_underflow_still_tell_long_solutions_apart() -> None:
    assert best_of_n([steps(*[1e-9] * 60), steps(*[1e-8] * 60)]) == 1


def test_of_equals_the_first_is_taken_and_of_none_none() -> None:
    assert best_of_n([steps(0.5), steps(0.5)]) == 0
    assert best_of_n([Unscorable("no steps")]) is None
    assert best_of_n([]) is None


def test_an_unknown_score_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there are log_product, product, minimum, mean, last"):
        best_of_n([steps(0.5)], by="vibes")


def test_the_answer_most_agree_on_wins_however_it_is_written() -> None:
    assert majority_vote(["0.5", "7", r"\frac{1}{2}", None, "7", "$0.50$"]) == Vote("0.5", (0, 2, 5), 0.6)


def test_a_weight_is_a_louder_voice() -> None:
    assert majority_vote(["1", "1", "2"], weights=[0.1, 0.2, 0.9]) == Vote("2", (2,), pytest.approx(0.75))
    assert majority_vote(["1", "2"], weights=[0, 0]) == Vote("1", (0,), 0.0)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, float("nan")]])
def test_weights_that_make_no_sense_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="as many weights of 0 or more"):
        majority_vote(["1", "2"], weights=weights)


def test_without_an_answer_there_is_no_vote() -> None:
    assert majority_vote([None, None]) is None
    assert majority_vote([]) is None


@given(st.lists(st.none() | st.sampled_from("abc"), max_size=20))
def test_the_winner_has_at_least_as_many_voters_as_any_other(answers: list[str | None]) -> None:
    vote = majority_vote(answers, same=str.__eq__)
    counts = [answers.count(answer) for answer in "abc"]
    assert (len(vote.voters) if vote else 0) == max(counts)
    if vote:
        assert {answers[i] for i in vote.voters} == {vote.answer}
        assert vote.share == pytest.approx(max(counts) / sum(counts))


def test_a_problem_is_solved_from_end_to_end() -> None:
    written = ["Guess.\n\n# Answer\n\n5", "Think.\n\n# Answer\n\n4", "Guess.\n\n# Answer\n\n5"]
    generator = ScriptedGenerator(lambda problem, index: written[index])
    scorer = ScriptedScorer(lambda steps: 0.05 if steps[0].startswith("Think") else 0.8)
    solved = solve("2+2?", generator=generator, scorer=scorer, n=3)
    assert solved.best is not None
    assert solved.best.answer == "4"
    assert solved.majority == Vote("5", (0, 2), pytest.approx(2 / 3))
    assert solved.weighted == Vote("4", (1,), pytest.approx(0.95 / 1.35))
    assert generator.calls == [(("2+2?",), 0)]


def test_samples_are_cut_as_the_sampling_says_and_the_prm_is_told() -> None:
    sample = make_sample("We add. So it is 4.", truncated=False, n_tokens=5, segmentation="sentences-1")
    assert sample.steps == ("We add.", "So it is 4.")

    class Fussy(ScriptedScorer):
        def score(self, problems, solutions, *, segmentation=NEWLINE):
            require_same("sentences-1", segmentation)
            return super().score(problems, solutions)

    generator = ScriptedGenerator(lambda problem, index: "So.")
    fussy = Fussy(lambda steps: 0.5)
    solve("?", generator=generator, scorer=fussy, n=1, sampling=Sampling(segmentation="sentences-1"))
    with pytest.raises(OtherSegmentation):
        solve("?", generator=generator, scorer=fussy, n=1)


def test_solutions_that_cannot_be_scored_have_no_weight_and_are_not_chosen() -> None:
    generator = ScriptedGenerator(lambda problem, index: f"It is {index}.\n\n# Answer\n\n{index}")
    solved = solve("?", generator=generator, scorer=ScriptedScorer(lambda steps: "too long"), n=2)
    assert solved.best is None
    assert solved.scored == (Unscorable("too long"), Unscorable("too long"))
    assert solved.majority == Vote("0", (0,), 0.5)
