"""Wait for what another process does, with a word where it does not."""

from __future__ import annotations

import time
from collections.abc import Callable

from annotate.models import Job


def eventually(holds: Callable[[], object], what: str, seconds: float = 400) -> None:
    """Return once `holds()`; fail, showing the jobs, when it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            jobs = "\n".join(f"  {job}: {job.message}" for job in Job.objects.all()[:12])
            raise AssertionError(f"not within {seconds:.0f} s: {what}. Jobs, newest first:\n{jobs}")
        time.sleep(0.05)
