"""`/quality/gold/`: gold made of labels in two clicks, looked through, retired. One verb a button."""

from __future__ import annotations

import re
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.errors import PlumblineError
from annotate.loop import gold as verbs
from annotate.models import Gold, Label, StepRating

from .access import PersonRequest, manager_required
from .acts import act
from .prose import parts

_PER_PAGE = 25
_INDEX = re.compile(r"-?[0-9]{1,9}")
_JUDGED = Q(answers__submitted_at__isnull=False)


@manager_required
@require_safe
def gold(request: PersonRequest) -> HttpResponse:
    """What is gold, and the latest labels that could become it."""
    rows = Gold.objects.select_related("created_by").annotate(
        n_answers=Count("answers", filter=_JUDGED),
        n_agreed=Count("answers", filter=_JUDGED & Q(answers__agrees_with_gold=True)),
    )
    golden = Gold.objects.filter(solution=OuterRef("solution"))
    whole = Label.objects.on_whole_solutions().filter(~Exists(golden))
    labels = whole.with_first_error().select_related("annotator").order_by("-submitted_at", "-id")
    context = {
        "golds": Paginator(rows.order_by("retired_at", "-created_at"), _PER_PAGE).get_page(
            request.GET.get("page")
        ),
        "labels": labels[:_PER_PAGE],
        "n_mixed_in": Gold.objects.mixed_in().count(),
        "n_screening": Gold.objects.screening().count(),
    }
    return render(request, "quality/gold.html", context)


@manager_required
@require_http_methods(["GET", "POST"])
def make(request: PersonRequest, pk: int) -> HttpResponse:
    """One label: which steps may be called the first error, suggested as the label has it."""
    label = get_object_or_404(
        Label.objects.submitted().with_first_error().filter(solution__isnull=False), pk=pk
    )
    accepted, refused = [label.first_error], ""
    if request.method == "POST":
        accepted = _accepted(request)
        try:
            made = verbs.make_gold(
                label=label,
                accepted=accepted,
                explanation=request.POST.get("explanation", ""),
                screens="screens" in request.POST,
                by=request.user,
            )
        except PlumblineError as error:
            refused = str(error)
        else:
            return act(request, lambda: _("Gold %(n)s is made.") % {"n": made.pk}, back_to="gold")
    context = {"label": label, "rows": rated_steps(label), "accepted": accepted, "refused": refused}
    return render(request, "quality/make_gold.html", context, status=400 if refused else 200)


@manager_required
@require_http_methods(["GET", "POST"])
def correct(request: PersonRequest, pk: int) -> HttpResponse:
    """Which steps a gold accepts, changed; or the gold withdrawn (`withdraw`). Answers given are judged anew."""
    found = get_object_or_404(Gold.objects.select_related("source__annotator"), pk=pk)
    accepted, refused = found.accepted, ""
    if request.method == "POST":
        accepted = _accepted(request)
        try:
            if "withdraw" in request.POST:
                then = verbs.withdraw_gold(gold=found)
            else:
                then = verbs.correct_gold(gold=found, accepted=accepted)
        except PlumblineError as error:
            refused = str(error)
        else:
            return act(request, lambda: _what_followed(found, then), back_to="gold")
    given = rated_steps(found.source) if found.source else steps_of(found.question, {})
    answers = found.answers.submitted().with_first_error().select_related("annotator")
    context = {
        "gold": found,
        "rows": given,
        "accepted": accepted,
        "refused": refused,
        "answers": answers.order_by("-submitted_at", "-id")[:_PER_PAGE],
    }
    return render(request, "quality/correct_gold.html", context, status=400 if refused else 200)


def _what_followed(gold: Gold, then: verbs.Rejudged) -> str:
    said = ngettext(
        "Gold %(n)s: %(answers)s answer judged anew.",
        "Gold %(n)s: %(answers)s answers judged anew.",
        then.answers,
    ) % {"n": gold.pk, "answers": then.answers}
    if then.resumed:
        said += " " + _("Paused no more: %(names)s.") % {"names": ", ".join(map(str, then.resumed))}
    if then.refused:
        names = ", ".join(map(str, then.refused))
        said += " " + _("Screened with it and not admitted: %(names)s.") % {"names": names}
    return said


@manager_required
@require_POST
def retire(request: PersonRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Gold, pk=pk)

    def do() -> str:
        verbs.retire_gold(gold=found)
        return _("Gold %(n)s is served to nobody new; answers given keep their judgement.") % {"n": found.pk}

    return act(request, do, back_to="gold")


@manager_required
@require_POST
def use(request: PersonRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Gold, pk=pk)

    def do() -> str:
        verbs.use_gold(gold=found)
        return _("Gold %(n)s is in use again.") % {"n": found.pk}

    return act(request, do, back_to="gold")


def rated_steps(label: Label) -> list[dict[str, Any]]:
    """The steps a label was served, each with its `rating` row if it has one."""
    return steps_of(label.question, {row.step_index: row for row in label.ratings.all() if row.option == 0})


def steps_of(question: dict[str, Any], given: dict[int, StepRating]) -> list[dict[str, Any]]:
    return [
        {"index": index, "number": index + 1, "rating": given.get(index), **parts(text)}
        for index, text in enumerate(question.get("pre_generated_steps") or [])
    ]


def _accepted(request: PersonRequest) -> list[int]:
    return [int(value) for value in request.POST.getlist("accepted") if _INDEX.fullmatch(value)]
