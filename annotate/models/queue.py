"""What waits for a person, why it was chosen, and who holds it now."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from prm_backend.types import Arm

from .person import Person
from .prm import PRMVersion
from .solution import Solution


class Queue(models.Model):
    """A labelling queue. Pausing it hands out nothing new; open work can be finished."""

    name = models.CharField(max_length=100, unique=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    ordered_by = models.ForeignKey(
        PRMVersion,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="the PRM whose scores order what is open",
    )

    def __str__(self) -> str:
        return self.name


class QueueItemQuerySet(models.QuerySet["QueueItem"]):
    def open(self) -> QueueItemQuerySet:
        """What waits for label, leased or not."""
        return self.filter(done_at__isnull=True)

    def free(self) -> QueueItemQuerySet:
        """Open and in nobody's hands, in the order people get them."""
        # A subquery, not a join: a claim locks its item, and must not lock the queue with it.
        running = Queue.objects.filter(paused_at__isnull=True)
        return self.open().filter(leased_by__isnull=True, queue__in=running).order_by("-priority", "id")

    def leased(self) -> QueueItemQuerySet:
        return self.open().filter(leased_by__isnull=False)

    def expired(self) -> QueueItemQuerySet:
        return self.leased().filter(lease_expires_at__lt=timezone.now())

    def by_arm(self) -> models.QuerySet[QueueItem, dict[str, Any]]:
        """Per queue and arm: items `waiting`, `held` and `done`."""
        done, held = Q(done_at__isnull=False), Q(done_at__isnull=True, leased_by__isnull=False)
        return (
            self.order_by()
            .values("queue_id", "arm")
            .annotate(
                waiting=Count("pk", filter=~done & ~held),
                held=Count("pk", filter=held),
                done=Count("pk", filter=done),
            )
            .order_by("queue_id", "arm")
        )

    def for_person(self, person: Person) -> QueueItemQuerySet:
        """Leave out what this person has already labelled."""
        mine = person.labels.submitted().filter(solution=OuterRef("solution"))
        return self.filter(~Exists(mine))


class QueueItem(models.Model):
    """One solution for one person, with the whole record of why it was chosen (prm_backend.types.Choice).

    `score` and `prm` are what chose it and never change; `priority` is today's order and follows the serving PRM.
    """

    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="items")
    solution = models.ForeignKey(Solution, on_delete=models.PROTECT, related_name="queue_items")
    arm = models.CharField(max_length=16, choices=[(a.value, a.value.replace("_", " ")) for a in Arm])
    strategy = models.CharField(max_length=100)
    rank = models.PositiveIntegerField(help_text="1-based within the arm's order")
    score = models.FloatField(help_text="log-product by `prm`, when chosen")
    propensity = models.FloatField(help_text="probability in (0, 1] that this draw would choose it")
    prm = models.ForeignKey(PRMVersion, on_delete=models.PROTECT, related_name="chosen_items")
    random_key = models.FloatField(help_text="uniform in [0, 1), seeded; the order of the control arm")
    priority = models.FloatField(help_text="higher is sooner")

    leased_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="leases"
    )
    lease_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = QueueItemQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("queue", "solution"), name="solution_once_a_queue"),
            models.UniqueConstraint(
                fields=("leased_by",),
                condition=Q(leased_by__isnull=False, done_at__isnull=True),
                name="one_lease_a_person",
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

    def is_held_by(self, person: Person) -> bool:
        return self.done_at is None and self.leased_by_id == person.pk
