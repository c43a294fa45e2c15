"""Labels made elsewhere: PRM800K records become labels, so that they come out of an export as they went in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db import transaction

from annotate.loop.problems import ImportSummary, Refusals, import_problems
from annotate.loop.snapshot import is_error, label_lines
from annotate.models import HOW_FAR, Label, Person, Problem, Solution, Step, StepRating, Turn, Way
from prm_backend.text.formats import how_to_convert
from prm_backend.text.prm800k import EXTRA_KEY, LabelledStep, Record, parse_record, to_dict, to_json
from prm_backend.text.problems import ProblemRow
from prm_backend.text.rows import Refused, read_rows
from prm_backend.text.steps import join_steps, text_hash
from prm_backend.types import Progress, ProgressCallback, Rating, silent

BATCH = 500
_MOST_OPTIONS = 2**15


@dataclass(frozen=True)
class ReadRecord:
    """A record and the line of the file it stood on."""

    line: int
    record: Record


def read_records(source: str | Path | BinaryIO) -> Iterator[ReadRecord | Refused]:
    """The PRM800K records of a path or a named binary file (.jsonl, .jsonl.gz …); never an exception for a row."""
    for row in read_rows(source):
        if isinstance(row, Refused):
            yield row
            continue
        try:
            record = parse_record(row.value)
        except ValueError as error:
            yield Refused(row.line, str(error) + how_to_convert(row.value, to="prm800k"))
        else:
            yield ReadRecord(row.line, record)


def import_labels(
    *, records: Iterable[ReadRecord | Refused], source: str = "", progress: ProgressCallback = silent
) -> ImportSummary:
    """Add each label that is not there yet; bad records are refused one by one and the good ones go in.

    Labelers become people who cannot sign in. Problems are made where their text is new (`source` names where
    they come from); one that is there keeps its own answer, while the label keeps the record's. Each batch is its
    own transaction: an import that is interrupted can simply be run again. `progress` hears the records read so
    far (the total is unknown, 0) and may raise Cancelled.
    """
    added = known = 0
    refused = Refusals()
    remaining = iter(records)
    while batch := list(islice(remaining, BATCH)):
        good: dict[str, Record] = {}
        n_good = 0
        for read in batch:
            if isinstance(read, Refused):
                refused.add(read)
            elif reason := _why_not(read.record):
                refused.add(Refused(line=read.line, reason=reason))
            else:
                n_good += 1
                good.setdefault(record_hash(to_json(read.record)), read.record)
        new = _add(good, source)
        added += new
        known += n_good - new
        progress(Progress(added + known + refused.count, 0, "importing labels"))
    return refused.told(added=added, known=known)


def record_hash(line: str) -> str:
    """SHA-256 (hex) of a record's canonical line: the same record hashes equally however its file wrote it."""
    return hashlib.sha256(line.encode()).hexdigest()


def _why_not(record: Record) -> str:
    """Why the record would not come out of an export as it went in, or ""."""
    if to_json(record) != json.dumps(to_dict(record)):
        return "it holds a NUL character or half of a surrogate pair, which no database can store"
    if not record.problem.strip():
        return "question.problem is empty"
    for i, step in enumerate(record.steps):
        if step.completions == ():
            return f"label.steps[{i}].completions is empty; a step without completions has null there"
        if len(step.completions or ()) > _MOST_OPTIONS:
            return f"label.steps[{i}] has more completions than the {_MOST_OPTIONS} that can be stored"
        if step.human_completion is not None and step.human_completion.source != "human":
            return f'label.steps[{i}].human_completion.source must be "human"'
    return _why_not_extra(record)


