"""`/problems/<id>/`: one problem and its solutions: how each was graded, what a PRM thinks of it, who labelled it.

Changes nothing.
"""

from __future__ import annotations

from django.db.models import F, Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotate.models import Label, Problem, SolutionScore, Step, StepScore

from .access import PersonRequest, manager_required
from .prose import parts

SHOWN = 50


@manager_required
@require_safe
def problem(request: PersonRequest, pk: int) -> HttpResponse:
    """The newest round's solutions first; a fixed number of queries, whatever it has."""
    found = get_object_or_404(Problem, pk=pk)
    # Of the newest version that read it: once it is labelled no other will.
    of_steps = StepScore.objects.order_by("step_id", "-prm__number").distinct("step_id")
    of_solutions = SolutionScore.objects.order_by("solution_id", "-prm__number").distinct("solution_id")
    labels = Label.objects.submitted().with_first_error().select_related("annotator").order_by("submitted_at")
    steps = Step.objects.order_by("index").prefetch_related(Prefetch("scores", of_steps, to_attr="now"))
    newest = found.solutions.order_by(F("round__number").desc(nulls_last=True), "sample_index", "pk")
    solutions = newest.select_related("round").prefetch_related(
        Prefetch("steps", steps, to_attr="in_order"),
        Prefetch("scores", of_solutions.select_related("prm"), to_attr="now"),
        Prefetch("labels", labels, to_attr="given"),
    )
    rows = [
        {
            "solution": solution,
            "score": next(iter(solution.now), None),
            "steps": [
                {"number": step.index + 1, "score": next(iter(step.now), None), **parts(step.text)}
                for step in solution.in_order
            ],
        }
        for solution in solutions[:SHOWN]
    ]
    context = {
        "problem": found,
        "rows": rows,
        "n_solutions": found.solutions.count(),
        "grown": labels.filter(problem=found, solution=None),
    }
    return render(request, "problems/problem.html", context)
