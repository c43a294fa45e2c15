"""What others do meanwhile: another process, waited for with a word where it does not; threads, all at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

from annotate.models import Job

T = TypeVar("T")


def eventually(holds: Callable[[], object], what: str, seconds: float = 400) -> None:
    """Return once `holds()`; fail, showing the jobs, when it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            jobs = "\n".join(f"  {job}: {job.message}" for job in Job.objects.all()[:12])
            raise AssertionError(f"not within {seconds:.0f} s: {what}. Jobs, newest first:\n{jobs}")
        time.sleep(0.05)


def at_once(act: Callable[[], T], times: int = 2) -> list[T]:
    """What each of so many threads got that did it at the same time."""
    found: list[T] = []

    def run() -> None:
        try:
            found.append(act())
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == times
    return found
