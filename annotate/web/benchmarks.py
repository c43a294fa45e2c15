"""Benchmarks on the pages of models: sent, removed, and what each version scores on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from annotate.errors import PlumblineError
from annotate.loop import benchmark as verbs
from annotate.loop.waiting import call
from annotate.models import Benchmark, Measurement, PRMVersion

from .access import PersonRequest, manager_required
from .acts import act
from .plots import Span, interval_chart
from .report import number

# What figures are kept at, as `loop.benchmark` names them; the first is what versions are compared by.
THRESHOLDS: dict[str, str | Promise] = {
    "crossed": gettext_lazy("tuned on one half for the other"),
    "own": gettext_lazy("its own, from its labels"),
    "tuned": gettext_lazy("best on these very samples"),
}
CHARTED = 12  # versions


@dataclass(frozen=True)
class Row:
    """A version on a benchmark at one threshold, F1 with its interval beside that of another version."""

    where: str | Promise
    threshold: str
    f1: str
    interval: str
    on_errors: str
    on_correct: str
    before: str


@dataclass(frozen=True)
class Measured:
    measurement: Measurement
    rows: list[Row]


def measured(version: PRMVersion, before: int | None) -> list[Measured]:
    """The version's measurements; beside each the F1 of version `before`. Two queries."""
    then = Measurement.objects.none() if before is None else Measurement.objects.measured()
    of_before = {one.benchmark_id: one.figures or {} for one in then.filter(version__number=before or 0)}
    return [
        Measured(one, _rows(one.figures or {}, of_before.get(one.benchmark_id, {})))
        for one in version.measurements.select_related("benchmark")
    ]


def f1(version: PRMVersion) -> str:
    """The F1 a list shows: on the first benchmark. Prefetch `measurements`."""
    for one in sorted(version.measurements.all(), key=lambda one: one.benchmark_id):
        if found := _compared(one):
            return number(found["f1"], 3)
    return "–"


def charts(benchmarks: Iterable[Benchmark]) -> dict[int, SafeString | None]:
    """F1 of the latest versions on each benchmark: what a growing set of held-out labels cannot tell."""
    drawn = {}
    for benchmark in benchmarks:
        rows = benchmark.measurements.measured().select_related("version").order_by("-version__number")
        spans = [
            Span(f"v{one.version.number}", found["f1"], found["low"], found["high"])
            for one in rows[:CHARTED]
            if (found := _compared(one))
        ]
        title = _("F1 on %(benchmark)s by version") % {"benchmark": benchmark}
        drawn[benchmark.pk] = interval_chart(title=title, spans=spans, x_range=(0, 1))
    return drawn


@manager_required
@require_POST
def send(request: PersonRequest) -> HttpResponse:
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, _("Choose a file first."))
        return redirect("versions")
    try:
        benchmark = verbs.add_benchmark(file=file, by=request.user)
    except PlumblineError as error:
        messages.error(request, str(error))
    else:
        call("benchmark")
        messages.success(
            request, _("%(name)s is here. The workers measure what serves, and each new version.") % {"name": benchmark}
        )  # fmt: skip
    return redirect("versions")


@manager_required
@require_POST
def remove(request: PersonRequest, pk: int) -> HttpResponse:
    benchmark = get_object_or_404(Benchmark, pk=pk)

    def do() -> str:
        verbs.remove_benchmark(benchmark=benchmark)
        return _("%(name)s is removed.") % {"name": benchmark}

    return act(request, do, back_to="versions")


@manager_required
@require_POST
def measure(request: PersonRequest, number: int) -> HttpResponse:
    version = get_object_or_404(PRMVersion, number=number)

    def do() -> str:
        verbs.ask_to_measure(version=version)
        call("benchmark")
        return _("The workers measure %(version)s.") % {"version": f"v{version.number}"}

    return act(request, do, back_to=version.get_absolute_url())


def _rows(figures: dict[str, Any], before: dict[str, Any]) -> list[Row]:
    rows = []
    for name, where in THRESHOLDS.items():
        if found := figures.get(name):
            then = before.get(name) or {}
            rows.append(
                Row(
                    where,
                    number(found["threshold"], 3),
                    number(found["f1"], 3),
                    f"{number(found['low'], 2)}–{number(found['high'], 2)}",
                    number(found["error_accuracy"], 3),
                    number(found["correct_accuracy"], 3),
                    number(then.get("f1"), 3),
                )
            )
    return rows


def _compared(one: Measurement) -> dict[str, Any] | None:
    figures = one.figures or {}
    return figures.get("crossed") or figures.get("tuned")
