"""Which of one problem's solutions go to people, and with what probability. Sees scores and outcomes, no texts.

The rule is that of Lightman et al., "Let's Verify Step by Step", section 4: 80 % the most convincing wrong answers,
20 % the most convincing of the rest; beside it a control share, uniform over the problem's distinct solutions.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from prm_backend.config import SelectionConfig
from prm_backend.types import Arm, Choice, Outcome, SelectionCandidate

CONVINCING_WRONG = "wrong answers, highest score first"
CONVINCING_REST = "all that remain, highest score first"
CONTROL = "uniform (control)"
UNINFORMED = "uniform (no human labels yet)"

_ARMS = (Arm.CONTROL, Arm.CONVINCING_WRONG, Arm.CONVINCING_REST)


def choose(
    candidates: Sequence[SelectionCandidate],
    *,
    config: SelectionConfig,
    uniform_share: float = 0.0,
    seed: int | str,
) -> list[Choice]:
    """Choose up to `config.quota` of one problem's distinct, unlabelled solutions; the same seed chooses the same.

    1. Each of the quota's slots draws its arm: CONTROL with probability u = max(`control_share`, `uniform_share`),
       else CONVINCING_WRONG with probability `wrong_share`, else CONVINCING_REST. `uniform_share` is 0.5 while the
       scoring PRM knows no human label, and 0 later.
    2. CONTROL draws its slots uniformly without replacement over *all* candidates, so whatever the rule does, the
       control items are a simple random sample of the problem's solutions.
    3. CONVINCING_WRONG takes the wrong answers with the highest score among those left. Undecided is not wrong.
    4. CONVINCING_REST takes the highest scores among all that are left, and the slots that 3 could not fill.

    So arms run dry in that order, and fewer than `quota` are chosen only where there are fewer candidates. Ties go
    to the lower id. `Choice.propensity` is exact: the probability over steps 1 and 2 that a seed would choose this
    candidate in any arm, whichever arm did. ValueError on repeated ids, scores that are NaN, a share outside [0, 1].
    """
    if not 0 <= uniform_share <= 1:
        raise ValueError(f"uniform_share must lie in [0, 1], got {uniform_share}")
    if len({c.id for c in candidates}) != len(candidates):
        raise ValueError("candidates must be distinct: an id is there twice")
    if any(math.isnan(c.score) for c in candidates):
        raise ValueError("a candidate's score is NaN")

    by_score = sorted(candidates, key=lambda c: (-c.score, c.id))
    wrong = [c for c in by_score if c.outcome == Outcome.WRONG]
    slots = min(config.quota, len(candidates))
    shares = _arm_shares(config, uniform_share)

    rng = random.Random(seed)
    drawn = Counter(rng.choices(_ARMS, weights=shares, k=slots))
    by_id = sorted(candidates, key=lambda c: c.id)  # a seed means the same whatever order the caller has
    picked: dict[int, tuple[Arm, str, int]] = {}

    uniform_name = UNINFORMED if uniform_share > config.control_share else CONTROL
    for rank, candidate in enumerate(rng.sample(by_id, drawn[Arm.CONTROL]), start=1):
        picked[candidate.id] = (Arm.CONTROL, uniform_name, rank)
    for arm, strategy, order, upto in (
        (Arm.CONVINCING_WRONG, CONVINCING_WRONG, wrong, slots - drawn[Arm.CONVINCING_REST]),
        (Arm.CONVINCING_REST, CONVINCING_REST, by_score, slots),
    ):
        for rank, candidate in enumerate(order, start=1):
            if len(picked) < upto and candidate.id not in picked:
                picked[candidate.id] = (arm, strategy, rank)

    places = {c.id: _place(by_score, i) for i, c in enumerate(by_score) if c.id in picked}
    scores = {c.id: c.score for c in candidates}
    return [
        Choice(id, arm, strategy, rank, scores[id], _propensity(places[id], slots, shares))
        for id, (arm, strategy, rank) in picked.items()
    ]


def propensities(
    candidates: Sequence[SelectionCandidate], *, config: SelectionConfig, uniform_share: float = 0.0
) -> dict[int, float]:
    """The probability of each candidate, chosen or not, of being chosen by `choose`; they sum to the number chosen."""
    by_score = sorted(candidates, key=lambda c: (-c.score, c.id))
    slots = min(config.quota, len(candidates))
    shares = _arm_shares(config, uniform_share)
    return {c.id: _propensity(_place(by_score, i), slots, shares) for i, c in enumerate(by_score)}


def _arm_shares(config: SelectionConfig, uniform_share: float) -> tuple[float, float, float]:
    """The probability that a slot goes to each of `_ARMS`."""
    uniform = max(config.control_share, uniform_share)
    wrong = (1 - uniform) * config.wrong_share
    return uniform, wrong, max(0.0, 1 - uniform - wrong)


@dataclass(frozen=True)
class _Place:
    """Where a candidate stands among the others: how many wrong and how many other answers above and below it."""

    is_wrong: bool
    wrong_above: int
    other_above: int
    wrong_below: int
    other_below: int

    @property
    def groups(self) -> tuple[int, int, int, int]:
        return self.wrong_above, self.other_above, self.wrong_below, self.other_below


def _place(by_score: Sequence[SelectionCandidate], index: int) -> _Place:
    is_wrong = [c.outcome == Outcome.WRONG for c in by_score]
    above, below = is_wrong[:index], is_wrong[index + 1 :]
    return _Place(is_wrong[index], sum(above), above.count(False), sum(below), below.count(False))


def _propensity(place: _Place, slots: int, shares: tuple[float, ...]) -> float:
    """Sum over the arms' multinomial counts, and over which others the control draw takes (hypergeometric)."""
    total = sum(place.groups) + 1
    probability = 0.0
    for control in range(slots + 1):
        by_control = control / total
        for wrong in range(slots - control + 1):
            rest = slots - control - wrong
            weight = _multinomial((control, wrong, rest), shares)
            if weight:
                by_rule = _mean_over_draws(
                    place.groups, control, partial(_rule_takes, place.is_wrong, (wrong, rest))
                )
                probability += weight * (by_control + (1 - by_control) * by_rule)
    return min(probability, 1.0)


