"""Solutions, their steps and their grade. A solution's text never changes after it is written."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from prm_backend.text.gold import AnswerKind
from prm_backend.types import Outcome

from .prm import PRMVersion
from .problem import Problem

_NEEDS_ANSWER = [kind.value for kind in AnswerKind if kind is not AnswerKind.CODE]


class SolutionQuerySet(models.QuerySet["Solution"]):
    def ungraded(self) -> SolutionQuerySet:
        """What waits for grade. Imported solutions carry no round and are not graded."""
        return self.filter(outcome__isnull=True, round__isnull=False)

    def undecided(self) -> SolutionQuerySet:
        """What waits for a person's word: graders had an answer and what to hold it against, and did not decide."""
        live = self.filter(outcome=Outcome.UNDECIDED, answer__isnull=False, problem__retired_at__isnull=True)
        return live.exclude(problem__answer__isnull=True, problem__kind__in=_NEEDS_ANSWER)

    def without_score_by(self, prm: PRMVersion) -> SolutionQuerySet:
        """Solutions `prm` has neither scored nor refused."""
        return self.exclude(scores__prm=prm)

    def open(self) -> SolutionQuerySet:
        """Solutions whose score still decides something: their problem is unchosen or they wait for a person."""
        everything = self.model.objects.order_by()
        undecided = everything.filter(
            round__places__problem=F("problem"),
            round__places__generated_at__isnull=False,
            round__places__chosen_at__isnull=True,
            problem__retired_at__isnull=True,
        )
        waiting = everything.filter(queue_items__isnull=False, queue_items__done_at__isnull=True)
        return self.filter(Q(pk__in=undecided.values("pk")) | Q(pk__in=waiting.values("pk")))

    def unscored_by(self, prm: PRMVersion) -> SolutionQuerySet:
        """What waits for score: graded, open and without a score by `prm`. A new PRM makes all open ones wait."""
        return self.filter(outcome__isnull=False).open().without_score_by(prm)


class Solution(models.Model):
    """One sampled (or imported) solution of a problem."""

    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="solutions")
    round = models.ForeignKey(
        "annotate.Round", null=True, blank=True, on_delete=models.PROTECT, related_name="solutions"
    )
    sample_index = models.PositiveIntegerField(null=True, blank=True)
    generator = models.CharField(max_length=500, blank=True)
    text = models.TextField()
    text_hash = models.CharField(max_length=64, help_text="identical texts are queued once")
    answer = models.TextField(
        null=True, blank=True, help_text="extracted final answer; null where none was reached"
    )
    truncated = models.BooleanField(default=False, help_text="ran into max_new_tokens")
    n_tokens = models.PositiveIntegerField(default=0)

    outcome = models.CharField(
        max_length=9, null=True, blank=True, choices=[(o.value, o.value) for o in Outcome]
    )
    grade_reason = models.TextField(blank=True)
    grade_opinions = models.JSONField(default=list, blank=True, help_text="what each grader said")
    grade_ms = models.FloatField(null=True, blank=True)
    graded_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SolutionQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("problem", "round", "sample_index"), name="sample_once_a_round"),
            models.UniqueConstraint(
                fields=("problem", "text_hash"), condition=Q(round__isnull=True), name="imported_text_once"
            ),
            models.CheckConstraint(
                condition=Q(round__isnull=True, sample_index__isnull=True)
                | Q(round__isnull=False, sample_index__isnull=False),
                name="sample_index_with_round",
            ),
            models.CheckConstraint(
                condition=Q(outcome__isnull=True) | Q(outcome__in=[o.value for o in Outcome]),
                name="outcome_is_a_verdict",
            ),
        )
        indexes = (
            models.Index(
                fields=("id",), name="waits_for_grade", condition=Q(outcome__isnull=True, round__isnull=False)
            ),
            models.Index(
                fields=("problem",),
                name="waits_for_a_word",
                condition=Q(outcome="undecided", answer__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"solution {self.pk} of problem {self.problem_id}"


class Step(models.Model):
    """One step of a solution. Indexes are 0-based, as in every record format."""

    solution = models.ForeignKey(Solution, on_delete=models.CASCADE, related_name="steps")
    index = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ("index",)
        constraints = (models.UniqueConstraint(fields=("solution", "index"), name="step_index_once"),)
