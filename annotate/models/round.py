"""Rounds and the problems' places in them. A Round is PRM800K's `generation`, named so only in exports."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from prm_backend.config import SelectionConfig
from prm_backend.types import Sampling

from .prm import PRMVersion
from .problem import Problem
from .solution import Solution


class RoundQuerySet(models.QuerySet["Round"]):
    def running(self) -> RoundQuerySet:
        """Rounds that still have problems to sample or to choose from."""
        return self.filter(Exists(RoundProblem.objects.filter(round=OuterRef("pk")).unchosen()))


class Round(models.Model):
    """One turn of the loop over a set of problems, with everything that decided how it was sampled and chosen."""

    number = models.PositiveIntegerField(unique=True)
    problems = models.ManyToManyField(Problem, through="RoundProblem", related_name="rounds")
    generator = models.CharField(
        max_length=500, help_text="MODEL as it was: a directory, a hub id or openai:…"
    )
    seed = models.PositiveBigIntegerField()
    samples_per_problem = models.PositiveIntegerField(default=8)
    temperature = models.FloatField(default=1.0)
    top_p = models.FloatField(default=1.0)
    max_new_tokens = models.PositiveIntegerField(default=220)
    prompt_template = models.TextField()
    quota = models.PositiveIntegerField(default=3, help_text="solutions chosen per problem")
    wrong_share = models.FloatField(default=0.8)
    control_share = models.FloatField(default=0.1)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.CheckConstraint(condition=Q(samples_per_problem__gte=1), name="round_has_samples"),
            models.CheckConstraint(condition=Q(quota__gte=1), name="round_has_quota"),
        )

    def __str__(self) -> str:
        return f"Round {self.number}"

    @property
    def sampling(self) -> Sampling:
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_new_tokens=self.max_new_tokens,
            prompt_template=self.prompt_template,
        )

    @property
    def selection(self) -> SelectionConfig:
        return SelectionConfig(
            quota=self.quota, control_share=self.control_share, wrong_share=self.wrong_share
        )


class RoundProblemQuerySet(models.QuerySet["RoundProblem"]):
    def short_of_solutions(self) -> RoundProblemQuerySet:
        """What waits for generate, in the round's own order."""
        return self.filter(generated_at__isnull=True, problem__retired_at__isnull=True).order_by(
            "round__number", "position"
        )

    def unchosen(self) -> RoundProblemQuerySet:
        return self.filter(chosen_at__isnull=True, problem__retired_at__isnull=True)

    def ready_to_choose(self, prm: PRMVersion) -> RoundProblemQuerySet:
        """What waits for enqueue: sampled, every solution graded, and scored (or refused) by `prm`."""
        solutions = Solution.objects.filter(round=OuterRef("round"), problem=OuterRef("problem"))
        return self.unchosen().filter(
            ~Exists(solutions.ungraded()),
            ~Exists(solutions.without_score_by(prm)),
            generated_at__isnull=False,
        )


class RoundProblem(models.Model):
    """A problem's place in a round; two timestamps, each set once, say how far it has come."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="places")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="places")
    position = models.PositiveIntegerField(help_text="order of work within the round")
    generated_at = models.DateTimeField(null=True, blank=True)
    chosen_at = models.DateTimeField(null=True, blank=True)
    failure = models.TextField(
        blank=True, help_text="why no solution could be sampled; empty where sampling worked"
    )

    objects = RoundProblemQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("round", "problem"), name="problem_once_a_round"),
            models.CheckConstraint(
                condition=Q(chosen_at__isnull=True) | Q(generated_at__isnull=False),
                name="chosen_after_generated",
            ),
        )
        indexes = (
            models.Index(
                F("round"), F("position"), name="waits_for_generate", condition=Q(generated_at__isnull=True)
            ),
            models.Index(F("round"), name="waits_for_enqueue", condition=Q(chosen_at__isnull=True)),
        )
