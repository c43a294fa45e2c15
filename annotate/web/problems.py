"""`/problems/`: what the loop works on, newest first, a page at a time. Knows nothing of files."""

from __future__ import annotations

from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.models import Problem, Solution
from annotate.models.problem import UNANSWERED
from prm_backend.text.steps import storable

from .access import PersonRequest, manager_required

PAGE = 50


@manager_required
@require_safe
def problems(request: PersonRequest) -> HttpResponse:
    """A page by keyset: `?before=` an id, so page 2,000 costs what page 1 does. `?q=` finds words, or a number."""
    before, words = request.GET.get("before", ""), storable(request.GET.get("q", "")).strip()[:200]
    newest = Problem.objects.order_by("-pk")
    if words:
        number = Q(pk=int(words[:18])) if words.isdecimal() else Q()
        newest = newest.filter(Q(text__icontains=words) | number)
    if before.isdecimal():
        newest = newest.filter(pk__lt=int(before[:18]))
    rows = list(newest.annotate(n_solutions=Count("solutions"))[: PAGE + 1])
    context = {
        "problems": rows[:PAGE],
        "older": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "first_page": not before,
        "q": words,
        "n_undecided": Solution.objects.undecided().count(),
        "totals": Problem.objects.aggregate(
            all=Count("pk"),
            held_out=Count("pk", filter=Q(held_out=True)),
            retired=Count("pk", filter=Q(retired_at__isnull=False)),
            unanswered=Count("pk", filter=UNANSWERED),
        ),
    }
    return render(request, "problems/problems.html", context)
