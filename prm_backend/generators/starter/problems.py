"""Procedural problems with worked solutions, from our own templates, in any number and the same for the same seed.

Knows no model: training, the sample problems of a first run and the evaluation all draw from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from prm_backend.generators.starter import everyday, school
from prm_backend.generators.starter.draft import Draft

SHARDS = 8  # texts are dealt to this many shards by their hash; a seed draws from shard `seed % SHARDS`

TRAINING_SEED, SAMPLE_SEED, HELD_OUT_SEED = 0, 1, 2

KINDS: dict[str, Callable[[Random], Draft]] = {
    "shopping": everyday.shopping,
    "change": everyday.change,
    "sharing": everyday.sharing,
    "ages": everyday.ages,
    "saving": everyday.saving,
    "travel": everyday.travel,
    "reading": everyday.reading,
    "farm": everyday.farm,
    "time": everyday.time,
    "discount": school.discount,
    "percentage": school.percentage,
    "fraction": school.fraction,
    "ratio": school.ratio,
    "average": school.average,
    "rectangle": school.rectangle,
    "angles": school.angles,
    "equation": school.equation,
    "substitution": school.substitution,
    "sequence": school.sequence,
    "number": school.number,
}


@dataclass(frozen=True)
class StarterProblem:
    """A problem, its worked solution (the last step ends in the `# Answer` block), and the answer alone."""

    problem: str
    solution_steps: tuple[str, ...]
    answer: str
    kind: str


def make_problems(n: int, seed: int) -> list[StarterProblem]:
    """`n` distinct problems, the kinds in equal shares and mixed order; the same seed gives the same list.

    Seeds that differ modulo `SHARDS` never share a problem text, whatever `n`: the text's hash decides which
    seeds may use it. Raises ValueError when `n` asks for more than the templates have.
    """
    rng = Random(f"starter/{seed}")
    streams = {kind: _distinct(kind, rng, seed % SHARDS) for kind in KINDS}
    kinds = list(KINDS)
    problems: list[StarterProblem] = []
    while len(problems) < n:
        rng.shuffle(kinds)
        problems += [next(streams[kind]) for kind in kinds[: n - len(problems)]]
    return problems


def _distinct(kind: str, rng: Random, shard: int) -> Iterator[StarterProblem]:
    seen: set[str] = set()
    misses = 0
    while misses < 20_000:
        draft = KINDS[kind](rng)
        misses += 1
        if draft.problem in seen or _shard(draft.problem) != shard:
            continue
        seen.add(draft.problem)
        misses = 0
        *steps, last = draft.steps
        answer = str(draft.answer)
        yield StarterProblem(draft.problem, (*steps, f"{last}\n\n# Answer\n\n{answer}"), answer, kind)
    raise ValueError(f"the templates have only {len(seen)} problems of kind {kind!r} for this seed")


def _shard(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % SHARDS
