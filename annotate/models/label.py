"""Labels and the step ratings they consist of. A submitted label never changes; every label is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from prm_backend.types import FinishReason, Rating

from .prm import PRMVersion
from .problem import Problem
from .queue import QueueItem, Way
from .solution import Solution
from .statement import Given

# What `Label.progress` counts.
HOW_FAR = (_("not at all"), _("some of the way"), _("most of the way"), _("nearly to the end"))


class Median(models.Aggregate):
    """PostgreSQL's continuous median."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = models.FloatField()


NO_ERROR = -1  # in place of the index of a first error
TOLD = (
    FinishReason.FOUND_ERROR,
    FinishReason.SOLUTION,
)  # the endings that say where the first error is, if any


class LabelQuerySet(models.QuerySet["Label"]):
    def submitted(self) -> LabelQuerySet:
        return self.filter(submitted_at__isnull=False)

    def drafts(self) -> LabelQuerySet:
        return self.filter(submitted_at__isnull=True)

    def at_hand(self) -> LabelQuerySet:
        """Drafts their people go on with by themselves: not those they put aside."""
        return self.drafts().filter(skipped_at__isnull=True)

    def opinions(self) -> LabelQuerySet:
        """What people said of whole solutions that others may say otherwise: no gold answer, decision or give-up."""
        return self.on_whole_solutions().filter(adjudicates=False)

    def on_whole_solutions(self) -> LabelQuerySet:
        """Opinions, and managers' decisions between them."""
        return self.submitted().teaching().filter(solution__isnull=False, finish_reason__in=TOLD)

    def disputed_solutions(self) -> models.QuerySet[Solution]:
        """Solutions whose labels name different first errors, or rate a step +1 and -1, and that nobody has decided."""
        # Most solutions have one opinion: what several people say is looked at for the others alone.
        told = self.opinions().order_by().values("solution").annotate(labels=Count("pk"))
        several = self.opinions().filter(solution__in=told.filter(labels__gt=1).values("solution"))
        apart = several.with_first_error().order_by().values("solution")
        apart = apart.annotate(low=Min("first_error"), high=Max("first_error"))
        steps = StepRating.objects.filter(label__in=several, option=0).order_by()
        both = steps.values("label__solution", "step_index").annotate(low=Min("rating"), high=Max("rating"))
        decided = Label.objects.filter(adjudicates=True, solution=OuterRef("pk"))
        return Solution.objects.filter(
            Q(pk__in=apart.filter(low__lt=F("high")).values("solution"))
            | Q(pk__in=both.filter(low=Rating.BAD, high=Rating.GREAT).values("label__solution")),
            ~Exists(decided),
        )

    def with_first_error(self) -> models.QuerySet[Label]:
        """With `first_error`: the 0-based index of the first served step rated -1, -1 for none."""
        bad = StepRating.objects.filter(label=OuterRef("pk"), option=0, rating=Rating.BAD).order_by(
            "step_index"
        )
        return self.annotate(**{"first_error": Coalesce(Subquery(bad.values("step_index")[:1]), NO_ERROR)})

    def gold_answers(self) -> LabelQuerySet:
        """Labels that answer gold mixed in among the rest."""
        return self.filter(gold__isnull=False, is_initial_screening_question=False)

    def screening_answers(self) -> LabelQuerySet:
        return self.filter(gold__isnull=False, is_initial_screening_question=True)

    def counting(self) -> LabelQuerySet:
        """Of gold answers, those that still count.

        Not the ones from before a manager's pardon or another attempt, nor those whose gold was withdrawn.
        """
        since = F("annotator__gold_since")
        judged = self.filter(agrees_with_gold__isnull=False)
        return judged.filter(Q(annotator__gold_since=None) | Q(submitted_at__gt=since))

    def teaching(self) -> LabelQuerySet:
        """Leave out answers to gold and to a screening: they judge the person, and train nothing."""
        return self.filter(is_quality_control_question=False, is_initial_screening_question=False)

    def submitted_since(self, moment: datetime | Given) -> LabelQuerySet:
        return self.filter(submitted_at__gte=moment)

    def paces(self) -> models.QuerySet[Label, dict[str, Any]]:
        """Per person `annotator__username`, `solutions` and the median `milliseconds` of work on one, most first."""
        return (
            self.order_by()
            .values("annotator__username")
            .annotate(solutions=Count("pk"), milliseconds=Median("total_time"))
            .order_by("-solutions", "annotator__username")
        )

    def untrained(self) -> LabelQuerySet:
        """What waits for snapshot and retrain: submitted, or imported, after the newest human version's snapshot."""
        snapshots = PRMVersion.objects.filter(snapshot__isnull=False).order_by("-number")
        newest = Coalesce(
            Subquery(snapshots.values("snapshot__created_at")[:1]), Value(datetime.fromtimestamp(0, UTC))
        )
        return self.submitted().teaching().filter(Q(submitted_at__gt=newest) | Q(created_at__gt=newest))

    def in_export_order(self) -> LabelQuerySet:
        """One order for every export, so the same state gives the same bytes."""
        return self.order_by("submitted_at", "id")