def _rule_takes(is_wrong: bool, slots: tuple[int, int], left: tuple[int, ...]) -> bool:
    """Whether the rule reaches a candidate that the control draw left, with `left` of each group beside it."""
    wrong_slots, rest_slots = slots
    wrong_above, other_above, wrong_below, _ = left
    if is_wrong and wrong_above < wrong_slots:
        return True
    wrong_taken = min(wrong_slots, wrong_above if is_wrong else wrong_above + wrong_below)
    handed_over = 0 if is_wrong else wrong_slots - wrong_taken
    still_above = max(wrong_above - wrong_taken, 0) + other_above
    return still_above < rest_slots + handed_over


def _mean_over_draws(groups: tuple[int, ...], drawn: int, takes: Callable[[tuple[int, ...]], bool]) -> float:
    """P(takes(what is left of the groups)) when `drawn` of their members are taken uniformly without replacement."""
    ways = math.comb(sum(groups), drawn)
    if ways == 0:  # every other candidate and this one too would be drawn; the caller weighs this with 0
        return 0.0
    hits = 0
    for taken in _splits(groups, drawn):
        if takes(tuple(g - t for g, t in zip(groups, taken, strict=True))):
            hits += math.prod(math.comb(g, t) for g, t in zip(groups, taken, strict=True))
    return hits / ways


def _splits(groups: tuple[int, ...], total: int) -> Iterator[tuple[int, ...]]:
    """Every way of taking `total` members from the groups, as counts for each group."""
    if len(groups) == 1:
        if total <= groups[0]:
            yield (total,)
        return
    for first in range(min(groups[0], total) + 1):
        for others in _splits(groups[1:], total - first):
            yield (first, *others)


def _multinomial(counts: tuple[int, ...], shares: tuple[float, ...]) -> float:
    ways, left = 1, sum(counts)
    for count in counts:
        ways *= math.comb(left, count)
        left -= count
    return ways * math.prod(share**count for share, count in zip(shares, counts, strict=True))
