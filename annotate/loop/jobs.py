"""Jobs: asked for once, claimed by token, kept alive by a heartbeat, ended with a word why. Knows no stage.

A message only carries a job's id, so it may be lost (`send_again`), come twice (the second claim finds nothing) or
outlive its worker (`reap`): the row decides what happens.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from celery import current_task
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.celery import app
from annotate.errors import PlumblineError
from annotate.models import Job, JobStatus, Person
from prm_backend.types import Cancelled, Progress

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5.0
MAX_ATTEMPTS = 3
TRANSIENT = (
    ConnectionError,
    TimeoutError,
    OperationalError,
    InterfaceError,
)  # tried again, MAX_ATTEMPTS times

_PROGRESS_SECONDS = 1.0  # how often progress is written, and a request to cancel noticed
_LOST_AFTER = timedelta(minutes=2)  # a queued job whose message is older gets another one
_KEEP_DONE = timedelta(days=1)


class LostJob(Cancelled):
    """Another worker has the job now (this one seemed dead): whatever is not written yet must not be."""


class Work:
    """A claimed job in a worker's hands."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.result: dict[str, Any] = {}
        self.message = ""
        self.lost = threading.Event()
        self._written_at = 0.0

    def progress(self, now: Progress) -> None:
        """A ProgressCallback: writes where the work stands. Raises Cancelled when it must stop."""
        if self.lost.is_set():
            raise LostJob(f"{self.job} was given to another worker")
        if time.monotonic() - self._written_at < _PROGRESS_SECONDS and now.done < now.total:
            return
        self._written_at = time.monotonic()
        self.message = now.message or self.message
        mine = Job.objects.filter(pk=self.job.pk, token=self.job.token, status=JobStatus.RUNNING)
        if not mine.update(done=now.done, total=now.total, message=now.message, heartbeat_at=timezone.now()):
            raise LostJob(f"{self.job} was given to another worker")
        if mine.filter(cancel_requested=True).exists():
            raise Cancelled("cancelled on request")


def enqueue_job(
    kind: str, key: str = "", payload: dict[str, Any] | None = None, by: Person | None = None
) -> Job:
    """The queued or running job of this kind and key: the one there is, or a new one and a message for it.

    A job that is there already keeps its own payload.
    """
    with transaction.atomic():
        job, created = Job.objects.active().get_or_create(
            kind=kind, key=key, defaults={"payload": payload or {}, "requested_by": by}
        )
        if created:
            _send(job)
    return job


def claim_job(job_id: int) -> Job | None:
    """Make a queued job ours: running, under a new token. None where it is gone, done or someone else's."""
    now = timezone.now()
    claimed = Job.objects.filter(pk=job_id, status=JobStatus.QUEUED).update(
        status=JobStatus.RUNNING,
        token=uuid.uuid4(),
        worker=_worker_name(),
        attempts=F("attempts") + 1,
        started_at=now,
        heartbeat_at=now,
        done=0,
        total=0,
        message="",
    )
    return Job.objects.get(pk=job_id) if claimed else None


@contextmanager
def working(job_id: int) -> Iterator[Work | None]:
    """Claim the job, beat its heart while the body runs, and write how it ended; None where there is nothing to do.

    No exception leaves the body's block: each ends on the row. Cancelled -> cancelled; a TRANSIENT one -> queued
    again with a growing pause, MAX_ATTEMPTS times; any other -> failed, with the reason.
    """
    job = claim_job(job_id)
    if job is None:
        yield None
        return
    work = Work(job)
    stop = threading.Event()
    heart = threading.Thread(target=_beat, args=(work, stop), name=f"heart of job {job.pk}", daemon=True)
    heart.start()
    try:
        yield work
    except LostJob as lost:
        log.warning("%s", lost)
    except Cancelled as cancelled:
        _finish(work, JobStatus.CANCELLED, str(cancelled) or "cancelled")
    except TRANSIENT as error:
        _try_again(work, _reason(error))
    except Exception as error:
        log.exception("%s failed", job)
        _finish(work, JobStatus.FAILED, _reason(error))
    else:
        _finish(work, JobStatus.DONE, work.message)
    finally:
        stop.set()
        heart.join()


def cancel(job: Job, by: Person | None = None) -> None:
    """End a queued job now; ask a running one to stop at its next sign of progress."""
    who = f"cancelled by {by}" if by else "cancelled"
    queued = Job.objects.filter(pk=job.pk, status=JobStatus.QUEUED)
    if not queued.update(status=JobStatus.CANCELLED, finished_at=timezone.now(), message=who):
        Job.objects.filter(pk=job.pk, status=JobStatus.RUNNING).update(cancel_requested=True)


def retry(job: Job, by: Person | None = None) -> Job:
    """Queue a failed or cancelled job's work again, at once. Raises PlumblineError for any other job."""
    if job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
        raise PlumblineError(_("Job %(job)s did not fail: there is nothing to try again.") % {"job": job.pk})
    return enqueue_job(job.kind, job.key, job.payload, by)