class Label(models.Model):
    """One person's labelling of one solution: a draft until `submitted_at` is set (PRM800K row).

    `question` is PRM800K's `question` object frozen when the work began: what this person was served. A later
    correction of the answer, or a better PRM, does not rewrite it.
    """

    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="labels")
    solution = models.ForeignKey(
        Solution,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="labels",
        help_text="null for phase-1 labels, whose solution grows while it is rated",
    )
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="labels")
    queue_item = models.ForeignKey(
        QueueItem, null=True, blank=True, on_delete=models.PROTECT, related_name="labels"
    )
    generation = models.IntegerField(null=True, blank=True, help_text="PRM800K generation; null in phase 1")
    is_quality_control_question = models.BooleanField(default=False)
    is_initial_screening_question = models.BooleanField(default=False)
    question = models.JSONField()
    total_time = models.PositiveBigIntegerField(default=0, help_text="active milliseconds")
    finish_reason = models.CharField(
        max_length=11, blank=True, choices=[(f.value, f.value) for f in FinishReason]
    )
    comment = models.TextField(blank=True, help_text="reason of a give-up or a bad problem")
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    reopened_at = models.DateTimeField(
        null=True, blank=True, help_text="when it was last taken back after a submit"
    )
    skipped_at = models.DateTimeField(
        null=True, blank=True, help_text="when its person put the draft aside for others to take"
    )
    way = models.CharField(max_length=12, choices=Way, default=Way.FIRST_ERROR)
    instructions = models.ForeignKey(
        "annotate.Instructions",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="labels",
        help_text="the version it was made under; null where imported",
    )
    gold = models.ForeignKey(
        "annotate.Gold", null=True, blank=True, on_delete=models.PROTECT, related_name="answers"
    )
    agrees_with_gold = models.BooleanField(
        null=True,
        blank=True,
        help_text="judged when submitted, and again when the gold is corrected; null once it is withdrawn",
    )
    adjudicates = models.BooleanField(
        default=False, help_text="a manager's decision between labels that disagree"
    )
    hinted = models.BooleanField(null=True, blank=True, help_text="null where its queue gives no hints")
    hint = models.IntegerField(
        null=True,
        blank=True,
        help_text="the first error as the PRM guessed it, -1 for none; shown if `hinted`",
    )
    progress = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="how far the solution got before its error: 0 not at all … 3 nearly there",
    )
    critique = models.TextField(blank=True, help_text="what is wrong with the first bad step")
    imported_hash = models.CharField(
        max_length=64, null=True, blank=True, unique=True, help_text="sha256 of the record an import read"
    )

    objects = LabelQuerySet.as_manager()
    first_error: int  # by `with_first_error`
    disputed: str | None  # by `annotate.loop.draft`

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("solution", "annotator"),
                condition=Q(adjudicates=False),
                name="one_label_a_person_and_solution",
            ),
            models.UniqueConstraint(
                fields=("solution",), condition=Q(adjudicates=True), name="one_adjudication_a_solution"
            ),
            models.UniqueConstraint(
                fields=("problem", "annotator"),
                condition=Q(solution__isnull=True, queue_item__isnull=False),
                name="one_grown_solution_a_person_and_problem",
            ),
            models.CheckConstraint(
                condition=Q(submitted_at__isnull=True) | ~Q(finish_reason=""),
                name="submitted_labels_say_why_they_ended",
            ),
        )
        indexes = (
            models.Index(
                fields=("submitted_at", "id"), name="export_order", condition=Q(submitted_at__isnull=False)
            ),
            models.Index(fields=("annotator",), name="open_drafts", condition=Q(submitted_at__isnull=True)),
            models.Index(
                fields=("annotator", "submitted_at"), name="gold_answers", condition=Q(gold__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"label {self.pk} by {self.annotator_id}"


class StepRating(models.Model):
    """The rating of one option of one step (PRM800K `label.steps[].completions[]`).

    Phase 2 serves one option a step: option 0. A `human` row is the annotator's own step (`human_completion`,
    option null); a `blank` row is PRM800K's all-null step, seen where a labeller gave up. A `critique` row is what the
    model says is wrong with the first error, rated as an option is.
    """

    class Source(models.TextChoices):
        MODEL = "model", "model"
        HUMAN = "human", "human"
        BLANK = "blank", "blank"
        CRITIQUE = "critique", "critique"

    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="ratings")
    step_index = models.PositiveIntegerField()
    option = models.PositiveSmallIntegerField(null=True, blank=True)
    source = models.CharField(max_length=8, choices=Source, default=Source.MODEL)
    text = models.TextField(blank=True)
    rating = models.SmallIntegerField(null=True, blank=True)
    flagged = models.BooleanField(null=True, blank=True, help_text='the labeller pressed "Unsure"')
    chosen = models.BooleanField(default=False, help_text="PRM800K `chosen_completion` names this option")
    rated_at = models.DateTimeField(
        null=True,
        default=timezone.now,
        help_text="when the rating was given, or taken back; null: never rated",
    )
    flagged_at = models.DateTimeField(null=True, blank=True, help_text="when the mark was set or taken off")
    active_ms = models.PositiveIntegerField(default=0, help_text="active milliseconds spent on this step")

    class Meta:
        ordering = ("step_index", "option")
        constraints = (
            models.UniqueConstraint(
                fields=("label", "step_index", "option"), nulls_distinct=False, name="option_rated_once"
            ),
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | Q(rating__in=[r.value for r in Rating]),
                name="rating_is_minus_one_zero_or_one",
            ),
            models.CheckConstraint(
                condition=Q(source="model", option__isnull=False)
                | (~Q(source="model") & Q(option__isnull=True)),
                name="only_model_steps_are_options",
            ),
        )
