"""`/`: everybody is sent to their own work."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect

from .access import PersonRequest


def home(request: PersonRequest) -> HttpResponse:
    """Managers to the progress page, annotators to the next solution."""
    if request.user.is_manager:
        return redirect("progress")
    if request.user.is_annotator:
        return redirect("label")
    raise PermissionDenied("You have no role yet. Ask a manager to make you an annotator or a manager.")
