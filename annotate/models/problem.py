"""Problems and the current guess of their answers."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ProblemQuerySet(models.QuerySet["Problem"]):
    def usable(self) -> ProblemQuerySet:
        """Problems a round may take: not retired, and with an answer to grade against."""
        return self.filter(retired_at__isnull=True, answer__isnull=False)

    def untouched(self) -> ProblemQuerySet:
        """Usable problems that no round has taken yet."""
        return self.usable().filter(places__isnull=True)


class Problem(models.Model):
    """A problem and the current guess of its answer (PRM800K `question`)."""

    text = models.TextField()
    text_hash = models.CharField(
        max_length=64, unique=True, help_text="prm_backend.text.steps.text_hash(text)"
    )
    answer = models.TextField(null=True, blank=True, help_text="gold answer; null where none is known")
    solution = models.TextField(
        null=True, blank=True, help_text="reference solution; never shown to annotators"
    )
    source = models.CharField(max_length=100, blank=True)
    subject = models.CharField(max_length=100, blank=True)
    level = models.PositiveSmallIntegerField(null=True, blank=True)
    unique_id = models.CharField(max_length=200, blank=True)
    held_out = models.BooleanField(help_text="labels on it evaluate and never train")
    retired_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProblemQuerySet.as_manager()

    def __str__(self) -> str:
        return self.text[:60]

    @staticmethod
    def is_held_out(text_hash: str) -> bool:
        """Whether a problem is held out: decided by its text alone, so it is the same on every machine."""
        return int(text_hash[:8], 16) / 2**32 < settings.HELD_OUT_SHARE
