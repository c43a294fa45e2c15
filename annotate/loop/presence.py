"""A worker process's sign of life: a row that it keeps fresh, so a page can say "no worker since …".

A thread writes it, because a worker that trains for an hour in its only process must not look dead.
"""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import Any

from celery.signals import worker_ready, worker_shutting_down
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from annotate.loop.jobs import give_back, reap
from annotate.models import Worker

log = logging.getLogger(__name__)

SECONDS = 5.0
_stop = threading.Event()


@worker_ready.connect
def appear(sender: Any, **_: Any) -> None:
    """A worker's name is its own: a running job of that name belonged to a process that is dead, and starts again."""
    queues = ",".join(sorted(sender.app.amqp.queues.consume_from))
    taken = reap(worker=sender.hostname)
    if taken:
        log.warning("%d jobs of an earlier %s start again", taken, sender.hostname)
    connection.close()
    _stop.clear()
    threading.Thread(target=_stay, args=(sender.hostname, queues), name="presence", daemon=True).start()


@worker_shutting_down.connect
def leave(sender: str, **_: Any) -> None:
    """Told to stop: what is in hand goes back at once, so that nobody waits for the silence that follows.

    In a thread, because this is a signal handler and may interrupt a query of the work itself. The work ends at its
    next sign of progress, when it finds that the job is no longer its own.
    """
    _stop.set()
    threading.Thread(target=_give_back, args=(sender,), name="give back", daemon=True).start()


def _give_back(name: str) -> None:
    try:
        give_back(name)
    finally:
        connection.close()


def forget_gone() -> None:
    """Delete the rows of workers nobody has seen for a month: hosts and containers come and go."""
    Worker.objects.filter(seen_at__lt=timezone.now() - timedelta(days=30)).delete()


def _stay(name: str, queues: str) -> None:
    started_at = timezone.now()
    while True:
        try:
            Worker.objects.update_or_create(
                name=name, defaults={"queues": queues, "started_at": started_at, "seen_at": timezone.now()}
            )
        except (OperationalError, InterfaceError) as error:
            log.warning("no sign of life written: %s", error)
            connection.close()
        if _stop.wait(SECONDS):
            connection.close()
            return
