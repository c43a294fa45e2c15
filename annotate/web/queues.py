"""`/queues/`: what waits for people, who holds what, pause and resume, and the labels as a file."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotate.loop import rounds
from annotate.loop.snapshot import label_lines
from annotate.models import Label, Queue, QueueItem
from prm_backend.types import Arm

from .access import PersonRequest, manager_required
from .acts import act

_ARMS = {arm.value: arm.value.replace("_", " ") for arm in Arm} | {"": "put here by hand"}


@manager_required
@require_safe
def queues(request: PersonRequest) -> HttpResponse:
    arms: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in QueueItem.objects.by_arm():
        arms[row["queue_id"]].append(row | {"name": _ARMS[row["arm"]]})
    held = QueueItem.objects.leased().select_related("leased_by", "queue", "solution__problem")
    context = {
        "queues": [(queue, arms[queue.pk], _sum(arms[queue.pk])) for queue in Queue.objects.order_by("name")],
        "held": held.order_by("lease_expires_at")[:200],
        "n_labels": Label.objects.submitted().count(),
        "now": timezone.now(),
    }
    return render(request, "queues/queues.html", context)


@manager_required
@require_POST
def pause(request: PersonRequest, pk: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=pk)

    def do() -> str:
        rounds.pause_queue(queue=queue, by=request.user)
        return f"The queue {queue} is paused: nothing new is handed out, what is begun can be finished."

    return act(request, do, back_to="queues")


@manager_required
@require_POST
def resume(request: PersonRequest, pk: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=pk)

    def do() -> str:
        rounds.resume_queue(queue=queue, by=request.user)
        return f"The queue {queue} hands out work again."

    return act(request, do, back_to="queues")


@manager_required
@require_safe
def export(request: PersonRequest) -> StreamingHttpResponse:
    """Every submitted label as PRM800K JSONL, streamed as it is read."""
    lines = label_lines(labels=Label.objects.all())
    response = StreamingHttpResponse(lines, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="labels-{_stamp(timezone.now())}.jsonl"'
    return response


def _sum(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(row[name] for row in rows) for name in ("waiting", "held", "done")}


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%d-%H%M%S")
