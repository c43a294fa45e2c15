"""Messages go through a real broker to a real worker process."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pytest
from django.conf import settings

from annotate.celery import app


def test_long_work_is_never_handed_out_again_while_it_runs() -> None:
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    if not settings.CELERY_BROKER_URL.startswith("amqp"):
        assert app.conf.broker_transport_options["visibility_timeout"] == 6 * 60 * 60


@pytest.mark.parametrize(
    ("stage", "queue"),
    [("generate", "model"), ("score", "model"), ("retrain", "model"), ("grade", "quick"), ("sweep", "quick")],
)
def test_only_stages_that_need_a_model_go_to_the_model_worker(stage: str, queue: str) -> None:
    assert app.amqp.router.route({}, f"annotate.tasks.{stage}")["queue"].name == queue


@pytest.mark.slow
def test_a_worker_process_takes_messages_from_the_broker(
    start_worker: Callable[..., subprocess.Popen[bytes]],
) -> None:
    start_worker("quick")
    app.send_task("celery.accumulate", args=[1, 2], queue="quick")
    deadline = time.monotonic() + 30
    while (found := app.control.inspect(timeout=2).stats()) is None and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found is not None
    totals = next(iter(found.values()))["total"]
    while not totals and time.monotonic() < deadline:
        totals = next(iter((app.control.inspect(timeout=2).stats() or {"": {"total": {}}}).values()))["total"]
    assert totals == {"celery.accumulate": 1}
