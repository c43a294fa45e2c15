"""`manage.py retrain`: ask the workers for a retrain, and with --wait follow it to the decision."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.loop.progress import workers_state
from annotate.loop.retrain import request_retrain
from annotate.models import Job, JobStatus

_CHAIN = ("snapshot", "retrain", "promote")


class Command(BaseCommand):
    help = "Take a snapshot of the labels and train a candidate on it, if anything is new. The workers do it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--wait", action="store_true", help="follow it until it is decided; fails if it does"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        job = request_retrain()
        self.stdout.write(f"{job} is asked for.")
        for state in workers_state():
            if not state.alive:
                self.stderr.write(f"Mind: {state}.")
        if options["wait"]:
            for one in _chain(job):
                self._follow(one)

    def _follow(self, job: Job) -> None:
        said = ""
        while True:
            job.refresh_from_db()
            done = f" {job.percent} %" if job.percent is not None else ""
            left = f", {job.seconds_left:.0f} s left" if job.seconds_left is not None else ""
            if (now := f"{job}{done}{left}: {job.message}") != said:
                self.stdout.write(said := now)
            if job.status in (JobStatus.FAILED, JobStatus.CANCELLED):
                raise CommandError(f"{job}: {job.message}")
            if job.status == JobStatus.DONE:
                return
            time.sleep(1)


def _chain(job: Job) -> Iterator[Job]:
    """The job, then those that follow from it, each once the one before is done."""
    yield job
    for kind in _CHAIN[_CHAIN.index(job.kind) + 1 :]:
        following = Job.objects.filter(kind=kind, pk__gt=job.pk)
        deadline = time.monotonic() + 5  # the next job is asked for right after the one before ends
        while not following.exists():
            if time.monotonic() > deadline:
                return
            time.sleep(0.2)
        job = following.order_by("pk")[0]
        yield job
