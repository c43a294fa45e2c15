"""The quality programme: gold, what it asks of people, the instructions, and what waits for a manager's answer."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q, Subquery, Value
from django.db.models.functions import MD5, Cast, Coalesce, Concat
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .label import Label
from .person import Person
from .problem import Problem
from .solution import Solution
from .statement import Given

_MOST_ANSWERS = 200  # gold answers that can count, whatever a policy says


class QualityPolicyQuerySet(models.QuerySet["QualityPolicy"]):
    def with_answers(self, person: Person | Given, *, screening: bool) -> models.QuerySet[QualityPolicy]:
        """With `answers`: of the person's gold answers that count, newest first, whether each agrees.

        Those of the current screening, or those given while labelling.
        """
        labels = Label.objects.filter(annotator=person)
        given = labels.screening_answers() if screening else labels.gold_answers()
        counting = given.submitted().counting().order_by("-submitted_at", "-id").values("agrees_with_gold")
        return self.annotate(answers=ArraySubquery(counting[:_MOST_ANSWERS]))


class QualityPolicy(models.Model):
    """What managers ask of labels and people. There is one row; `QualityPolicy.current()` reads it."""

    screening = models.BooleanField(default=False, help_text="new annotators are screened on gold first")
    screening_items = models.PositiveSmallIntegerField(default=30)
    admission_bar = models.FloatField(
        default=0.75, help_text="share of the screening that must agree with gold"
    )
    screening_attempts = models.PositiveSmallIntegerField(default=2, help_text="screenings a person may take")
    gold_every = models.PositiveSmallIntegerField(
        default=0, help_text="about every how many items one is gold, unmarked; 0 mixes in none"
    )
    agreement_bar = models.FloatField(default=0.6, help_text="below this a person is paused")
    agreement_window = models.PositiveSmallIntegerField(
        default=20, help_text="latest gold answers that count"
    )
    undo_seconds = models.PositiveIntegerField(
        default=600, help_text="how long a submitted label can be taken back"
    )

    objects = QualityPolicyQuerySet.as_manager()
    answers: list[bool]  # by `with_answers`

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(pk=1), name="one_policy"),
            models.CheckConstraint(
                condition=Q(admission_bar__gte=0, admission_bar__lte=1)
                & Q(agreement_bar__gte=0, agreement_bar__lte=1),
                name="bars_are_shares",
            ),
        )

    @classmethod
    def current(cls) -> QualityPolicy:
        return cls.objects.get_or_create(pk=1)[0]

    def screens(self, person: Person) -> bool:
        """Whether this person has yet to pass a screening."""
        return self.screening and person.admitted_at is None

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.pk = 1
        super().save(*args, **kwargs)


class GoldQuerySet(models.QuerySet["Gold"]):
    def in_use(self) -> GoldQuerySet:
        return self.filter(retired_at__isnull=True)

    def screening(self) -> GoldQuerySet:
        return self.in_use().filter(screens=True)

    def mixed_in(self) -> GoldQuerySet:
        return self.in_use().filter(screens=False)

    def unmet_by(self, person: Person | Given) -> GoldQuerySet:
        """What this person neither made nor has a label on: not as gold, not before, not as its source."""
        met = Label.objects.filter(annotator=person, solution=OuterRef("solution"))
        return self.filter(~Exists(met), ~Q(created_by=person) | Q(created_by=None))

    def next_for(self, person: Person | Given) -> GoldQuerySet:
        """`unmet_by` in the person's own order, with `begun`: how many labels they have begun outside screenings."""
        labels = Label.objects.filter(
            annotator=person, is_initial_screening_question=False, adjudicates=False
        )
        count = labels.order_by().values("annotator").annotate(n=Count("pk")).values("n")
        who = person if isinstance(person, Given) else Value(person.pk)
        order = MD5(
            Concat(
                Cast("pk", models.TextField()), Value("/", models.TextField()), Cast(who, models.TextField())
            )
        )
        return self.unmet_by(person).annotate(**{"begun": Coalesce(Subquery(count), 0)}).order_by(order)


class Gold(models.Model):
    """A solution whose first error is agreed on. `accepted` holds every index it is reasonable to name; -1 for none.

    `question` is what its first annotator was served, so a gold item looks like any other.
    """

    solution = models.OneToOneField(Solution, on_delete=models.PROTECT, related_name="gold")
    question = models.JSONField()
    accepted = models.JSONField(help_text="0-based indexes of the steps that may be called the first error")
    explanation = models.TextField(blank=True, help_text="shown to those who missed it in a screening")
    screens = models.BooleanField(default=False, help_text="for the screening, never mixed in later")
    source = models.ForeignKey(Label, null=True, blank=True, on_delete=models.PROTECT, related_name="golds")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = GoldQuerySet.as_manager()
    begun: int  # by `next_for`

    def __str__(self) -> str:
        return f"gold {self.pk}"


class InstructionsManager(models.Manager["Instructions"]):
    def current(self) -> Instructions | None:
        """The version that holds now; None only where every version was deleted by hand."""
        return self.first()


class Instructions(models.Model):
    """A version of the rating rules. Versions only grow; a label keeps the one it was made under."""

    number = models.PositiveIntegerField(unique=True)
    text = models.TextField(help_text="markdown-light")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        verbose_name_plural = "instructions"

    objects = InstructionsManager()

    def __str__(self) -> str:
        return f"instructions {self.number}"

    @property
    def words(self) -> str:
        """The text; of the rules we ship (`annotate.models.rules`), in the reader's language."""
        return gettext(self.text)


class ConcernQuerySet(models.QuerySet["Concern"]):
    def open(self) -> ConcernQuerySet:
        return self.filter(resolved_at__isnull=True)


class Concern(models.Model):
    """Something an annotator noticed and a manager answers."""

    class Kind(models.TextChoices):
        UNSURE = "unsure", _("unsure of a step")
        ANSWER = "answer", _("disputes the answer")
        PROBLEM = "problem", _("bad problem")

    class Action(models.TextChoices):
        ANSWER_FIXED = "answer_fixed", _("the answer was corrected")
        PROBLEM_RETIRED = "problem_retired", _("the problem was retired")
        REPLIED = "replied", _("answered")

    kind = models.CharField(max_length=7, choices=Kind)
    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="concerns")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="concerns")
    step_index = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    action = models.CharField(max_length=15, blank=True, choices=Action)
    reply = models.TextField(blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="when the annotator saw the reply")

    objects = ConcernQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("label", "kind", "step_index"), nulls_distinct=False, name="concern_raised_once"
            ),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True) | ~Q(action=""), name="resolved_by_an_action"
            ),
        )
        indexes = (
            models.Index(fields=("created_at",), name="open_concerns", condition=Q(resolved_at__isnull=True)),
        )
