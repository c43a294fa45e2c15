"""A model that proposes, without a worker: the jobs that wait are done by a generator with a script."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotate.loop.proposals import KIND, propose
from annotate.models import Job, JobStatus, Label, Worker
from tests.fakes import ScriptedGenerator

# What the solutions of the script say at each step.
SCRIPT = [
    "I take one.\nThat is two.\nSo it is three.\n\n# Answer\n\n3",
    "I take two.\nThat is four.\nSo it is four.\n\n# Answer\n\n4",
    "I take three.\nThat is six.\nSo it is five.\n\n# Answer\n\n5",
    "I take one.\nI stop.\nSo it is six.\n\n# Answer\n\n6",
    "I take one.\nI double it.\nSo it is two.\n\n# Answer\n\n2",
]


def scripted() -> ScriptedGenerator:
    return ScriptedGenerator(lambda problem, index: SCRIPT[index])


def work_off(generator: ScriptedGenerator | None = None) -> int:
    """Do the jobs that wait, as a worker would; how many options were written."""
    written = 0
    for job in Job.objects.filter(kind=KIND, status=JobStatus.QUEUED):
        written += propose(label=job.payload["label"], generator=generator or scripted())
        Job.objects.filter(pk=job.pk).update(status=JobStatus.DONE)
    return written


def options_of(label: Label) -> list[tuple[int, int | None, str, int | None, bool]]:
    rows = label.ratings.order_by("step_index", "option")
    return list(rows.values_list("step_index", "option", "source", "rating", "chosen"))


def a_model_worker(**more: Any) -> None:
    now = timezone.now()
    Worker.objects.update_or_create(
        name="m", defaults={"queues": "model", "started_at": now, "seen_at": now} | more
    )
