"""`/quality/agreement/`: how far people who label the same solutions agree, as the worker last measured it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate.loop.agreement import KIND, SOLUTIONS, measured
from annotate.loop.jobs import enqueue_job
from annotate.models import Job, Person

from .access import PersonRequest, manager_required
from .acts import act
from .plots import Span, interval_chart


@manager_required
@require_safe
def agreement(request: PersonRequest) -> HttpResponse:
    job = measured()
    found = job.result if job is not None else {}
    overall = [
        (
            _("Step ratings"),
            _("Krippendorff’s alpha, ordinal: bad is further from great than from okay"),
            found.get("steps"),
        ),
        (
            _("First error"),
            _("Krippendorff’s alpha, nominal: the same step or another"),
            found.get("first_error"),
        ),
    ]
    pairs = _pairs(found.get("pairs", []))
    context = {
        "job": job,
        "found": found,
        "overall": [(name, note, one) for name, note, one in overall if one],
        "overall_chart": _chart(
            _("Agreement of everybody"), [(name, one) for name, _, one in overall if one]
        ),
        "pairs": pairs,
        "pairs_chart": _chart(
            _("Agreement of each pair"), [(pair["names"], pair["kappa"]) for pair in pairs[:12]]
        ),
        "running": Job.objects.active().filter(kind=KIND).exists(),
        "failed": Job.objects.failures().filter(kind=KIND).first(),
        "most": SOLUTIONS,
    }
    return render(request, "quality/agreement.html", context)


@manager_required
@require_POST
def measure(request: PersonRequest) -> HttpResponse:
    def do() -> str:
        enqueue_job(KIND, by=request.user)
        return _("A worker measures it; the figures come here.")

    return act(request, do, back_to="agreement")


def _pairs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = dict(
        Person.objects.filter(pk__in={pk for row in rows for pk in row["people"]}).values_list(
            "pk", "username"
        )
    )
    return [
        row | {"names": get_text_list([names.get(pk, _("somebody")) for pk in row["people"]], _("and"))}
        for row in rows
    ]


def _chart(title: str, rows: list[tuple[str, dict[str, Any]]]) -> Any:
    spans = [Span(name, one["value"], one["low"], one["high"]) for name, one in rows]
    return interval_chart(title=title, spans=spans, x_range=(-0.2, 1.0), mark=0.0)
