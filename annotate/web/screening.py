"""`/screening/`: how a person's screening went, with each miss explained. Only what is over is shown."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.loop.screening import screening_of
from annotate.models import QualityPolicy

from .access import PersonRequest, annotator_required
from .gold import rated_steps


@annotator_required
@require_safe
def screening(request: PersonRequest) -> HttpResponse:
    person, policy = request.user, QualityPolicy.current()
    answers = []
    if person.gold_since is not None:
        # While an attempt goes on, its answers come after `gold_since`.
        over = (
            person.labels.screening_answers()
            .submitted()
            .filter(submitted_at__lte=person.gold_since, agrees_with_gold__isnull=False)
        )
        latest = over.select_related("gold").prefetch_related("ratings").order_by("-submitted_at")
        answers = list(latest[: policy.screening_items])
    missed = [
        {
            "label": label,
            "gold": label.gold,
            "rows": rated_steps(label),
            "accepted": sorted(index + 1 for index in label.gold.accepted if index >= 0),
            "may_be_right": -1 in label.gold.accepted,
        }
        for label in reversed(answers)
        if label.gold is not None and not label.agrees_with_gold
    ]
    context = {
        "asked": len(answers),
        "agreed": len(answers) - len(missed),
        "needed": policy.admission_bar,
        "missed": missed,
        "standing": screening_of(person),
    }
    return render(request, "screening/screening.html", context)
