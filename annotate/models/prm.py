"""Snapshots of the labels and the PRM versions trained on them. Exactly one version serves at a time."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from prm_backend.types import threshold_or_even


class Snapshot(models.Model):
    """The submitted labels as one PRM800K JSONL file in storage, named by the hash of its bytes."""

    sha256 = models.CharField(max_length=64, unique=True)
    path = models.CharField(max_length=300, help_text="key in the default storage")
    n_labels = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"snapshot {self.sha256[:8]} ({self.n_labels} labels)"


class PRMStatus(models.TextChoices):
    CANDIDATE = "candidate", _("candidate")  # trained; waits for a decision
    PROMOTED = "promoted", _("serving")
    RETIRED = "retired", _("retired")  # served once; may be rolled back to
    REJECTED = "rejected", _("rejected")


class PRMVersionQuerySet(models.QuerySet["PRMVersion"]):
    def candidates(self) -> PRMVersionQuerySet:
        """What waits for promote."""
        return self.filter(status=PRMStatus.CANDIDATE)

    def serving(self) -> PRMVersion | None:
        """The promoted version, or None before version 0."""
        return self.filter(status=PRMStatus.PROMOTED).first()

    def previous(self) -> PRMVersion | None:
        """The version a rollback returns to: the one retired last."""
        return self.filter(status=PRMStatus.RETIRED).order_by("-promoted_at").first()


class PRMVersion(models.Model):
    """A trained PRM: what it was trained on, how, how good it is, and whether it serves."""

    number = models.PositiveIntegerField(unique=True)
    status = models.CharField(max_length=9, choices=PRMStatus, default=PRMStatus.CANDIDATE)
    snapshot = models.ForeignKey(
        Snapshot, null=True, blank=True, on_delete=models.PROTECT, help_text="null for outcome-only versions"
    )
    outcome_only = models.BooleanField(
        default=False, help_text="no human labels: steps took their solution's grade"
    )
    base = models.CharField(max_length=500)
    config = models.JSONField()
    inputs_hash = models.CharField(
        max_length=64, unique=True, help_text="labels, base and config together: nothing new, nothing done"
    )
    checkpoint = models.CharField(max_length=300, help_text="key prefix in the default storage")
    n_labels = models.PositiveIntegerField(default=0, help_text="human-labelled solutions trained on")
    report = models.JSONField(default=dict)
    decision = models.TextField(blank=True, help_text="why it was promoted or not, by the recorded criterion")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    promoted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = PRMVersionQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(
                fields=("status",), condition=Q(status=PRMStatus.PROMOTED), name="one_prm_serves"
            ),
            models.CheckConstraint(
                condition=Q(outcome_only=True, snapshot__isnull=True)
                | Q(outcome_only=False, snapshot__isnull=False),
                name="human_versions_name_their_snapshot",
            ),
        )

    def __str__(self) -> str:
        return f"v{self.number}" + (" (no human labels)" if self.outcome_only else "")

    @property
    def threshold(self) -> float:
        """The p(bad) above which this version calls a step wrong; 0.5 where it was not tuned."""
        return threshold_or_even(self.report.get("metrics", {}).get("threshold"))

    def get_absolute_url(self) -> str:
        return reverse("version", args=(self.number,))
