"""May a newly trained PRM take over? A pure comparison of two reports; promotes nothing itself."""

from __future__ import annotations

from dataclasses import dataclass

from prm_backend.types import Report

CRITERION = "held-out mean log-likelihood of human step ratings"
MIN_STEPS = 100


@dataclass(frozen=True)
class Decision:
    """Whether the candidate is better by the criterion, and the sentence a manager reads."""

    better: bool
    reason: str


def decide(candidate: Report, serving: Report | None) -> Decision:
    """Compare two PRMs by `CRITERION`; both reports must come from the same held-out labels.

    The log-likelihood uses all three probabilities of every step and needs no threshold; a PRM that is confidently
    wrong pays for it, so it is hard to game by being lucky with few labels or by guessing the commoner rating.
    With fewer than `MIN_STEPS` human-rated steps nothing is promoted automatically. ValueError where the reports
    judge different labels.
    """
    steps = candidate.metrics.get("human_steps") or 0
    if steps < MIN_STEPS:
        return Decision(
            False,
            f"held-out labels cover {steps} human-rated steps and {MIN_STEPS} are needed to compare: "
            f"{MIN_STEPS - steps} more, or a manager's decision",
        )
    if serving is None:
        return Decision(True, "no PRM serves yet")
    for key in ("steps", "human_steps"):
        if candidate.metrics[key] != serving.metrics[key]:
            raise ValueError(
                f"the reports judge different labels: {candidate.metrics[key]} {key} and {serving.metrics[key]}; "
                "evaluate the serving PRM again on today's held-out labels"
            )
    new, old = candidate.metrics["log_likelihood"], serving.metrics["log_likelihood"]
    if new is None or old is None:
        return Decision(False, "a report has no log-likelihood")
    figures = f"{CRITERION}: {new:.4f}, serving {old:.4f}, over {steps} steps"
    return Decision(new > old, f"{'better' if new > old else 'not better'} by {figures}")
