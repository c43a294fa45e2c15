"""People and their two roles. A person's `labeler` UUID is who they are in every export, whatever their name."""

from __future__ import annotations

import uuid
from functools import cached_property

from django.contrib.auth.models import AbstractUser
from django.db import models

ANNOTATOR = "annotator"
MANAGER = "manager"
ROLES = (ANNOTATOR, MANAGER)


class Person(AbstractUser):
    """A user of Plumbline. Roles are Django groups, so the admin and other tools see them too."""

    labeler = models.UUIDField(
        default=uuid.uuid4, unique=True, editable=False, help_text="PRM800K's `labeler` in exports"
    )

    @cached_property
    def role_names(self) -> frozenset[str]:
        return frozenset(self.groups.values_list("name", flat=True))

    @property
    def is_manager(self) -> bool:
        return self.is_superuser or MANAGER in self.role_names

    @property
    def is_annotator(self) -> bool:
        return ANNOTATOR in self.role_names