def _why_not_extra(record: Record) -> str:
    extra, last = record.extra, len(record.steps) - 1
    if extra.progress is not None and extra.progress >= len(HOW_FAR):
        return f"{EXTRA_KEY}.progress goes from 0 to {len(HOW_FAR) - 1}"
    if extra.way not in ("", Way.EVERY_STEP) or (extra.way and not record.pre_generated):
        return f'{EXTRA_KEY}.way must be "{Way.EVERY_STEP}" or absent: the other ways show in the shape of the row'
    first = next((i for i, step in enumerate(record.steps) if is_error(step)), None)
    if extra.model_critique is not None and first is None:
        return f"{EXTRA_KEY}.model_critique is of the first error, and no step is rated -1"
    if (extra.way and first not in (None, last)) or (extra.after_error and not (extra.way and first == last)):
        return f"with {EXTRA_KEY}.way and .after_error, label.steps must end at the first error"
    return ""


@transaction.atomic
def _add(records: dict[str, Record], source: str) -> int:
    """Insert those of `records` (by hash) that are new, and return how many were."""
    Turn.IMPORT.take()  # so that each row is counted as added once
    known = _known(records)
    new = {digest: record for digest, record in records.items() if digest not in known}
    people = _people({UUID(record.labeler) for record in new.values()})
    problems = _problems(new.values(), source)
    solutions = _solutions(new.values(), problems)
    # As the constraints have it: one label a person, and one decision, whoever made it.
    there = Label.objects.filter(solution__in=solutions.values())
    taken: set[tuple[int | None, int | None]] = {
        (solution_id, None if decides else person_id)
        for solution_id, person_id, decides in there.values_list("solution", "annotator", "adjudicates")
    }
    labels = []
    for digest, record in new.items():
        problem_id = problems[text_hash(record.problem)]
        person_id = people[UUID(record.labeler)]
        solution_id = solutions.get((problem_id, _solution_hash(record)))
        who = None if record.extra.adjudicates else person_id
        if solution_id is not None and (solution_id, who) in taken:
            # The same person labelled the same solution twice; the second label is kept without a solution.
            solution_id = None
        taken.add((solution_id, who))
        labels.append(_label(record, digest, problem_id, person_id, solution_id))
    Label.objects.bulk_create(labels)
    StepRating.objects.bulk_create(
        rating
        for label, record in zip(labels, new.values(), strict=True)
        for rating in (
            *(row for i, step in enumerate(_all_steps(record)) for row in _ratings(label, i, step)),
            *_model_critique(label, record),
        )
    )
    return len(new)


def _known(records: dict[str, Record]) -> set[str]:
    """Hashes of those that are labels already, whether imported or made here (an export of ours, read again)."""
    imported = Label.objects.filter(imported_hash__in=list(records)).values_list("imported_hash", flat=True)
    made_here = Label.objects.filter(
        imported_hash__isnull=True,
        submitted_at__in={_moment(record) for record in records.values()},
        annotator__labeler__in={record.labeler for record in records.values()},
    )
    lines = (line.decode().rstrip("\n") for line in label_lines(labels=made_here))
    return {digest for digest in imported if digest} | {record_hash(line) for line in lines}


def _moment(record: Record) -> datetime:
    return datetime.fromisoformat(record.timestamp).replace(tzinfo=UTC)


def _people(labelers: set[UUID]) -> dict[UUID, int]:
    """The person of each labeler; who is not here yet is made, inactive and without a password."""
    new = [
        Person(username=f"imported-{labeler}", labeler=labeler, is_active=False, password=make_password(None))
        for labeler in labelers
    ]
    Person.objects.bulk_create(new, ignore_conflicts=True)
    return dict(Person.objects.filter(labeler__in=labelers).values_list("labeler", "id"))


def _problems(records: Iterable[Record], source: str) -> dict[str, int]:
    """The problem of each text hash; a new text is imported with the record's answer and solution."""
    by_hash = {text_hash(record.problem): record for record in records}
    rows = (
        ProblemRow(
            line=0,
            problem=record.problem,
            answer=record.ground_truth_answer,
            solution=record.pre_generated.ground_truth_solution if record.pre_generated else None,
        )
        for record in by_hash.values()
    )
    import_problems(rows=rows, source=source)
    return dict(Problem.objects.filter(text_hash__in=list(by_hash)).values_list("text_hash", "id"))


