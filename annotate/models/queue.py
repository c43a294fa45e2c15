"""What waits for a person, why it was chosen, and who holds it now."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from prm_backend.types import Arm

from .person import Person
from .prm import PRMVersion
from .problem import Problem
from .solution import Solution
from .statement import Given


class Way(models.TextChoices):
    """How a queue's solutions are labelled; a label keeps the way it was made."""

    FIRST_ERROR = "first_error", _("up to the first error")  # PRM800K's phase 2
    EVERY_STEP = "every_step", _("every step")
    STEP_BY_STEP = "step_by_step", _("step by step, with the model")  # PRM800K's phase 1


ARMS = {  # why a solution was chosen, in words
    Arm.CONVINCING_WRONG.value: _("convincing wrong"),
    Arm.CONVINCING_REST.value: _("convincing rest"),
    Arm.CONTROL.value: _("control"),
}


class Queue(models.Model):
    """A labelling queue. Pausing it hands out nothing new; open work can be finished."""

    name = models.CharField(max_length=100, unique=True)
    way = models.CharField(max_length=12, choices=Way, default=Way.FIRST_ERROR)
    asks_further = models.BooleanField(
        default=False, help_text="after the first error: how far it got, a critique, alternative steps"
    )
    critiques = models.BooleanField(
        default=False,
        help_text="where it asks further, the model writes a critique to rate in place of one's own",
    )
    options = models.PositiveSmallIntegerField(
        default=4, help_text="next steps the model proposes at a time, in the ways that ask for them"
    )
    overlap = models.PositiveSmallIntegerField(default=1, help_text="people who label the same solution")
    overlap_share = models.FloatField(
        default=1.0, help_text="share of the solutions that `overlap` people label"
    )
    hints = models.BooleanField(default=False, help_text="show the PRM's guess of the first error")
    blind_share = models.FloatField(default=0.2, help_text="share of labels made without a hint all the same")
    asks_judge = models.BooleanField(
        default=False,
        help_text="as rounds fill it: where graders do not decide, the judge model does, if it can",
    )
    takes_rounds = models.BooleanField(default=False, help_text="rounds put what they choose here")
    paused_at = models.DateTimeField(null=True, blank=True)
    ordered_by = models.ForeignKey(
        PRMVersion,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="the PRM whose scores order what is open",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("takes_rounds",), condition=Q(takes_rounds=True), name="rounds_fill_one_queue"
            ),
            models.CheckConstraint(
                condition=Q(takes_rounds=False) | ~Q(way="step_by_step"), name="rounds_bring_whole_solutions"
            ),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="a_solution_needs_somebody"),
            models.CheckConstraint(condition=Q(options__gte=1, options__lte=9), name="one_to_nine_options"),
            models.CheckConstraint(
                condition=Q(overlap_share__gte=0, overlap_share__lte=1), name="overlap_share_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(blind_share__gte=0, blind_share__lte=1), name="blind_share_is_a_share"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def holds(self) -> str:
        """What its items are of: "solution" or "problem"."""
        return "problem" if self.way == Way.STEP_BY_STEP else "solution"


class RowByRow(Exists):
    """EXISTS that is asked of one item after the other, in the queue's order, until one is found to give out.

    Left alone, PostgreSQL makes a join of it, and where it misjudges the join it reads and sorts the whole queue: eight
    seconds a claim with a million items. A subquery with an OFFSET stays what it is.
    """

    template = "EXISTS(%(subquery)s OFFSET 0)"


class QueueItemQuerySet(models.QuerySet["QueueItem"]):
    def open(self) -> QueueItemQuerySet:
        """What waits for label, leased or not."""
        return self.filter(done_at__isnull=True)

    def chosen(self) -> QueueItemQuerySet:
        """Leave out gold, which was chosen by nothing and made for one person."""
        return self.filter(gold__isnull=True)

    def of_live_problems(self, *kinds: str) -> QueueItemQuerySet:
        """Leave out what belongs to a retired problem: nobody is given it any more. `kinds` as in `free`."""
        retired = Problem.objects.filter(retired_at__isnull=False)
        # One look-up by key each, not an OR, which reads all that is retired every time.
        found = {
            "solution": retired.filter(solutions=OuterRef("solution")),
            "problem": retired.filter(pk=OuterRef("problem")),
        }
        return self.filter(*(~RowByRow(found[kind]) for kind in kinds or found))

    def for_person(self, person: Person | Given, *kinds: str) -> QueueItemQuerySet:
        """Leave out what this person has labelled, put aside, or has in hand already. `kinds` as in `free`."""
        from .label import Label  # which knows queues

        mine = Label.objects.filter(
            Q(submitted_at__isnull=False) | Q(skipped_at__isnull=False), annotator=person
        )
        found = {
            "solution": mine.filter(solution=OuterRef("solution")),
            "problem": mine.filter(solution=None, queue_item__isnull=False, problem=OuterRef("problem")),
        }
        # Another copy of what they rate now is not to be fetched ahead of it.
        held = QueueItem.objects.open().filter(leased_by=person)
        in_hand = {kind: held.filter(**{kind: OuterRef(kind)}) for kind in found}
        asked = [rows[kind] for kind in kinds or found for rows in (found, in_hand)]
        return self.filter(*(~RowByRow(rows) for rows in asked))

    def free(self, *kinds: str) -> QueueItemQuerySet:
        """Open and in nobody's hands, in the order people get them.

        `kinds` are what the items hold, "solution" or "problem", where that is known: no more is asked then.
        """
        free = self.open().chosen().handed_out(*kinds).filter(leased_by__isnull=True)
        return free.order_by("-priority", "id")

    def handed_out(self, *kinds: str) -> QueueItemQuerySet:
        """Leave out what nobody new is given: a paused queue's, a retired problem's. `kinds` as in `free`."""
        # A subquery, not a join: a claim locks its item, and must not lock the queue with it.
        running = Queue.objects.filter(paused_at__isnull=True)
        return self.of_live_problems(*kinds).filter(queue__in=running)

    def fetched_ahead(self) -> QueueItemQuerySet:
        """What its person has not in hand yet; it was leased to come next."""
        return self.open().filter(leased_by__isnull=False, ahead=True)

    def next_for(self, person: Person | Given, queue: Queue | Given, kind: str) -> QueueItemQuerySet:
        """What the person may be given of a queue, which holds one kind of items, as in `free`."""
        return self.free(kind).filter(queue=queue).for_person(person, kind)

    def leased(self) -> QueueItemQuerySet:
        return self.open().filter(leased_by__isnull=False)

    def expired(self) -> QueueItemQuerySet:
        return self.leased().filter(lease_expires_at__lt=timezone.now())

    def by_arm(self) -> models.QuerySet[QueueItem, dict[str, Any]]:
        """Per queue and arm: items `waiting`, `held` and `done`."""
        done, held = Q(done_at__isnull=False), Q(done_at__isnull=True, leased_by__isnull=False)
        return (
            self.order_by()
            .filter(gold__isnull=True)
            .values("queue_id", "arm")
            .annotate(
                waiting=Count("pk", filter=~done & ~held),
                held=Count("pk", filter=held),
                done=Count("pk", filter=done),
            )
            .order_by("queue_id", "arm")
        )


def _random_id() -> int:
    return secrets.randbelow(2**53 - 1) + 1  # what a browser counts exactly


class QueueItem(models.Model):
    """One solution for one person, with the whole record of why it was chosen (prm_backend.types.Choice).

    `score` and `prm` are what chose it and never change; `priority` is today's order and follows the serving PRM.
    A solution for k people is k items, its copies 0 to k-1. Step by step there is a problem in place of a solution.
    A gold item is made for the person it is given to, and was chosen by nothing.
    """

    id = models.PositiveBigIntegerField(
        primary_key=True, default=_random_id, help_text="random: it tells nothing of how the item came to be"
    )
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="items")
    solution = models.ForeignKey(
        Solution, null=True, blank=True, on_delete=models.PROTECT, related_name="queue_items"
    )
    problem = models.ForeignKey(
        Problem,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="queue_items",
        help_text="where the solution grows while it is rated; else null",
    )
    copy = models.PositiveSmallIntegerField(default=0)
    gold = models.ForeignKey(
        "annotate.Gold", null=True, blank=True, on_delete=models.PROTECT, related_name="items"
    )
    arm = models.CharField(max_length=16, blank=True, choices=list(ARMS.items()))
    strategy = models.CharField(max_length=100)
    rank = models.PositiveIntegerField(default=1, help_text="1-based within the arm's order")
    score = models.FloatField(null=True, blank=True, help_text="log-product by `prm`, when chosen")
    propensity = models.FloatField(
        default=1, help_text="probability in (0, 1] that this draw would choose it"
    )
    prm = models.ForeignKey(
        PRMVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="chosen_items"
    )
    random_key = models.FloatField(help_text="uniform in [0, 1), seeded; the order of the control arm")
    priority = models.FloatField(help_text="higher is sooner")

    leased_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="leases"
    )
    lease_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    ahead = models.BooleanField(
        default=False,
        db_default=False,
        help_text="leased ahead of the one its person rates now: it comes next, and the lease is not renewed",
    )
    done_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = QueueItemQuerySet.as_manager()
    rules: int | None  # by `annotate.loop.take`

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("queue", "solution", "copy"),
                condition=Q(gold__isnull=True),
                name="solution_copied_once_a_queue",
            ),
            models.UniqueConstraint(fields=("queue", "problem", "copy"), name="problem_copied_once_a_queue"),
            models.CheckConstraint(
                condition=Q(solution__isnull=True, problem__isnull=False)
                | Q(solution__isnull=False, problem__isnull=True),
                name="a_solution_or_a_problem",
            ),
            models.CheckConstraint(
                condition=Q(arm="") | Q(prm__isnull=False, score__isnull=False), name="chosen_by_a_score"
            ),
            models.UniqueConstraint(
                fields=("leased_by", "ahead"),
                condition=Q(leased_by__isnull=False, done_at__isnull=True),
                name="one_lease_a_person",  # and one ahead of it
            ),
            models.CheckConstraint(
                condition=Q(propensity__gt=0, propensity__lte=1), name="propensity_is_a_probability"
            ),
        )
        indexes = (
            models.Index(
                "queue",
                models.F("priority").desc(),
                "id",
                name="next_free_item",
                condition=Q(done_at__isnull=True, leased_by__isnull=True),
            ),
            models.Index(
                fields=("lease_expires_at",),
                name="lease_expiry",
                condition=Q(done_at__isnull=True, leased_by__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"item {self.pk}"

    @property
    def subject(self) -> Problem:
        """The problem it is about, whether a solution of it is served or grows."""
        if self.problem is not None:
            return self.problem
        assert self.solution is not None  # a_solution_or_a_problem
        return self.solution.problem
