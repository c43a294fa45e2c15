"""Benchmarks: solutions with a known first error, which every PRM version can be measured on; and the measurements."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from .prm import PRMVersion


class Benchmark(models.Model):
    """A file of labelled solutions, as ProcessBench has them: kept as JSONL in storage, named by its hash."""

    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, unique=True)
    path = models.CharField(max_length=300, help_text="key in the default storage")
    n_samples = models.PositiveIntegerField()
    n_erroneous = models.PositiveIntegerField()
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.name


class MeasurementQuerySet(models.QuerySet["Measurement"]):
    def waiting(self) -> MeasurementQuerySet:
        """What waits for a worker, the newest version first."""
        return self.filter(figures__isnull=True).order_by("-version__number", "pk")

    def measured(self) -> MeasurementQuerySet:
        return self.filter(figures__isnull=False, figures__refused__isnull=True)


class Measurement(models.Model):
    """A PRM version on a benchmark: asked for while `figures` is null, refused where they hold only why not."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="measurements")
    version = models.ForeignKey(PRMVersion, on_delete=models.CASCADE, related_name="measurements")
    figures = models.JSONField(null=True, blank=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    measured_at = models.DateTimeField(null=True, blank=True)

    objects = MeasurementQuerySet.as_manager()

    class Meta:
        ordering = ("benchmark", "version")
        constraints = (models.UniqueConstraint(fields=("benchmark", "version"), name="measured_once_each"),)
        indexes = (
            models.Index(fields=("version",), condition=Q(figures__isnull=True), name="waits_for_measuring"),
        )

    def __str__(self) -> str:
        return f"{self.version} on {self.benchmark}"