def _solutions(records: Iterable[Record], problems: dict[str, int]) -> dict[tuple[int, str], int]:
    """The imported solution of each (problem, text hash) that phase-2 records served; new ones are made."""
    wanted: dict[tuple[int, str], Record] = {}
    for record in records:
        if digest := _solution_hash(record):
            wanted.setdefault((problems[text_hash(record.problem)], digest), record)
    imported = Solution.objects.filter(
        round__isnull=True,
        problem__in={problem for problem, _ in wanted},
        text_hash__in={d for _, d in wanted},
    )
    found = {(s.problem_id, s.text_hash): s.pk for s in imported}
    new = {key: _solution(*key, record) for key, record in wanted.items() if key not in found}
    Solution.objects.bulk_create(new.values())
    Step.objects.bulk_create(
        Step(solution=solution, index=i, text=text)
        for key, solution in new.items()
        for i, text in enumerate(_served(wanted[key]))
    )
    return found | {key: solution.pk for key, solution in new.items()}


def _served(record: Record) -> tuple[str, ...]:
    return record.pre_generated.steps if record.pre_generated else ()


def _solution_hash(record: Record) -> str:
    """The text hash of the solution that was served, or "" (phase 1, whose solution grows while it is rated)."""
    return text_hash(join_steps(_served(record))) if _served(record) else ""


def _solution(problem_id: int, digest: str, record: Record) -> Solution:
    return Solution(
        problem_id=problem_id,
        text=join_steps(_served(record)),
        text_hash=digest,
        answer=(record.pre_generated and record.pre_generated.answer) or None,
    )


def _label(record: Record, digest: str, problem_id: int, person_id: int, solution_id: int | None) -> Label:
    return Label(
        problem_id=problem_id,
        solution_id=solution_id,
        annotator_id=person_id,
        generation=record.generation,
        is_quality_control_question=record.is_quality_control_question,
        is_initial_screening_question=record.is_initial_screening_question,
        question=to_dict(record)["question"],
        total_time=record.total_time,
        finish_reason=record.finish_reason,
        submitted_at=_moment(record),
        imported_hash=digest,
        way=record.extra.way or (Way.FIRST_ERROR if record.pre_generated else Way.STEP_BY_STEP),
        progress=record.extra.progress,
        critique=record.extra.critique,
        comment=record.extra.comment,
        adjudicates=record.extra.adjudicates,
    )


def _all_steps(record: Record) -> Iterator[LabelledStep]:
    """Those of PRM800K, and behind the first error those that are rated beyond it."""
    yield from record.steps
    for completion in record.extra.after_error:
        yield LabelledStep((completion,), None, None if completion.rating == Rating.BAD else 0)


def _model_critique(label: Label, record: Record) -> Iterator[StepRating]:
    said = record.extra.model_critique
    if said is not None:
        yield StepRating(
            label=label,
            step_index=next(i for i, step in enumerate(record.steps) if is_error(step)),
            source=StepRating.Source.CRITIQUE,
            text=said.text,
            rating=said.rating,
            flagged=said.flagged,
        )


def _ratings(label: Label, index: int, step: LabelledStep) -> Iterator[StepRating]:
    """The rows of one step: its completions, the labeller's own, or the blank one."""
    for option, completion in enumerate(step.completions or ()):
        yield StepRating(
            label=label,
            step_index=index,
            option=option,
            text=completion.text,
            rating=completion.rating,
            flagged=completion.flagged,
            chosen=option == step.chosen_completion,
        )
    if step.human_completion is not None:
        human = step.human_completion
        yield StepRating(
            label=label,
            step_index=index,
            source=StepRating.Source.HUMAN,
            text=human.text,
            rating=human.rating,
            flagged=human.flagged,
        )
    elif step.completions is None:
        yield StepRating(label=label, step_index=index, source=StepRating.Source.BLANK)
