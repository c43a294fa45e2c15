"""Labelled solutions become tokens, positions and targets. Knows which labels count, no model.

Supervised are the steps up to and including the first error (Lightman et al., section 2.6): what follows a wrong
step was never rated. An alternative step is supervised behind its own prefix, which is context.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from prm_backend.text.encoding import Encoded
from prm_backend.types import LabelledSolution, Unscorable

Encode = Callable[[str, Sequence[str]], Encoded | Unscorable]


@dataclass(frozen=True)
class Example:
    """A solution cut after its last supervised step. `targets[i]` is an index into (-1, 0, +1).

    It belongs to `encoded.label_positions[i]`, step i, or where the solution has context the i-th after that.
    """

    encoded: Encoded
    targets: tuple[int, ...]
    weight: float
    solution: LabelledSolution

    @property
    def judged(self) -> LabelledSolution:
        """The solution as this example's scores are judged: what stands before its supervised steps is context."""
        return replace(self.solution, context=self.solution.supervised_steps - len(self.targets))


@dataclass(frozen=True)
class Dataset:
    """Examples, and the solutions no label of which can be used, with the reason."""

    examples: tuple[Example, ...]
    unusable: tuple[tuple[LabelledSolution, str], ...]

    @property
    def labels(self) -> int:
        return sum(len(example.targets) for example in self.examples)


class TrainingRefused(ValueError):
    """The labels cannot be trained on; the message says why and how to mend it."""


def make_dataset(
    solutions: Sequence[LabelledSolution], encode: Encode, *, supervise: str = "steps"
) -> Dataset:
    """Encode the supervised part of each solution. The causal model sees nothing of what is cut off behind it.

    With `supervise` "answer", an outcome model's data (Lightman et al., section 2.5): whole solutions, read at their
    last token alone, where a grade is the rating.
    """
    examples, unusable = [], []
    for solution in solutions:
        steps = solution.supervised_steps
        first = solution.context if supervise == "steps" else len(solution.steps) - 1
        if steps <= first:
            unusable.append((solution, f"its step {first + 1} is not rated"))
            continue
        encoded = encode(solution.problem, solution.steps[:steps])
        if isinstance(encoded, Unscorable):
            unusable.append((solution, encoded.reason))
            continue
        encoded = replace(encoded, label_positions=encoded.label_positions[first:])
        targets = tuple(rating + 1 for rating in solution.ratings[first:steps] if rating is not None)
        examples.append(Example(encoded, targets, solution.weight, solution))
    return Dataset(tuple(examples), tuple(unusable))


def set_aside(
    examples: Sequence[Example], share: float, *, at_least: int
) -> tuple[list[Example], list[Example]]:
    """The examples that train, and those of `share` of the problems, which tune: whole solutions alone.

    A hash of its text decides for each problem, so it stays on its side as labels come in. Where fewer than `at_least`
    labels could tune, or nothing would be left that trains, all examples train.
    """
    aside = [tunes(example.solution.problem, share) for example in examples]
    tuning = [e for e, apart in zip(examples, aside, strict=True) if apart and not e.solution.context]
    learnt = [e for e, apart in zip(examples, aside, strict=True) if not apart]
    if not learnt or sum(len(example.targets) for example in tuning) < at_least:
        return list(examples), []
    return learnt, tuning


def tunes(problem: str, share: float) -> bool:
    """Whether a problem is among the `share` set aside; unrelated to what other hashes of its text decide."""
    digest = hashlib.sha256(b"tuning " + problem.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < share


def require_usable(dataset: Dataset, max_unusable_share: float) -> None:
    """TrainingRefused where nothing is left to train on, or more than that share of the solutions is unusable."""
    n = len(dataset.examples) + len(dataset.unusable)
    reasons = "; ".join(f"{s.id or s.problem[:40]!r}: {why}" for s, why in dataset.unusable[:3])
    if not dataset.examples:
        raise TrainingRefused(
            f"none of {n} solutions has a label that can be used ({reasons or 'there are none'})"
        )
    if len(dataset.unusable) > max_unusable_share * n:
        raise TrainingRefused(
            f"{len(dataset.unusable)} of {n} solutions have no label that can be used, more than "
            f"{max_unusable_share:.0%} ({reasons}): raise max_length, or max_unusable_share to train without them"
        )
