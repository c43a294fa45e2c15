"""Long work as rows: claimed by token, kept alive by a heartbeat, taken back by a reaper. And who is working."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class JobStatus(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class JobQuerySet(models.QuerySet["Job"]):
    def active(self) -> JobQuerySet:
        return self.filter(status__in=(JobStatus.QUEUED, JobStatus.RUNNING))

    def failures(self) -> JobQuerySet:
        """Failed, and nobody has asked for the same again since: what a person should look at."""
        return self._not_asked_again().filter(status=JobStatus.FAILED)

    def ended_early(self, stages: Iterable[str]) -> JobQuerySet:
        """`failures`, and of these stages what was cancelled: the loop stands there until somebody asks again."""
        cancelled = Q(status=JobStatus.CANCELLED, kind__in=stages)
        return self._not_asked_again().filter(Q(status=JobStatus.FAILED) | cancelled)

    def _not_asked_again(self) -> JobQuerySet:
        later = Job.objects.filter(kind=OuterRef("kind"), key=OuterRef("key"), pk__gt=OuterRef("pk"))
        return self.filter(~Exists(later))

    def stale(self) -> JobQuerySet:
        """Running, but silent for longer than a living worker would be."""
        silence = timezone.now() - timedelta(seconds=settings.JOB_SILENCE_SECONDS)
        return self.filter(status=JobStatus.RUNNING, heartbeat_at__lt=silence)


class Job(models.Model):
    """One piece of work for a worker. At most one job of a kind and key is queued or running (single-flight).

    Messages only carry the id: a job delivered twice is claimed once (`queued` and no token -> `running` and a
    token), and whoever lost its token can no longer write progress or finish.
    """

    kind = models.CharField(max_length=20, help_text="the stage: generate, grade, score, retrain …")
    key = models.CharField(max_length=100, blank=True, help_text="what within the stage, for single-flight")
    payload = models.JSONField(default=dict)
    status = models.CharField(max_length=9, choices=JobStatus, default=JobStatus.QUEUED)
    token = models.UUIDField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    message = models.TextField(blank=True, help_text="what it is doing, or why it failed")
    result = models.JSONField(default=dict, blank=True, help_text="what it found, for the page that asked")
    cancel_requested = models.BooleanField(default=False)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(
        default=timezone.now,
        help_text="when a message with its id last went out; sweep sends a lost one again",
    )
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("kind", "key"),
                condition=Q(status__in=("queued", "running")),
                name="single_flight",
            ),
        )
        indexes = (models.Index(fields=("status", "heartbeat_at"), name="job_liveness"),)

    def __str__(self) -> str:
        return f"{self.kind} job {self.pk} ({self.status})"

    @property
    def percent(self) -> int | None:
        """How much is done, rounded down; None while queued or where the total is unknown."""
        if self.status != JobStatus.RUNNING or not self.total:
            return None
        return min(100, 100 * self.done // self.total)

    @property
    def seconds_left(self) -> float | None:
        """Rough time left in seconds from the pace so far; None before there is a pace."""
        if self.status != JobStatus.RUNNING or not self.started_at or not 0 < self.done < self.total:
            return None
        spent = (timezone.now() - self.started_at).total_seconds()
        return spent * (self.total - self.done) / self.done


class WorkerQuerySet(models.QuerySet["Worker"]):
    def alive(self) -> WorkerQuerySet:
        silence = timezone.now() - timedelta(seconds=settings.WORKER_SILENCE_SECONDS)
        return self.filter(seen_at__gte=silence)


class Worker(models.Model):
    """A worker process's sign of life, so a page can say "no worker since …"."""

    name = models.CharField(max_length=200, unique=True)
    queues = models.CharField(max_length=200)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name
