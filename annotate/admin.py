"""Django's admin, for looking: managers read every row and change none. What may change has a page and a verb."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.text import Truncator

from annotate import models


class _MayLook:
    """Permissions of the role rather than of Django's permission table: a manager may view, nobody may change."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return isinstance(request.user, models.Person) and request.user.is_manager

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return isinstance(request.user, models.Person) and request.user.is_manager

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnly(_MayLook, admin.ModelAdmin):
    show_full_result_count = False  # one count of a large table a page is enough
    list_per_page = 50


class ReadOnlyInline(_MayLook, admin.TabularInline):
    extra = 0


@admin.register(models.Person)
class PersonAdmin(ReadOnly):
    list_display = ("username", "roles", "is_active", "last_login", "date_joined")
    search_fields = ("username",)
    fields = ("username", "roles", "labeler", "is_active", "last_login", "date_joined")  # no password hash

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display
    def roles(self, person: models.Person) -> str:
        return ", ".join(sorted(group.name for group in person.groups.all()))


@admin.register(models.Problem)
class ProblemAdmin(ReadOnly):
    list_display = ("id", "beginning", "answer", "source", "held_out", "retired_at")
    list_filter = ("held_out",)
    search_fields = ("text", "unique_id")

    @admin.display(description="problem")
    def beginning(self, problem: models.Problem) -> str:
        return Truncator(problem.text).chars(100)


@admin.register(models.Round)
class RoundAdmin(ReadOnly):
    list_display = ("number", "generator", "samples_per_problem", "quota", "started_by", "created_at")
    list_select_related = ("started_by",)


class StepInline(ReadOnlyInline):
    model = models.Step


class SolutionScoreInline(ReadOnlyInline):
    model = models.SolutionScore

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("prm", "solution")


@admin.register(models.Solution)
class SolutionAdmin(ReadOnly):
    list_display = ("id", "problem_id", "round", "answer", "outcome", "truncated", "graded_at")
    list_select_related = ("round",)
    list_filter = ("outcome", "truncated")
    search_fields = ("=problem__id", "=text_hash")
    search_help_text = "A problem's number, or the hash of a solution's text"
    inlines = (StepInline, SolutionScoreInline)


@admin.register(models.Queue)
class QueueAdmin(ReadOnly):
    list_display = ("name", "paused_at", "ordered_by")
    list_select_related = ("ordered_by",)


@admin.register(models.QueueItem)
class QueueItemAdmin(ReadOnly):
    list_display = (
        "id",
        "queue",
        "solution_id",
        "arm",
        "rank",
        "score",
        "propensity",
        "prm",
        "leased_by",
        "done_at",
    )
    list_select_related = ("queue", "prm", "leased_by")
    list_filter = ("arm",)
    search_fields = ("=solution__id", "=leased_by__username")
    search_help_text = "A solution's number, or the name of who holds it"


class StepRatingInline(ReadOnlyInline):
    model = models.StepRating


@admin.register(models.Label)
class LabelAdmin(ReadOnly):
    list_display = ("id", "annotator", "solution_id", "finish_reason", "total_time", "submitted_at")
    list_select_related = ("annotator",)
    list_filter = ("finish_reason",)
    search_fields = ("=annotator__username", "=solution__id")
    search_help_text = "A person's name, or a solution's number"
    inlines = (StepRatingInline,)


@admin.register(models.Benchmark)
class BenchmarkAdmin(ReadOnly):
    list_display = ("name", "n_samples", "n_erroneous", "sha256", "added_by", "created_at")
    list_select_related = ("added_by",)


@admin.register(models.Measurement)
class MeasurementAdmin(ReadOnly):
    list_display = ("id", "benchmark", "version", "asked_at", "measured_at")
    list_select_related = ("benchmark", "version")


@admin.register(models.Gold)
class GoldAdmin(ReadOnly):
    list_display = ("id", "solution_id", "accepted", "screens", "created_by", "created_at", "retired_at")
    list_select_related = ("created_by",)
    list_filter = ("screens",)


@admin.register(models.Concern)
class ConcernAdmin(ReadOnly):
    list_display = (
        "id",
        "kind",
        "label_id",
        "step_index",
        "action",
        "resolved_by",
        "created_at",
        "resolved_at",
    )
    list_select_related = ("resolved_by",)
    list_filter = ("kind", "action")


@admin.register(models.Snapshot)
class SnapshotAdmin(ReadOnly):
    list_display = ("sha256", "n_labels", "created_at")


@admin.register(models.PRMVersion)
class PRMVersionAdmin(ReadOnly):
    list_display = ("__str__", "status", "n_labels", "base", "decided_by", "promoted_at", "created_at")
    list_select_related = ("decided_by",)


@admin.register(models.Job)
class JobAdmin(ReadOnly):
    list_display = (
        "id",
        "kind",
        "status",
        "done",
        "total",
        "worker",
        "attempts",
        "requested_by",
        "created_at",
    )
    list_select_related = ("requested_by",)
    list_filter = ("status", "kind")
    search_fields = ("kind", "message")


@admin.register(models.Worker)
class WorkerAdmin(ReadOnly):
    list_display = ("name", "queues", "started_at", "seen_at")
