"""What several labels of one solution say together. Only weighs them; every label is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def settle(first_errors: Sequence[int], decisions: Sequence[bool]) -> list[float]:
    """The weight of each label of one solution, together 1; 0 for those outvoted.

    `first_errors[i]` is the 0-based first error as label i has it, -1 for none; `decisions[i]` says whether it is a
    decision between the others. A decision stands alone (the latest, of several); else more than half of the labels
    that name the same first error; else each counts with an equal part. Raises ValueError where the lengths differ.
    """
    if len(first_errors) != len(decisions):
        raise ValueError(f"{len(first_errors)} first errors but {len(decisions)} marks of a decision")
    if any(decisions):
        latest = max(i for i, decision in enumerate(decisions) if decision)
        return [float(i == latest) for i in range(len(decisions))]
    counted = Counter(first_errors).most_common(1)
    if counted and counted[0][1] * 2 > len(first_errors):
        winner, votes = counted[0]
        return [1 / votes if first == winner else 0.0 for first in first_errors]
    return [1 / len(first_errors) for _ in first_errors]
