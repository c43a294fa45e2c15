"""The nouns that cross the engine's border: frozen dataclasses and Protocols, no behaviour beyond their own truth.

Knows neither rows nor tensors, so a web process, a notebook and a test can all import it for free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple, Protocol


class Rating(IntEnum):
    """A person's judgement of one step (PRM800K, labellers' instructions)."""

    BAD = -1
    OKAY = 0
    GREAT = 1


def first_error(ratings: Iterable[int | None]) -> int:
    """0-based index of the first rating of -1; -1 where there is none (ProcessBench's convention)."""
    return next((i for i, rating in enumerate(ratings) if rating == Rating.BAD), -1)


class Outcome(StrEnum):
    """What a grader says of a final answer. Undecided is a verdict of its own, never a kind of wrong."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNDECIDED = "undecided"


class FinishReason(StrEnum):
    """Why a labelling ended (PRM800K record, `label.finish_reason`)."""

    FOUND_ERROR = "found_error"
    SOLUTION = "solution"
    GIVE_UP = "give_up"
    BAD_PROBLEM = "bad_problem"


class Arm(StrEnum):
    """Which part of the selection rule chose a solution (Lightman et al., "Let's Verify Step by Step", section 4)."""

    CONVINCING_WRONG = "convincing_wrong"  # wrong answers, highest solution score first
    CONVINCING_REST = "convincing_rest"  # the highest scores among all that remain
    CONTROL = "control"  # uniform over distinct solutions


# How a text is cut into steps unless somebody says otherwise: prm_backend.text.segmentation.
NEWLINE = "newline-1"


class StepProbs(NamedTuple):
    """The PRM's probabilities for one step; they sum to 1."""

    bad: float
    okay: float
    great: float


@dataclass(frozen=True)
class Sampling:
    """How solutions are drawn; recorded whole on every Round."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_new_tokens: int = 220
    prompt_template: str = "{problem}\n"
    segmentation: str = NEWLINE  # how what was drawn is cut into steps

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ValueError(f"temperature must be 0 or more, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie in (0, 1], got {self.top_p}")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be 1 or more, got {self.max_new_tokens}")
        if "{problem}" not in self.prompt_template:
            raise ValueError("prompt_template must contain {problem}")

    def prompt(self, problem: str) -> str:
        """The template with the problem in it; other braces (LaTeX has many) stay as they are."""
        return self.prompt_template.replace("{problem}", problem)


@dataclass(frozen=True)
class Sample:
    """One sampled solution. `answer` is None when it reached none; such samples are kept and marked.

    `log_prob` is that of its text under the model that wrote it; None where that was not told.
    """

    text: str
    steps: tuple[str, ...]
    answer: str | None
    truncated: bool  # ran into max_new_tokens
    n_tokens: int
    log_prob: float | None = None


class Generator(Protocol):
    """Anything that writes solutions."""

    name: str

    def sample(
        self,
        problems: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = ...,
    ) -> list[list[Sample]]:
        """Draw `n` solutions for each problem; shape [problem][n]. The same seed draws the same samples.

        ValueError where a problem can't be sampled at all, such as one longer than the context.
        """
        ...

    def next_steps(
        self,
        problem: str,
        steps: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = ...,
    ) -> list[str]:
        """Up to `n` steps that could follow `steps`: distinct, each a whole line, the last with its `# Answer` block.

        Fewer where the model says the same again and again. ValueError as with `sample`.
        """
        ...


@dataclass(frozen=True)
class GraderOpinion:
    """What one grader said, and why."""

    grader: str
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class Verdict:
    """The outcome of comparing one answer with the gold one. `milliseconds` is wall time."""

    outcome: Outcome
    reason: str = ""
    opinions: tuple[GraderOpinion, ...] = ()
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Unscorable:
    """A solution a PRM refuses to score, with the reason (longer than the context, no steps …)."""

    reason: str


@dataclass(frozen=True)
class SolutionScores:
    """Aggregates of a solution's step scores s = p(great) + p(okay); all in [0, 1], log_product <= 0.

    The default score is the product (Lightman et al., section 2.6); kept as a log-sum, so long solutions stay apart.
    """

    log_product: float
    product: float
    minimum: float
    mean: float
    last: float


class StepScorer(Protocol):
    """Anything that scores every step of a solution: our PRM, a published one, a remote one."""

    name: str

    def score(
        self,
        problems: Sequence[str],
        solutions: Sequence[Sequence[str]],
        *,
        segmentation: str = NEWLINE,
    ) -> list[list[StepProbs] | Unscorable]:
        """Score `solutions[i]` (its steps) for `problems[i]`: one StepProbs a step, or why not.

        `segmentation` names how the steps were cut. ValueError from a PRM that was trained on others; one that does
        not say how, as published ones don't, takes them all.
        """
        ...


@dataclass(frozen=True)
class LabelledSolution:
    """A solution with step ratings, as training and evaluation read it.

    `ratings[i]` belongs to `steps[i]`; None is unlabelled (as are all steps after the first error).
    `outcome_only` marks ratings copied from the final answer's grade rather than given by a person. The first
    `context` steps only lead up to what is rated: nothing is learnt from them here. `beyond_error`: ratings after the
    first error count, too. `groups` are pairs of a kind and a name, ("subject", "Algebra"), that an evaluation is also
    told by; they mean nothing here.
    """

    problem: str
    steps: tuple[str, ...]
    ratings: tuple[int | None, ...]
    outcome_only: bool = False
    weight: float = 1.0
    id: str = ""
    context: int = 0
    beyond_error: bool = False
    groups: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if len(self.ratings) != len(self.steps):
            raise ValueError(f"{len(self.steps)} steps but {len(self.ratings)} ratings (id {self.id!r})")
        if not 0 <= self.weight < math.inf:  # nor is a NaN
            raise ValueError(f"weight must be finite and 0 or more, got {self.weight} (id {self.id!r})")

    @property
    def first_error(self) -> int:
        return first_error(self.ratings)

    @property
    def supervised_steps(self) -> int:
        """How many leading steps a PRM learns from and is judged by: to the first -1, or before the first None.

        Ratings copied from the final answer's grade say the same of every step, so there all count.
        """
        for i, rating in enumerate(self.ratings):
            if rating is None:
                return i
            if rating == Rating.BAD and not (self.outcome_only or self.beyond_error):
                return i + 1
        return len(self.ratings)


@dataclass(frozen=True)
class SelectionCandidate:
    """A scored, distinct solution of one problem, up for a person's time. Higher `score` is more convincing."""

    id: int
    score: float
    outcome: Outcome


@dataclass(frozen=True)
class Choice:
    """Why a solution was chosen; written whole onto its queue item.

    `rank` is 1-based within the arm's own order; `propensity` is the probability in (0, 1] that this problem's
    draw would have chosen the solution, needed to correct estimates for the way items were picked.
    """

    id: int
    arm: Arm
    strategy: str
    rank: int
    score: float
    propensity: float


@dataclass(frozen=True)
class Progress:
    """Where long work stands. `done` of `total` units; `message` says what it is doing, for people."""

    done: int
    total: int
    message: str = ""


class Cancelled(Exception):
    """Raised by a progress callback to stop long work; the engine lets it through untouched."""


ProgressCallback = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """A progress callback for callers who do not watch."""


EVEN = 0.5  # the p(bad) above which a step is called wrong by a PRM that has no threshold of its own


def threshold_or_even(tuned: float | None) -> float:
    """The p(bad) above which a PRM calls a step wrong: the one its report tells, or an even chance."""
    return EVEN if tuned is None else tuned


@dataclass(frozen=True)
class Report:
    """What an evaluation found. `metrics` is flat and JSON-ready; figures without data are None, never 0.

    `tables` holds what only a picture can show, as rows of numbers; who makes one says what its columns are. `slices`
    has, by what was sliced ("length", a kind of group), a row of figures for each part, with its `name`.
    """

    metrics: dict[str, float | int | None]
    curve: tuple[dict[str, float], ...] = ()
    notes: tuple[str, ...] = field(default=())
    tables: dict[str, list[list[float]]] = field(default_factory=dict)
    slices: dict[str, list[dict[str, float | int | str | None]]] = field(default_factory=dict)
