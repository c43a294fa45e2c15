"""Who may call what. Both roles see the same fields of a thing; a role decides which things."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotate.models import Person


class IsManager(BasePermission):
    message = _("This is for managers.")

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, Person) and request.user.is_manager


class IsAnnotator(BasePermission):
    message = _("This is for annotators.")

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, Person) and request.user.is_annotator


def caller(request: Request) -> Person:
    """The person who asks; the permissions above have let nobody else through."""
    assert isinstance(request.user, Person)
    return request.user
