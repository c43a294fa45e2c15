"""People and their two roles. A person's `labeler` UUID is who they are in every export, whatever their name."""

from __future__ import annotations

import uuid
from datetime import timedelta
from functools import cached_property
from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import Count, Max, Q
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

ANNOTATOR = "annotator"
MANAGER = "manager"
ROLE_NAMES = {ANNOTATOR: _("annotator"), MANAGER: _("manager")}
ROLES = tuple(ROLE_NAMES)


class PersonManager(UserManager["Person"]):
    use_in_migrations = False

    def with_work(self) -> models.QuerySet[Person]:
        """Everybody with `n_labels` (submitted) and `seen_at` (last login or labelling), by name; two queries."""
        return (
            self.annotate(
                n_labels=Count("labels", filter=Q(labels__submitted_at__isnull=False)),
                seen_at=Greatest("last_login", Max("labels__created_at"), Max("labels__submitted_at")),
            )
            .prefetch_related("groups")
            .order_by("-is_active", "username")
        )


class Person(AbstractUser):
    """A user of Plumbline. Roles are Django groups, so the admin and other tools see them too."""

    labeler = models.UUIDField(
        default=uuid.uuid4, unique=True, editable=False, help_text="PRM800K's `labeler` in exports"
    )

    keymap = models.JSONField(default=dict, blank=True, help_text="keys this person chose, by action")
    language = models.CharField(
        max_length=10, blank=True, help_text="of the pages; empty follows the browser"
    )
    practised_at = models.DateTimeField(null=True, blank=True, help_text="when the practice item was done")
    admitted_at = models.DateTimeField(null=True, blank=True, help_text="when the screening was passed")
    screenings = models.PositiveSmallIntegerField(default=0, help_text="screenings finished so far")
    gold_since = models.DateTimeField(
        null=True,
        blank=True,
        help_text="earlier answers to gold count no more: a screening ended, a pause was lifted",
    )
    suspended_at = models.DateTimeField(
        null=True, blank=True, help_text="paused: is given nothing to label until a manager lifts it"
    )
    suspension = models.TextField(blank=True, help_text="why, for the person and the managers")

    objects: ClassVar[PersonManager] = PersonManager()
    group_names: list[str]  # by `annotate.web.access`

    @cached_property
    def role_names(self) -> frozenset[str]:
        return frozenset(group.name for group in self.groups.all())

    @property
    def is_manager(self) -> bool:
        return self.is_superuser or MANAGER in self.role_names

    @property
    def is_annotator(self) -> bool:
        return ANNOTATOR in self.role_names


class LoginAttemptManager(models.Manager["LoginAttempt"]):
    def admits(self, *, username: str, address: str) -> LoginAttempt | None:
        """Write down an attempt to log in; None where too many failed lately and it must not be tried.

        The attempt is written before the password is checked, so a burst of parallel requests is counted too.
        Delete it when the password was right.
        """
        since = timezone.now() - LoginAttempt.WINDOW
        self.filter(at__lt=since).delete()
        attempt = self.create(username=username[:150].lower(), address=address)
        same_name, same_address = Q(username=attempt.username), Q(address=address)
        recent = self.filter(same_name | same_address).aggregate(
            both=Count("pk", filter=same_name & same_address),
            name=Count("pk", filter=same_name),
            address=Count("pk", filter=same_address),
        )
        widest = max(recent["name"], recent["address"])
        if recent["both"] <= LoginAttempt.LIMIT and widest <= LoginAttempt.WIDE_LIMIT:
            return attempt
        attempt.delete()  # what is refused does not lengthen the wait
        return None


class LoginAttempt(models.Model):
    """A login that failed, or is being tried. Rows, because every web process must count the same ones."""

    WINDOW = timedelta(minutes=15)
    LIMIT = 8  # for one name from one address
    WIDE_LIMIT = 100  # for one name from anywhere, and for one address whatever the name

    username = models.CharField(max_length=150)
    address = models.CharField(max_length=45, blank=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    objects = LoginAttemptManager()

    class Meta:
        indexes = (
            models.Index(fields=("username",), name="attempts_by_name"),
            models.Index(fields=("address",), name="attempts_by_address"),
        )
