"""What a grader can't know but somebody must decide: does a rounded value count, a percentage for its share …?"""

from __future__ import annotations

from dataclasses import dataclass, fields

from prm_backend.types import Outcome


@dataclass(frozen=True)
class GradingPolicy:
    """What each case of a policy is: correct, wrong or undecided. The defaults decide what few dispute.

    Both ways round count alike, but for `unreduced`, where the gold answer says whether reducing was asked for.
    """

    rounded: Outcome = Outcome.UNDECIDED  # 0.333 for 1/3, 3.14 for π (three digits or more)
    percent_as_share: Outcome = Outcome.UNDECIDED  # 10 % for 0.1
    percent_dropped: Outcome = Outcome.CORRECT  # 10 for 10 %
    unreduced: Outcome = Outcome.CORRECT  # 2/4 for 1/2
    unit_converted: Outcome = Outcome.CORRECT  # 100 cm for 1 m
    unit_dropped: Outcome = Outcome.CORRECT  # 12 for 12 cm
    unit_guessed: Outcome = Outcome.UNDECIDED  # 50 cents for 0.5, 5 million for 5
    other_base: Outcome = Outcome.UNDECIDED  # 101 in base 2 for 5
    other_brackets: Outcome = Outcome.UNDECIDED  # (1, 2) for 1, 2
    scaled_ratio: Outcome = Outcome.UNDECIDED  # 1:2 for 2:4

    @classmethod
    def parse(cls, text: str) -> GradingPolicy:
        """Read "rounded=correct, unreduced=wrong": what is not named keeps its default. Raises ValueError."""
        known = {field.name for field in fields(cls)}
        chosen: dict[str, Outcome] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            case, _, outcome = (side.strip() for side in part.partition("="))
            if case not in known:
                raise ValueError(f"{case!r} is no case of the policy; there are {', '.join(sorted(known))}")
            if outcome not in set(Outcome):
                raise ValueError(f"{part!r} must say {', '.join(Outcome)}")
            chosen[case] = Outcome(outcome)
        return cls(**chosen)


DEFAULT_POLICY = GradingPolicy()
