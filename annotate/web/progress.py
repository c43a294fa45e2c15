"""`/progress/`: the loop as it stands, live, and the buttons that move it. Counts are the QuerySets' own."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotate.loop import jobs, rounds
from annotate.loop.bootstrap import bootstrap_state
from annotate.loop.progress import loop_counts, round_standings, workers_state
from annotate.loop.retrain import request_retrain
from annotate.loop.waiting import WAITING
from annotate.models import Job, JobStatus, Label, Person, PRMVersion, Problem, Queue
from prm_backend.config import SelectionConfig

from .access import PersonRequest, manager_required
from .acts import act
from .live import live_page
from .records import job_name

ROUNDS = VERSIONS = 5
JOBS = 8


class RoundForm(forms.Form):
    """The three numbers a manager chooses for a round; the rest follows from settings."""

    problems = forms.IntegerField(
        label=gettext_lazy("Problems"), min_value=1, max_value=100_000, initial=rounds.PROBLEMS
    )
    samples_per_problem = forms.IntegerField(
        label=gettext_lazy("Samples each"), min_value=1, max_value=1000, initial=rounds.SAMPLES_PER_PROBLEM
    )
    quota = forms.IntegerField(
        label=gettext_lazy("To label each"), min_value=1, max_value=100, initial=SelectionConfig().quota
    )
    anyway = forms.BooleanField(required=False)


@manager_required
@require_safe
def progress(request: PersonRequest) -> HttpResponse:
    context = _figures()
    if not request.htmx:
        context |= {"form": RoundForm(), "usable": Problem.objects.usable().count()}
    return live_page(request, "progress/progress.html", context)


@manager_required
@require_POST
def start_round(request: PersonRequest) -> HttpResponse:
    form = RoundForm(request.POST)
    if not form.is_valid():
        for name, errors in form.errors.items():
            messages.error(request, f"{form.fields[name].label}: {' '.join(map(str, errors))}")
        return redirect("progress")

    def do() -> str:
        new = rounds.start_round(
            problems=form.cleaned_data["problems"],
            samples_per_problem=form.cleaned_data["samples_per_problem"],
            selection=SelectionConfig(quota=form.cleaned_data["quota"]),
            by=request.user,
            force=form.cleaned_data["anyway"],
        )
        return _("Round %(number)s has started.") % {"number": new.number}

    return act(request, do, back_to="progress")


@manager_required
@require_POST
def retrain(request: PersonRequest) -> HttpResponse:
    def do() -> str:
        job = request_retrain(by=request.user)
        waits = job.status == JobStatus.QUEUED
        return _("Retraining is asked for.") if waits else _("Retraining is under way already.")

    return act(request, do, back_to="progress")


@manager_required
@require_POST
def cancel_job(request: PersonRequest, pk: int) -> HttpResponse:
    def do() -> str:
        jobs.cancel(job := get_object_or_404(Job, pk=pk), by=request.user)
        return _("“%(job)s” will stop.") % {"job": job_name(job.kind)}

    return act(request, do, back_to="progress")


@manager_required
@require_POST
def retry_job(request: PersonRequest, pk: int) -> HttpResponse:
    def do() -> str:
        again = jobs.retry(get_object_or_404(Job, pk=pk), by=request.user)
        return _("“%(job)s” is tried again.") % {"job": job_name(again.kind)}

    return act(request, do, back_to="progress")


def _figures() -> dict[str, Any]:
    """Everything that moves; a fixed number of queries, whatever the rows."""
    now = timezone.localtime()
    counts = loop_counts()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    paces = list(Label.objects.submitted_since(midnight).paces()[:30])
    active = list(Job.objects.active().select_related("requested_by")[:JOBS])
    return {
        "counts": counts,
        "first_prm": None if counts.serving else bootstrap_state(),
        "workers": workers_state(),
        "rounds": round_standings(latest=ROUNDS),
        "jobs": active,
        "training": next((job for job in active if job.kind in ("retrain", "snapshot", "bootstrap")), None),
        "ended": list(Job.objects.ended_early(WAITING).select_related("requested_by")[:JOBS]),
        "versions": list(PRMVersion.objects.all()[:VERSIONS]),
        "previous": PRMVersion.objects.previous(),
        "suspended": list(Person.objects.filter(suspended_at__isnull=False, is_active=True)[:JOBS]),
        "queues": list(Queue.objects.order_by("name")),
        "paces": paces,
        "labels_today": sum(pace["solutions"] for pace in paces),
        "retrain_at": settings.CONFIG.retrain_at,
        "retrain_after": settings.RETRAIN_AFTER_LABELS,
    }
