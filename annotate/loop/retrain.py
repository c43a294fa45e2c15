"""Ask for a retrain. (Training itself follows.)"""

from __future__ import annotations

from annotate.loop.jobs import enqueue_job
from annotate.models import Job, Person


def request_retrain(*, by: Person | None = None) -> Job:
    """Take a snapshot of the labels and train on it; the job that is doing so already, where there is one."""
    running = Job.objects.active().filter(kind="retrain").first()
    return running or enqueue_job("snapshot", by=by)
