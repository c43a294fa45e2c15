"""Problems and the current guess of their answers."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from prm_backend.text.gold import AnswerKind, Gold, Tolerance, read_tests

KINDS = {  # of answers, in words
    AnswerKind.MATHEMATICS.value: _("mathematics"),
    AnswerKind.CHOICE.value: _("choice"),
    AnswerKind.TEXT.value: _("text"),
    AnswerKind.NUMBER.value: _("number"),
    AnswerKind.CODE.value: _("code"),
}
UNANSWERED = Q(answer__isnull=True) & ~Q(kind=AnswerKind.CODE)


class ProblemQuerySet(models.QuerySet["Problem"]):
    def usable(self) -> ProblemQuerySet:
        """Problems a round may take: not retired, and with an answer (or tests of code) to grade against."""
        return self.filter(~UNANSWERED, retired_at__isnull=True)

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
    kind = models.CharField(
        max_length=11,
        default=AnswerKind.MATHEMATICS.value,
        choices=list(KINDS.items()),
        help_text="what kind of thing the answer is: it decides how answers are compared",
    )
    tolerance = models.CharField(
        max_length=50, blank=True, help_text="of a number: absolute (0.01) or relative (1 %)"
    )
    tests = models.JSONField(
        default=list, blank=True, help_text="of code: Python that asserts, or {input, output} of a program"
    )
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

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in AnswerKind]), name="kinds_of_answer"
            ),
            models.CheckConstraint(
                condition=Q(tolerance="") | Q(kind="number"), name="only_numbers_have_tolerance"
            ),
            models.CheckConstraint(
                condition=Q(kind="code") & ~Q(tests=[]) | ~Q(kind="code") & Q(tests=[]),
                name="code_alone_has_tests",
            ),
        )

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def gold(self) -> Gold | None:
        """What answers are held against; None where nothing is known."""
        if self.kind == AnswerKind.CODE:
            return Gold(kind=AnswerKind.CODE, tests=read_tests(self.tests))
        if self.answer is None:
            return None
        tolerance = Tolerance.parse(self.tolerance) if self.tolerance else None
        return Gold(self.answer, AnswerKind(self.kind), tolerance)

    @staticmethod
    def is_held_out(text_hash: str) -> bool:
        """Whether a problem is held out: decided by its text alone, so it is the same on every machine."""
        return int(text_hash[:8], 16) / 2**32 < settings.HELD_OUT_SHARE
