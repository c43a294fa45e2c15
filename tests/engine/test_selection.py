"""The selection rule: quotas, arms, the order they hand over in, and propensities that are true."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prm_backend.config import SelectionConfig
from prm_backend.selection.choose import UNINFORMED, choose, propensities
from prm_backend.types import Arm, Outcome, SelectionCandidate

CORRECT, WRONG, UNDECIDED = Outcome.CORRECT, Outcome.WRONG, Outcome.UNDECIDED
RULE_ONLY = SelectionConfig(quota=3, control_share=0.0, wrong_share=0.8)


def pool(*outcomes: Outcome) -> list[SelectionCandidate]:
    """Candidates 1, 2, … with falling scores."""
    return [SelectionCandidate(i, -float(i), outcome) for i, outcome in enumerate(outcomes, start=1)]


MIXED = pool(CORRECT, WRONG, UNDECIDED, WRONG, CORRECT, WRONG, WRONG, UNDECIDED)

pools = st.lists(st.tuples(st.floats(-50, 0), st.sampled_from(list(Outcome))), min_size=0, max_size=9).map(
    lambda rows: [SelectionCandidate(i, score, outcome) for i, (score, outcome) in enumerate(rows)]
)
configs = st.builds(
    SelectionConfig, quota=st.integers(1, 5), control_share=st.floats(0, 1), wrong_share=st.floats(0, 1)
)


@given(pools, configs, st.floats(0, 1), st.integers())
def test_the_quota_is_filled_without_repeats_and_never_exceeded(candidates, config, uniform, seed) -> None:
    chosen = choose(candidates, config=config, uniform_share=uniform, seed=seed)
    assert len({c.id for c in chosen}) == len(chosen) == min(config.quota, len(candidates))


@given(pools, configs, st.floats(0, 1), st.integers())
def test_only_a_wrong_answer_is_ever_called_convincing_wrong(candidates, config, uniform, seed) -> None:
    outcome = {c.id: c.outcome for c in candidates}
    for choice in choose(candidates, config=config, uniform_share=uniform, seed=seed):
        assert choice.arm != Arm.CONVINCING_WRONG or outcome[choice.id] == WRONG


@given(pools, configs, st.floats(0, 1))
def test_propensities_are_probabilities_that_sum_to_the_number_chosen(candidates, config, uniform) -> None:
    found = propensities(candidates, config=config, uniform_share=uniform)
    assert all(-1e-12 <= p <= 1 for p in found.values())
    assert sum(found.values()) == pytest.approx(min(config.quota, len(candidates)))


@given(pools, configs, st.floats(0, 1), st.integers())
@settings(max_examples=50)
def test_whatever_is_chosen_had_the_propensity_it_carries(candidates, config, uniform, seed) -> None:
    expected = propensities(candidates, config=config, uniform_share=uniform)
    for choice in choose(candidates, config=config, uniform_share=uniform, seed=seed):
        assert choice.propensity == expected[choice.id] > 0


@pytest.mark.parametrize("uniform_share", [0.0, 0.5])
@pytest.mark.parametrize(
    "candidates", [MIXED, pool(WRONG, CORRECT, CORRECT, CORRECT, UNDECIDED), pool(*[CORRECT] * 4)]
)
def test_propensities_are_the_frequencies_over_seeds(candidates, uniform_share: float) -> None:
    config, draws = SelectionConfig(quota=3, control_share=0.2), 2000
    seen = Counter(
        choice.id
        for seed in range(draws)
        for choice in choose(candidates, config=config, uniform_share=uniform_share, seed=seed)
    )
    for id, p in propensities(candidates, config=config, uniform_share=uniform_share).items():
        deviation = (p * (1 - p) / draws) ** 0.5
        assert abs(seen[id] / draws - p) <= 5 * deviation + 1e-9


def test_the_rule_takes_the_wrong_answers_that_score_highest() -> None:
    config = SelectionConfig(quota=3, control_share=0.0, wrong_share=1.0)
    chosen = choose(MIXED, config=config, seed=0)
    assert [(c.id, c.arm, c.rank) for c in chosen] == [
        (2, Arm.CONVINCING_WRONG, 1),
        (4, Arm.CONVINCING_WRONG, 2),
        (6, Arm.CONVINCING_WRONG, 3),
    ]


def test_the_rest_is_the_highest_score_among_all_that_remain_wrong_or_not() -> None:
    config = SelectionConfig(quota=3, control_share=0.0, wrong_share=0.0)
    chosen = choose(MIXED, config=config, seed=0)
    assert [(c.id, c.arm) for c in chosen] == [(i, Arm.CONVINCING_REST) for i in (1, 2, 3)]


def test_slots_without_a_wrong_answer_go_to_the_rest() -> None:
    config = SelectionConfig(quota=3, control_share=0.0, wrong_share=1.0)
    chosen = choose(pool(CORRECT, UNDECIDED, CORRECT, WRONG), config=config, seed=0)
    assert [(c.id, c.arm) for c in chosen] == [
        (4, Arm.CONVINCING_WRONG),
        (1, Arm.CONVINCING_REST),
        (2, Arm.CONVINCING_REST),
    ]


def test_eighty_percent_of_the_rule_goes_to_convincing_wrong_answers() -> None:
    arms = Counter(
        choice.arm for seed in range(2000) for choice in choose(MIXED, config=RULE_ONLY, seed=seed)
    )
    assert arms[Arm.CONVINCING_WRONG] / arms.total() == pytest.approx(0.8, abs=0.02)
    assert arms[Arm.CONTROL] == 0


def test_while_no_human_label_is_known_half_is_uniform_and_says_so() -> None:
    chosen = [
        choice
        for seed in range(2000)
        for choice in choose(MIXED, config=SelectionConfig(quota=3), uniform_share=0.5, seed=seed)
    ]
    uniform = [c for c in chosen if c.arm == Arm.CONTROL]
    assert len(uniform) / len(chosen) == pytest.approx(0.5, abs=0.03)
    assert {c.strategy for c in uniform} == {UNINFORMED}


def test_the_control_items_are_a_uniform_sample_whatever_the_scores() -> None:
    control = Counter(
        choice.id
        for seed in range(3000)
        for choice in choose(MIXED, config=SelectionConfig(quota=3, control_share=0.5), seed=seed)
        if choice.arm == Arm.CONTROL
    )
    expected = control.total() / len(MIXED)
    assert all(count == pytest.approx(expected, rel=0.15) for count in control.values())


@given(pools, configs, st.integers(), st.randoms())
def test_a_seed_chooses_the_same_whatever_the_order_of_the_candidates(
    candidates, config, seed, random
) -> None:
    shuffled = random.sample(candidates, len(candidates))
    assert choose(candidates, config=config, seed=seed) == choose(shuffled, config=config, seed=seed)


def test_ties_go_to_the_lower_id() -> None:
    tied = [SelectionCandidate(i, -1.0, WRONG) for i in (5, 3, 9)]
    config = SelectionConfig(quota=2, control_share=0.0, wrong_share=1.0)
    assert [c.id for c in choose(tied, config=config, seed=0)] == [3, 5]


def test_nothing_to_choose_from_chooses_nothing() -> None:
    assert choose([], config=SelectionConfig(), seed=0) == []


def test_repeated_ids_and_scores_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="an id is there twice"):
        choose([MIXED[0], MIXED[0]], config=SelectionConfig(), seed=0)
    with pytest.raises(ValueError, match="NaN"):
        choose([SelectionCandidate(1, float("nan"), WRONG)], config=SelectionConfig(), seed=0)
    with pytest.raises(ValueError, match="uniform_share"):
        choose(MIXED, config=SelectionConfig(), uniform_share=1.5, seed=0)