def held_until(kind: str) -> datetime | None:
    """Until when the sweep leaves this kind alone because it failed lately or was cancelled; None: it may go on.

    After n failures in a row it waits 1, 4, 16, then 60 minutes; after a cancellation until somebody asks again.
    """
    ended = Job.objects.filter(kind=kind, key="").exclude(status__in=(JobStatus.QUEUED, JobStatus.RUNNING))
    latest = list(ended.order_by("-id").values_list("status", "finished_at")[:4])
    if latest and latest[0][0] == JobStatus.CANCELLED:
        return datetime.max.replace(tzinfo=timezone.get_current_timezone())
    failures = list(takewhile(lambda row: row[0] == JobStatus.FAILED, latest))
    if not failures or failures[0][1] is None:
        return None
    until = failures[0][1] + timedelta(minutes=min(4 ** (len(failures) - 1), 60))
    return until if until > timezone.now() else None


def reap(worker: str | None = None) -> int:
    """Take back the jobs of workers that fell silent, or of `worker`, known to be dead; returns how many."""
    running = Job.objects.filter(status=JobStatus.RUNNING)
    return sum(map(_take_back, Job.objects.stale() if worker is None else running.filter(worker=worker)))


def give_back(worker: str) -> int:
    """Queue what `worker` has in hand again, as it is about to stop; that counts as no attempt. Returns how many."""
    given = 0
    for job in Job.objects.filter(worker=worker, status=JobStatus.RUNNING):
        with transaction.atomic():
            same = Job.objects.filter(pk=job.pk, token=job.token, status=JobStatus.RUNNING)
            if same.update(
                status=JobStatus.QUEUED,
                token=None,
                attempts=F("attempts") - 1,
                message="its worker stopped; it starts again",
                sent_at=timezone.now(),
            ):
                _send(job)
                given += 1
    return given


def send_again() -> int:
    """Send a message for each queued job whose last one may be lost; returns how many."""
    lost = Job.objects.filter(status=JobStatus.QUEUED, sent_at__lt=timezone.now() - _LOST_AFTER)
    jobs = list(lost)
    lost.update(sent_at=timezone.now())
    for job in jobs:
        _send(job)
    return len(jobs)


def forget_done(*kinds: str) -> None:
    """Delete jobs of these kinds that ended well some time ago; a busy loop makes thousands a day.

    The newest of each kind stays: `held_until` must not take an older, cancelled one for the latest.
    """
    newest = Job.objects.order_by("kind", "-id").distinct("kind").values("pk")
    ended = Job.objects.filter(kind__in=kinds, status=JobStatus.DONE)
    ended.filter(finished_at__lt=timezone.now() - _KEEP_DONE).exclude(pk__in=newest).delete()


def _send(job: Job, *, countdown: float = 0) -> None:
    def publish() -> None:  # no partial: Django names what failed by its __qualname__
        app.send_task(f"annotate.tasks.{job.kind}", args=(job.pk,), countdown=countdown)

    # robust: a broker that is away is no reason to fail a page; send_again sends it later.
    transaction.on_commit(publish, robust=True)


def _beat(work: Work, stop: threading.Event) -> None:
    """Runs in a thread, with a connection of its own."""
    mine = Job.objects.filter(pk=work.job.pk, token=work.job.token, status=JobStatus.RUNNING)
    try:
        while not stop.wait(HEARTBEAT_SECONDS):
            try:
                if not mine.update(heartbeat_at=timezone.now()):
                    work.lost.set()
                    return
            except (OperationalError, InterfaceError) as error:
                log.warning("no heartbeat for %s: %s", work.job, error)
                connection.close()
    finally:
        connection.close()


def _finish(work: Work, status: JobStatus, message: str) -> None:
    mine = Job.objects.filter(pk=work.job.pk, token=work.job.token, status=JobStatus.RUNNING)
    mine.update(status=status, message=message, result=work.result, finished_at=timezone.now(), token=None)


def _try_again(work: Work, reason: str) -> None:
    if work.job.attempts >= MAX_ATTEMPTS:
        return _finish(work, JobStatus.FAILED, f"tried {work.job.attempts} times: {reason}")
    log.warning("%s will be tried again: %s", work.job, reason)
    with transaction.atomic():
        mine = Job.objects.filter(pk=work.job.pk, token=work.job.token, status=JobStatus.RUNNING)
        if mine.update(status=JobStatus.QUEUED, token=None, message=reason, sent_at=timezone.now()):
            _send(work.job, countdown=5 * 4 ** (work.job.attempts - 1))


@transaction.atomic
def _take_back(job: Job) -> bool:
    now = timezone.now()
    if job.cancel_requested:
        change = {
            "status": JobStatus.CANCELLED,
            "message": "cancelled; its worker had died",
            "finished_at": now,
        }
    elif job.attempts >= MAX_ATTEMPTS:
        died = f"its worker died {job.attempts} times at it; out of memory, perhaps: see the worker's log"
        change = {"status": JobStatus.FAILED, "message": died, "finished_at": now}
    else:
        change = {"status": JobStatus.QUEUED, "message": "its worker died; it starts again", "sent_at": now}
    same = Job.objects.filter(pk=job.pk, token=job.token, status=JobStatus.RUNNING)
    if not same.filter(heartbeat_at=job.heartbeat_at).update(token=None, **change):
        return False  # it breathed, ended, or somebody else took it back
    if change["status"] == JobStatus.QUEUED:
        _send(job)
    return True


def _worker_name() -> str:
    return str(current_task.request.hostname or "") if current_task else ""


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
