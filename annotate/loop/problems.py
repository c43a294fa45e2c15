"""The import stage: rows that a reader took out of a file become Problems, each text once. Opens no files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from django.db import transaction

from annotate.models import Problem, Turn
from prm_backend.text.gold import write_tests
from prm_backend.text.problems import ProblemRow
from prm_backend.text.rows import Refused
from prm_backend.text.steps import is_storable, text_hash
from prm_backend.types import Progress, ProgressCallback, silent

BATCH = 1000
_LONGEST = {field.name: field.max_length for field in Problem._meta.fields if field.max_length}
_HIGHEST_LEVEL = 32767  # PositiveSmallIntegerField


@dataclass(frozen=True)
class ImportSummary:
    """What became of a file's rows: `added` are new, `known` were there already (or came twice).

    `refused` are the first of the `n_refused` that were not taken.
    """

    added: int
    known: int
    refused: tuple[Refused, ...] = ()
    n_refused: int = 0


class Refusals:
    """Rows that are refused: all are counted and the first kept, so that a file of the wrong kind fills no memory."""

    MOST = 1000

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[Refused] = []

    def add(self, row: Refused) -> None:
        self.count += 1
        if self.count <= self.MOST:
            self._kept.append(row)

    def told(self, *, added: int, known: int) -> ImportSummary:
        return ImportSummary(added, known, tuple(self._kept), self.count)


def import_problems(
    *, rows: Iterable[ProblemRow | Refused], source: str = "", progress: ProgressCallback = silent
) -> ImportSummary:
    """Add each problem whose text is new; bad rows are refused one by one and the good ones go in.

    `source` names where the rows come from, for those that do not say. A problem that is there already keeps its
    own answer. Each batch is its own transaction: an import that is interrupted can simply be run again.
    `progress` hears the rows read so far (the total is unknown, 0) and may raise Cancelled.
    """
    added = known = 0
    refused = Refusals()
    for batch in _batches(rows):
        good: dict[str, ProblemRow] = {}
        n_good = 0
        for row in batch:
            if isinstance(row, Refused):
                refused.add(row)
            elif reason := _why_not(row := replace(row, source=row.source or source)):
                refused.add(Refused(line=row.line, reason=reason))
            else:
                n_good += 1
                good.setdefault(text_hash(row.problem), row)
        new = _add(good)
        added += new
        known += n_good - new
        progress(Progress(added + known + refused.count, 0, "importing problems"))
    return refused.told(added=added, known=known)


def _batches(rows: Iterable[ProblemRow | Refused]) -> Iterator[list[ProblemRow | Refused]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _why_not(row: ProblemRow) -> str:
    """Why the row cannot become a Problem, or ""."""
    if not row.problem.strip():
        return "the problem is empty"
    for name in ("problem", "answer", "tolerance", "solution", "source", "subject", "unique_id"):
        value = getattr(row, name) or ""
        if not is_storable(value):
            return f"{name} holds a NUL character or half of a surrogate pair, which no database can store"
        if len(value) > (limit := _LONGEST.get(name) or len(value)):
            return f"{name} is {len(value)} characters long; at most {limit} can be stored"
    if row.level is not None and not 0 <= row.level <= _HIGHEST_LEVEL:
        return f"level must be a whole number from 0 to {_HIGHEST_LEVEL}, got {row.level}"
    return ""


@transaction.atomic
def _add(rows: dict[str, ProblemRow]) -> int:
    """Insert those of `rows` (by text hash) that are new, and return how many were."""
    Turn.IMPORT.take()  # so that each row is counted as added once; constraints keep a text from being added twice
    known = set(Problem.objects.filter(text_hash__in=list(rows)).values_list("text_hash", flat=True))
    new = [
        Problem(
            text=row.problem,
            text_hash=digest,
            answer=row.answer,
            kind=row.kind,
            tolerance=row.tolerance,
            tests=write_tests(row.tests),
            solution=row.solution,
            source=row.source,
            subject=row.subject or "",
            level=row.level,
            unique_id=row.unique_id or "",
            held_out=Problem.is_held_out(digest),
        )
        for digest, row in rows.items()
        if digest not in known
    ]
    Problem.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)
