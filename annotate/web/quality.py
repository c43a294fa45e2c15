"""`/quality/`: how far labels can be trusted, person by person, and what managers ask. One verb a button."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.loop import gold as gold_verbs
from annotate.loop import screening as screening_verbs
from annotate.loop.hints import Side, effects
from annotate.loop.policy import PolicyForm
from annotate.loop.standing import standings
from annotate.models import Concern, Gold, Label, Person, QualityPolicy, Queue, QueueItem, StepScore
from prm_backend.evaluation.intervals import wilson

from .access import PersonRequest, manager_required
from .acts import act
from .plots import Span, interval_chart

_SCORED = Exists(
    StepScore.objects.filter(step__solution=OuterRef("solution"))
)  # of a row that has a solution
_SHARES = (  # what is compared, and of what it is a share
    (gettext_lazy("name an error"), "with_error", "labels"),
    (gettext_lazy("as the model guesses"), "as_guessed", "labels"),
    (gettext_lazy("agree with gold"), "gold_agreed", "gold"),
    (gettext_lazy("agree with each other"), "same", "pairs"),
    (gettext_lazy("steps rated bad"), "bad", "steps"),
)


@manager_required
@require_safe
def quality(request: PersonRequest) -> HttpResponse:
    context = {
        "standings": standings(),
        "policy": QualityPolicy.current(),
        "n_concerns": Concern.objects.open().count(),
        "n_disputed": Label.objects.disputed_solutions().count(),
    }
    return render(request, "quality/quality.html", context)


@manager_required
@require_safe
def hints(request: PersonRequest) -> HttpResponse:
    """What labels say with a hint beside what they say without one."""
    found = effects()
    rows = _shares(found)
    spans = [
        Span(f"{name}, {side}", one["share"], *one["interval"])
        for name, *sides in rows
        for side, one in zip((_("with a hint"), _("blind")), sides, strict=True)
        if one["share"] is not None
    ]
    context = {
        "with_hint": found and found[0],
        "blind": found and found[1],
        "rows": rows,
        "chart": interval_chart(title=_("Labels with a hint and blind ones"), spans=spans, x_range=(0, 1)),
        "queues": _with_hints(),
        "gold_unguessed": Gold.objects.in_use().filter(~_SCORED).count(),
    }
    return render(request, "quality/hints.html", context)


@manager_required
@require_http_methods(["GET", "POST"])
def policy(request: PersonRequest) -> HttpResponse:
    form = PolicyForm(request.POST or None, instance=QualityPolicy.current(), label_suffix="")
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("The policy is changed."))
        return redirect("quality_policy")
    context = {
        "form": form,
        "n_screening": Gold.objects.screening().count(),
        "n_gold": Gold.objects.mixed_in().count(),
    }
    return render(request, "quality/policy.html", context, status=400 if form.errors else 200)


@manager_required
@require_POST
def lift(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(Person, pk=pk)

    def do() -> str:
        gold_verbs.lift_pause(person=person, by=request.user)
        return _("%(name)s may label again; their gold answers are counted anew.") % {"name": person}

    return act(request, do, back_to="quality")


@manager_required
@require_POST
def admit(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(Person, pk=pk)

    def do() -> str:
        screening_verbs.admit(person=person, by=request.user)
        return _("%(name)s is admitted.") % {"name": person}

    return act(request, do, back_to="quality")


@manager_required
@require_POST
def screen_again(request: PersonRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(Person, pk=pk)

    def do() -> str:
        screening_verbs.screen_again(person=person, by=request.user)
        return _("%(name)s may take the screening again.") % {"name": person}

    return act(request, do, back_to="quality")


def _with_hints() -> list[Queue]:
    """The queues that show hints, each with `unguessed`: open solutions that no PRM has scored, so without a hint."""
    queues = list(Queue.objects.filter(hints=True).order_by("name"))
    open_items = QueueItem.objects.open().chosen().filter(queue__in=queues, solution__isnull=False)
    counts = open_items.filter(~_SCORED)
    unguessed = dict(counts.order_by().values_list("queue").annotate(n=Count("solution", distinct=True)))
    for queue in queues:
        queue.unguessed = unguessed.get(queue.pk, 0)  # type: ignore[attr-defined]
    return queues


def _shares(found: tuple[Side, Side] | None) -> list[tuple[str | Promise, dict[str, Any], dict[str, Any]]]:
    """Each share with a hint and blind."""
    if found is None:
        return []
    return [
        (name, _share(found[0], part, whole), _share(found[1], part, whole)) for name, part, whole in _SHARES
    ]


def _share(side: Side, part: str, whole: str) -> dict[str, Any]:
    n, of = getattr(side, part), getattr(side, whole)
    share = n / of if of else None
    return {"n": n, "of": of, "share": share, "interval": wilson(n, of)}
