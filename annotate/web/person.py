"""`/people/<id>/` and `/labels/<id>/`: what somebody has labelled, for managers to read. Changes nothing."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotate.models import Gold, Label, Person

from .access import PersonRequest, manager_required
from .work import as_given, recent, spans


@manager_required
@require_safe
def person(request: PersonRequest, pk: int) -> HttpResponse:
    """One person's labels, newest first; with `?only=missed` those that miss the gold they answer."""
    found = get_object_or_404(Person, pk=pk)
    labels = found.labels.submitted()
    missed = labels.filter(agrees_with_gold=False)
    only = "missed" if request.GET.get("only") == "missed" else ""
    context = {
        "person": found,
        "spans": spans(labels),
        "page": recent(missed if only else labels, request.GET.get("page")),
        "only": only,
        "n_missed": missed.count(),
        "n_answers": labels.filter(agrees_with_gold__isnull=False).count(),
    }
    return render(request, "people/person.html", context)


@manager_required
@require_safe
def label(request: PersonRequest, pk: int) -> HttpResponse:
    """A submitted label as it was given, beside what the gold says and who else rated the same solution."""
    submitted = Label.objects.submitted().with_first_error()
    found = get_object_or_404(
        submitted.select_related("annotator", "gold", "instructions", "queue_item__queue"), pk=pk
    )
    solution = found.solution_id or 0  # none where it grew while it was rated: nobody else has the same
    others = submitted.filter(solution=solution).exclude(pk=pk).select_related("annotator")
    golden = Gold.objects.filter(solution=solution)
    opinions = Label.objects.opinions().with_first_error().filter(solution=solution)
    context = as_given(found) | {
        "others": others.order_by("submitted_at", "id"),
        "apart": len({opinion.first_error for opinion in opinions}) > 1,
        "can_be_gold": Label.objects.on_whole_solutions().filter(pk=pk).exists() and not golden.exists(),
        "concerns": found.concerns.order_by("created_at"),
    }
    return render(request, "people/label.html", context)
