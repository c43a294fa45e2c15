"""A first run on an empty database: two people, the sample problems, the first round. All of it, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from annotate.loop.people import Access, add_person
from annotate.loop.problems import import_problems
from annotate.loop.queues import default_queue
from annotate.loop.rounds import start_round
from annotate.models import ANNOTATOR, MANAGER, Person, Round, Turn
from prm_backend.generators.starter.problems import SAMPLE_SEED, make_problems
from prm_backend.text.problems import ProblemRow

SAMPLE_PROBLEMS = 200


@dataclass(frozen=True)
class FirstRun:
    """What was made. The passwords are random and only their hashes are kept: show them now or never."""

    manager: Access
    annotator: Access
    problems: int
    round: Round


@transaction.atomic
def first_run() -> FirstRun | None:
    """Fill an empty database, so that there is something to do; None where anybody is there already."""
    Turn.FIRST_RUN.take()  # two hosts that start at once
    if Person.objects.exists():
        return None
    default_queue()
    manager = add_person(username="manager", role=MANAGER)
    annotator = add_person(username="annotator", role=ANNOTATOR)
    rows = (
        ProblemRow(
            line=i,
            problem=sample.problem,
            answer=sample.answer,
            solution="\n".join(sample.solution_steps),
            source="starter",
            subject=sample.kind,
        )
        for i, sample in enumerate(make_problems(SAMPLE_PROBLEMS, SAMPLE_SEED), start=1)
    )
    imported = import_problems(rows=rows)
    return FirstRun(manager, annotator, imported.added, start_round(by=manager.person))
