"""`/versions/`: what each PRM was trained on, how good it is, why it serves or not, and a manager's decision."""

from __future__ import annotations

from typing import Any

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate.loop import promote as verbs
from annotate.models import Benchmark, Job, PRMVersion

from . import benchmarks, report, sent
from .access import PersonRequest, manager_required
from .acts import act


@manager_required
@require_safe
def versions(request: PersonRequest) -> HttpResponse:
    here = list(Benchmark.objects.select_related("added_by"))
    charts = benchmarks.charts(here)
    context = {
        "versions": PRMVersion.objects.select_related("decided_by").prefetch_related("measurements")[:200],
        "previous": PRMVersion.objects.previous(),
        "benchmarks": [(benchmark, charts[benchmark.pk]) for benchmark in here],
    }
    return render(request, "versions/versions.html", context)


@manager_required
@require_safe
def version(request: PersonRequest, number: int) -> HttpResponse:
    one = get_object_or_404(PRMVersion.objects.select_related("snapshot", "decided_by"), number=number)
    compared_with = one.report.get("serving", {}).get("number")
    measured = benchmarks.measured(one, compared_with)
    context: dict[str, Any] = {
        "version": one,
        "previous": PRMVersion.objects.previous() if one.status == "promoted" else None,
        "figures": report.figures(one),
        "unmeasured": report.unmeasured(one),
        "charts": report.charts(one),
        "notes": one.report.get("notes", ()),
        "slices": report.slices(one),
        "sliced": [heading for heading, _digits in report.SLICED.values()],
        "measured": measured,
        "measuring": Job.objects.active().filter(kind="benchmark").first() if measured else None,
        "unasked": Benchmark.objects.exclude(measurements__in=[one.measurement for one in measured]).exists(),
        "compared_with": compared_with,
        "config": sorted(one.config.items()),
    }
    return render(request, "versions/version.html", context)


@manager_required
@require_safe
def labels(request: PersonRequest, number: int) -> FileResponse:
    """The very labels a version was trained on and measured by, as its snapshot kept them."""
    one = get_object_or_404(PRMVersion.objects.select_related("snapshot"), number=number)
    if one.snapshot is None:
        raise Http404("It was trained on grades alone.")
    try:
        file = default_storage.open(one.snapshot.path)
    except FileNotFoundError:
        raise Http404("The snapshot's file is gone.") from None
    return FileResponse(
        file, as_attachment=True, filename=f"labels-v{number}.jsonl", content_type="application/jsonl"
    )


@manager_required
@require_POST
def promote(request: PersonRequest, number: int) -> HttpResponse:
    one = get_object_or_404(PRMVersion, number=number)

    def do() -> str:
        serving = verbs.promote(version=one, by=request.user, reason=_reason(request) or "promoted by hand")
        return _("%(version)s serves now. The workers score what is open again.") % {
            "version": f"v{serving.number}"
        }

    return act(request, do, back_to=one.get_absolute_url())


@manager_required
@require_POST
def reject(request: PersonRequest, number: int) -> HttpResponse:
    one = get_object_or_404(PRMVersion, number=number)

    def do() -> str:
        verbs.reject(version=one, by=request.user, reason=_reason(request) or "rejected by hand")
        return _("%(version)s is rejected.") % {"version": f"v{one.number}"}

    return act(request, do, back_to=one.get_absolute_url())


@manager_required
@require_POST
def roll_back(request: PersonRequest) -> HttpResponse:
    def do() -> str:
        serving = verbs.roll_back(by=request.user, reason=_reason(request), to=sent.number(request, "to"))
        return _("%(version)s serves again.") % {"version": f"v{serving.number}"}

    return act(request, do, back_to="progress")


def _reason(request: PersonRequest) -> str:
    return request.POST.get("reason", "").strip()[:500]
