"""Figures out of scores and labels: by hand where they are small, and None where the labels cannot tell."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.evaluation.processbench import compared, crossed, fit_threshold, processbench, tune_threshold
from prm_backend.evaluation.promotion import MIN_STEPS, decide
from prm_backend.evaluation.steps import evaluate_steps, judge, rank_auc
from prm_backend.types import LabelledSolution, Report, StepProbs, Unscorable


def p(bad: float) -> StepProbs:
    return StepProbs(bad, 0.0, 1 - bad)


def labelled(*ratings: int | None, **options: int) -> LabelledSolution:
    return LabelledSolution("?", ("step",) * len(ratings), ratings, **options)


FOUND = ([p(0.1), p(0.8)], labelled(1, -1))  # the error, exactly
MISSED = ([p(0.2), p(0.3)], labelled(1, -1))
CLEAN = ([p(0.4), p(0.1), p(0.2)], labelled(1, 0, 1))
ALARM = ([p(0.9)], labelled(1))
ALL = (FOUND, MISSED, CLEAN, ALARM)


def evaluate(*pairs) -> Report:
    return evaluate_steps([scored for scored, _ in pairs], [label for _, label in pairs])


def test_first_errors_count_only_where_exactly_found() -> None:
    metrics = evaluate(*ALL).metrics
    assert (metrics["error_accuracy"], metrics["correct_accuracy"]) == (0.5, 0.5)
    assert metrics["first_error_accuracy"] == 0.5
    assert (metrics["solutions"], metrics["steps"], metrics["human_steps"]) == (4, 8, 8)


def test_step_figures_by_hand() -> None:
    metrics = evaluate(*ALL).metrics
    assert metrics["step_accuracy"] == 6 / 8  # MISSED's error and ALARM's step
    assert metrics["majority_accuracy"] == 6 / 8
    assert metrics["balanced_accuracy"] == (1 / 2 + 5 / 6) / 2
    # bad at 0.8 beats 0.1 0.2 0.4 0.1 0.2, not 0.9; bad at 0.3 beats 0.1 0.2 0.1 0.2
    assert metrics["auc"] == pytest.approx((5 + 4) / 12)
    assert metrics["rating_accuracy"] == 5 / 8  # CLEAN's neutral step too is called great


def test_the_log_likelihood_is_that_of_the_rating_given() -> None:
    metrics = evaluate(([StepProbs(0.2, 0.3, 0.5), StepProbs(0.2, 0.3, 0.5)], labelled(0, -1))).metrics
    assert metrics["log_likelihood"] == pytest.approx((math.log(0.3) + math.log(0.2)) / 2)
    assert metrics["base_log_likelihood"] == pytest.approx(math.log(0.5))


def test_a_rating_held_impossible_costs_much_but_not_infinitely_much() -> None:
    assert math.isfinite(evaluate(([p(0.0)], labelled(-1))).metrics["log_likelihood"] or math.nan)


def test_steps_after_the_first_error_are_not_judged() -> None:
    short = evaluate(FOUND).metrics
    longer = evaluate(([*FOUND[0], p(0.0), p(0.0)], labelled(1, -1, None, None))).metrics
    assert short == longer


def test_calibration_error_is_the_gap_between_said_and_seen() -> None:
    perfect = evaluate(*[([p(0.25)], labelled(-1)), *[([p(0.25)], labelled(1))] * 3]).metrics
    sure = evaluate(*[([p(0.0)], labelled(-1)), *[([p(0.0)], labelled(1))] * 3]).metrics
    assert perfect["calibration_error"] == pytest.approx(0)
    assert sure["calibration_error"] == pytest.approx(0.25)


def test_what_labels_of_one_kind_cannot_tell_is_none_and_not_zero() -> None:
    metrics = evaluate(CLEAN).metrics
    assert metrics["auc"] is None
    assert metrics["balanced_accuracy"] is None
    assert metrics["error_accuracy"] is None
    assert metrics["correct_accuracy"] == 1.0


def test_no_labels_at_all_give_figures_of_none() -> None:
    metrics = evaluate().metrics
    assert (metrics["steps"], metrics["solutions"]) == (0, 0)
    assert metrics["log_likelihood"] is None
    assert metrics["step_accuracy"] is None


def test_an_unscorable_solution_is_counted_and_told() -> None:
    report = evaluate(FOUND, (Unscorable("too long"), labelled(1, 1)))
    assert (report.metrics["unscorable"], report.metrics["steps"]) == (1, 2)
    assert "1 held-out solutions could not be scored" in report.notes


def test_ratings_copied_from_grades_are_no_human_steps() -> None:
    metrics = evaluate(FOUND, ([p(0.1), p(0.1)], labelled(-1, -1, outcome_only=True))).metrics
    assert (metrics["steps"], metrics["human_steps"]) == (4, 2)


def test_fewer_scores_than_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="1 scores for 2 supervised steps"):
        evaluate(([p(0.1)], labelled(1, 1)))


def test_context_is_not_judged() -> None:
    """Its last step is wrong, and found; what stands before that has no score and no rating that counts."""
    report = evaluate(([p(0.9)], labelled(-1, 1, -1, outcome_only=True, context=2)))
    metrics = report.metrics
    assert (metrics["steps"], metrics["bad_steps"], metrics["error_accuracy"]) == (1, 1, 1.0)


def test_a_scorer_is_judged_on_what_was_rated_alone() -> None:
    class Scorer:
        name = "asked"

        def score(self, problems, solutions, *, segmentation):
            self.solutions, self.segmentation = solutions, segmentation
            return [[p(0.1)] * len(steps) for steps in solutions]

    scorer = Scorer()
    report = judge(scorer, [labelled(1, -1, None), labelled(1, 1)], segmentation="sentences-1")
    assert [len(steps) for steps in scorer.solutions] == [2, 2]
    assert scorer.segmentation == "sentences-1"
    assert report.metrics["steps"] == 4


numbers = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30)


@given(numbers)
def test_rank_auc_is_the_share_of_pairs_in_order(rows: list[tuple[int, bool]]) -> None:
    positives, negatives = [s for s, y in rows if y], [s for s, y in rows if not y]
    found = rank_auc([s for s, _ in rows], [y for _, y in rows])
    if not positives or not negatives:
        assert found is None
    else:
        wins = sum((a > b) + 0.5 * (a == b) for a in positives for b in negatives)
        assert found == pytest.approx(wins / (len(positives) * len(negatives)))


def test_processbench_f1_is_the_harmonic_mean_of_both_exact_accuracies() -> None:
    scored = [pair[0] for pair in ALL]
    found = processbench(scored, [1, 1, -1, -1], threshold=0.5)
    assert (found.error_accuracy, found.correct_accuracy, found.f1) == (0.5, 0.5, 0.5)
    assert (found.threshold, found.threshold_from, found.samples) == (0.5, "given", 4)
    strict = processbench(scored, [1, 1, -1, -1], threshold=0.75)
    assert (strict.error_accuracy, strict.correct_accuracy, strict.f1) == (1.0, 0.0, 0.0)


def test_a_threshold_that_was_tuned_says_so_and_is_no_worse_than_any_given_one() -> None:
    scored = [pair[0] for pair in ALL]
    tuned = processbench(scored, [1, 1, -1, -1])
    assert tuned.threshold_from == "tuned on the same samples"
    assert all(
        tuned.f1 >= processbench(scored, [1, 1, -1, -1], threshold=t / 20).f1 - 1e-12 for t in range(21)
    )


def test_a_threshold_that_was_tuned_on_the_other_half_flatters_nobody() -> None:
    """Scores of pure noise: the best threshold finds more on its own samples than on others."""
    rng = random.Random(0)
    errors = [i % 3 - 1 for i in range(300)]
    scored = [[p(rng.random() / 2) for _ in range(3)] for _ in errors]
    problems = [f"Problem {i}?" for i in range(300)]
    honest = crossed(scored, errors, problems)
    assert honest
    assert honest.f1 < processbench(scored, errors).f1
    assert honest.threshold_from == "tuned on one half for the other"
    assert honest == crossed(scored, errors, problems)
    assert honest.low < honest.f1 < honest.high


def test_halves_that_lack_a_kind_are_not_crossed() -> None:
    assert crossed([[p(0.9)], [p(0.1)]], [0, -1], ["a", "b"]) is None


def test_the_interval_of_f1_narrows_with_more_samples() -> None:
    few, many = (
        processbench([pair[0] for pair in ALL] * n, [1, 1, -1, -1] * n, threshold=0.5) for n in (5, 500)
    )
    assert (few.f1, many.f1) == (0.5, 0.5)
    assert few.low < many.low < 0.5 < many.high < few.high


def test_two_prms_that_miss_the_same_samples_differ_surely_though_their_intervals_touch() -> None:
    hard = [i % 10 < 6 for i in range(400)]  # both miss these
    errors = [0 if i % 4 < 2 else -1 for i in range(400)]

    def scored(misses: Callable[[int], bool]) -> list[list[StepProbs]]:
        return [[p(0.9 if (e == 0) != misses(i) else 0.1)] for i, e in enumerate(errors)]

    good, worse = scored(lambda i: hard[i]), scored(lambda i: hard[i] or i % 40 in (6, 8))
    apart = [processbench(each, errors, threshold=0.5) for each in (good, worse)]
    found = compared(good, worse, errors, thresholds=(0.5, 0.5))
    assert found.f1 == pytest.approx(apart[0].f1 - apart[1].f1)
    assert apart[1].high > apart[0].low
    assert 0 < found.low < found.f1 < found.high
    assert compared(good, good, errors) == (0, 0, 0)
    back = compared(worse, good, errors, thresholds=(0.5, 0.5))
    assert back.f1 == pytest.approx(-found.f1)


def test_a_threshold_is_fitted_where_labels_tell_one() -> None:
    wary = ([p(0.05), p(0.25)], labelled(1, -1)), ([p(0.1), p(0.05)], labelled(1, 1))
    found = fit_threshold([scored for scored, _ in wary], [label for _, label in wary])
    assert found is not None
    assert 0.1 < found < 0.25
    assert fit_threshold([[p(0.1)], Unscorable("long")], [labelled(1), labelled(-1)]) is None


def test_at_its_own_threshold_a_wary_prm_finds_what_half_would_miss() -> None:
    wary = ([p(0.05), p(0.25)], labelled(1, -1)), ([p(0.1), p(0.05)], labelled(1, 1))
    report = evaluate_steps([scored for scored, _ in wary], [label for _, label in wary], threshold=0.2)
    metrics = report.metrics
    assert (metrics["threshold"], metrics["bad_steps"]) == (0.2, 1)
    assert (metrics["balanced_accuracy"], metrics["balanced_accuracy_at_threshold"]) == (0.5, 1.0)
    assert (metrics["first_error_accuracy"], metrics["first_error_accuracy_at_threshold"]) == (0.5, 1.0)
    assert metrics["first_error_f1"] == 1.0
    assert report.tables["confusion"] == [[0, 0, 1], [0, 0, 0], [0, 0, 3]]
    assert report.tables["confusion_at_threshold"] == [[1, 0, 0], [0, 0, 0], [0, 0, 3]]


def test_an_unscorable_sample_counts_as_missed() -> None:
    found = processbench([[p(0.9)], Unscorable("too long"), [p(0.1)]], [0, -1, -1], threshold=0.5)
    assert (found.correct_accuracy, found.unscorable) == (0.5, 1)


def test_processbench_needs_both_kinds_of_sample() -> None:
    with pytest.raises(ValueError, match="both erroneous and correct"):
        processbench([[p(0.9)]], [0])


def test_a_threshold_can_be_tuned_where_all_scores_are_equal() -> None:
    assert tune_threshold([[0.4], [0.4]], [0, -1]) == 0.4


def report(log_likelihood: float | None, steps: int = 500, human: int | None = None) -> Report:
    human_steps = steps if human is None else human
    return Report({"log_likelihood": log_likelihood, "steps": steps, "human_steps": human_steps})


def test_a_better_candidate_may_take_over_and_a_worse_or_equal_one_not() -> None:
    assert decide(report(-0.4), report(-0.5)).better
    assert not decide(report(-0.5), report(-0.4)).better
    assert not decide(report(-0.5), report(-0.5)).better


def test_a_decision_names_the_criterion_the_figures_and_the_number_of_labels() -> None:
    reason = decide(report(-0.4), report(-0.5)).reason
    assert (
        reason
        == "better by held-out mean log-likelihood of human step ratings: -0.4000, serving -0.5000, over 500 steps"
    )


def test_too_few_human_labels_promote_nothing_and_say_how_many_are_needed() -> None:
    decision = decide(report(-0.1, human=MIN_STEPS - 20), report(-9.0, human=MIN_STEPS - 20))
    assert not decision.better
    assert f"{MIN_STEPS} are needed" in decision.reason
    assert "20 more" in decision.reason


def test_without_a_serving_prm_enough_labels_suffice() -> None:
    assert decide(report(-0.4), None).better
    assert not decide(report(-0.4, steps=10), None).better


def test_reports_on_different_labels_are_not_compared() -> None:
    with pytest.raises(ValueError, match="judge different labels"):
        decide(report(-0.4, steps=500), report(-0.5, steps=400))
