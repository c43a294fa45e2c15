"""`/problems/undecided/`: answers that no grader could decide, each with what was said of it; a manager does."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotate.errors import PlumblineError
from annotate.loop import grade as verbs
from annotate.models import Solution
from prm_backend.types import Outcome

from .access import PersonRequest, manager_required
from .acts import act

SHOWN = 30
_WORDS = {"correct": Outcome.CORRECT, "wrong": Outcome.WRONG}


@manager_required
@require_safe
def undecided(request: PersonRequest) -> HttpResponse:
    """The oldest first, equal answers to one problem once."""
    waiting = Solution.objects.undecided()
    once = waiting.order_by("problem", "answer", "pk").distinct("problem", "answer")
    context = {"solutions": once.select_related("problem")[:SHOWN], "n_waiting": waiting.count()}
    return render(request, "problems/undecided.html", context)


@manager_required
@require_POST
def decide(request: PersonRequest, pk: int) -> HttpResponse:
    solution = get_object_or_404(Solution, pk=pk)

    def do() -> str:
        outcome = _WORDS.get(request.POST.get("outcome", ""))
        if outcome is None:
            raise PlumblineError(_("Say whether it is correct or wrong."))
        n = verbs.decide(solution=solution, outcome=outcome, by=request.user)
        right = outcome == Outcome.CORRECT
        said = _("The answer is correct.") if right else _("The answer is wrong.")
        counts = ngettext("It holds for %(n)s solution.", "It holds for %(n)s solutions.", n) % {"n": n}
        return f"{said} {counts}"

    return act(request, do, back_to="undecided")
