"""`/work/`: what a person has labelled, today and in all, and each of their labels to read again.

Managers' replies are marked as seen when they are shown; nothing else changes. `annotate.web.person` shows managers the
same of others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate.loop import second_thoughts
from annotate.loop.concerns import replies_to
from annotate.loop.standing import agreement_before
from annotate.loop.work import followed, split
from annotate.models import HOW_FAR, Label, StepRating
from annotate.models.label import LabelQuerySet
from annotate.web.access import PersonRequest

from .access import annotator_required
from .prose import parts

_PER_PAGE = 25
_RATED = Q(ratings__rating__isnull=False)


@annotator_required
@require_safe
def mine(request: PersonRequest) -> HttpResponse:
    labels = request.user.labels.submitted().filter(adjudicates=False)
    context: dict[str, Any] = {"spans": spans(labels), "page": recent(labels, request.GET.get("page"))}
    context["replies"] = replies_to(request.user)
    # Up to last midnight: a figure that moved with a submit would tell what was gold.
    context["agreement"] = agreement_before(request.user, _midnight())
    context["done"] = second_thoughts.can_take_back(request.user)
    return render(request, "work/work.html", context)


@annotator_required
@require_safe
def label(request: PersonRequest, pk: int) -> HttpResponse:
    """One of the person's own submitted labels as they gave it."""
    found = get_object_or_404(request.user.labels.submitted(), pk=pk)
    return render(request, "work/label.html", as_given(found))


def spans(labels: LabelQuerySet) -> list[tuple[str, dict[str, Any]]]:
    """The figures of one person's labels, today and in all."""
    return [(_("Today"), _figures(labels.submitted_since(_midnight()))), (_("In all"), _figures(labels))]


def recent(labels: LabelQuerySet, page: str | None) -> Page:
    """A page of submitted labels, newest first, each with `n` ratings and its `first_error`."""
    newest = labels.with_first_error().order_by("-submitted_at", "-id").select_related("problem")
    return Paginator(newest.annotate(n=Count("ratings", _RATED)), _PER_PAGE).get_page(page)


def as_given(found: Label) -> dict[str, Any]:
    """What a submitted label says, step by step, for `work/label.html`."""
    served, others = split(found, found.ratings.all())
    options = [row for row in others if row.source == StepRating.Source.MODEL]
    critique = next((row for row in others if row.source == StepRating.Source.CRITIQUE), None)
    path = {row.step_index: row for row in followed(others)} or served
    texts = found.question.get("pre_generated_steps") or [row.text for row in path.values()]
    rows = [
        {
            "number": index + 1,
            "rating": path.get(index),
            "beside": [row for row in options if row.step_index == index and not row.chosen],
            **parts(text),
        }
        for index, text in enumerate(texts)
    ]
    far = None if found.progress is None else HOW_FAR[found.progress]
    return {"label": found, "rows": rows, "far": far, "critique": critique}


def _midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def _figures(labels: LabelQuerySet) -> dict[str, Any]:
    """`solutions`, `steps` and the median `milliseconds` of one person's labels."""
    pace = labels.paces().first() or {"solutions": 0, "milliseconds": None}
    steps = StepRating.objects.filter(label__in=labels, rating__isnull=False).count()
    return pace | {"steps": steps}
