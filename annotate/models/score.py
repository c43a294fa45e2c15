"""What a PRM version thinks of steps and solutions. Scores are never sent to an annotator."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from .prm import PRMVersion
from .solution import Solution, Step


class StepScore(models.Model):
    """Probabilities of the three ratings for one step; they sum to 1."""

    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="scores")
    prm = models.ForeignKey(PRMVersion, on_delete=models.CASCADE, related_name="step_scores")
    p_bad = models.FloatField()
    p_okay = models.FloatField()
    p_great = models.FloatField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("step", "prm"), name="step_scored_once"),)


class SolutionScore(models.Model):
    """A solution's aggregated scores, or the reason the PRM refused it (prm_backend.types.SolutionScores)."""

    solution = models.ForeignKey(Solution, on_delete=models.CASCADE, related_name="scores")
    prm = models.ForeignKey(PRMVersion, on_delete=models.CASCADE, related_name="solution_scores")
    log_product = models.FloatField(null=True, blank=True)
    product = models.FloatField(null=True, blank=True)
    minimum = models.FloatField(null=True, blank=True)
    mean = models.FloatField(null=True, blank=True)
    last = models.FloatField(null=True, blank=True)
    unscorable = models.TextField(blank=True, help_text="why the PRM refused it; empty where it was scored")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("solution", "prm"), name="solution_scored_once"),
            models.CheckConstraint(
                condition=Q(unscorable="", log_product__isnull=False)
                | (~Q(unscorable="") & Q(log_product__isnull=True)),
                name="scored_or_refused",
            ),
        )
