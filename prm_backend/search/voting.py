"""Majority voting: the answer that most solutions agree on, each with one voice or with a PRM's weight.

Wang et al., "Self-Consistency Improves Chain of Thought Reasoning" (arXiv 2203.11171); weighted as in Li et al.,
"Making Language Models Better Reasoners with Step-Aware Verifier" (arXiv 2206.02336).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prm_backend.grading.normalise import normaliser_opinion
from prm_backend.types import Outcome


@dataclass(frozen=True)
class Vote:
    """The winning `answer` as it was first written, the `voters` (indices) behind it, and their share of all weight."""

    answer: str
    voters: tuple[int, ...]
    share: float


def same_answer(one: str, other: str) -> bool:
    """Whether two answers are the same to the conservative normaliser; what it leaves undecided is not.

    >>> same_answer("0.5", r"\\frac{1}{2}"), same_answer("12", "1,200")
    (True, False)
    """
    return one == other or normaliser_opinion(one, other)[0].outcome == Outcome.CORRECT


def majority_vote(
    answers: Sequence[str | None],
    *,
    weights: Sequence[float] | None = None,
    same: Callable[[str, str], bool] = same_answer,
) -> Vote | None:
    """The answer with the most weight (one each, unless given); of equals the one that came first.

    None is no answer and has no voice; where nobody has one, the vote is None. ValueError for a negative weight.

    >>> majority_vote(["4", None, "5", "4.0", "5", "4"])
    Vote(answer='4', voters=(0, 3, 5), share=0.6)
    """
    weights = [1.0] * len(answers) if weights is None else weights
    if len(weights) != len(answers) or any(not weight >= 0 for weight in weights):
        raise ValueError(f"{len(answers)} answers need as many weights of 0 or more")
    groups: list[list[int]] = []
    group_of: dict[str, list[int]] = {}
    for index, answer in enumerate(answers):
        if answer is None:
            continue
        if answer not in group_of:
            for group in groups:
                if same(str(answers[group[0]]), answer):
                    group_of[answer] = group
                    break
            else:
                groups.append([])
                group_of[answer] = groups[-1]
        group_of[answer].append(index)
    if not groups:
        return None
    won = max(groups, key=lambda group: sum(weights[i] for i in group))
    total = sum(weights[i] for group in groups for i in group)
    share = sum(weights[i] for i in won) / total if total else 0.0
    return Vote(str(answers[won[0]]), tuple(won), share)
