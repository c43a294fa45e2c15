"""`/queues/`: what waits for people, who holds what, and how each queue asks for labels; the labels as a file."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.loop import queues as verbs
from annotate.loop.reassign import reassign
from annotate.loop.snapshot import label_lines
from annotate.models import ANNOTATOR, ARMS, Label, Person, Problem, Queue, QueueItem
from prm_backend.generators import OPENAI_PREFIX

from .access import PersonRequest, manager_required
from .acts import act


def _share(initial: float, **words: Any) -> forms.FloatField:
    return forms.FloatField(initial=initial, min_value=0, max_value=1, step_size=0.01, **words)


class QueueForm(forms.ModelForm):
    options = forms.IntegerField(
        label=gettext_lazy("Steps proposed at a time"),
        help_text=gettext_lazy("Where the model proposes next steps: at the first error, or step by step."),
        min_value=1,
        max_value=9,
        initial=4,
    )
    overlap = forms.IntegerField(
        label=gettext_lazy("People for each solution"), min_value=1, max_value=100, initial=1
    )
    overlap_share = _share(
        1,
        label=gettext_lazy("Share of solutions for that many people"),
        help_text=gettext_lazy("The rest is rated by one person."),
    )
    blind_share = _share(0.2, label=gettext_lazy("Share of labels without a hint"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:  # a model on a server has something to say
            self.initial["critiques"] = settings.MODEL.startswith(OPENAI_PREFIX)

    class Meta:
        model = Queue
        fields = (
            "name", "way", "asks_further", "critiques", "options", "overlap", "overlap_share",
            "hints", "blind_share", "asks_judge",
        )  # fmt: skip
        labels = {
            "name": gettext_lazy("Name"),
            "way": gettext_lazy("Rating goes"),
            "asks_further": gettext_lazy("Ask further at the first error"),
            "critiques": gettext_lazy("Let the model say what is wrong, to be rated"),
            "hints": gettext_lazy("Show hints"),
            "asks_judge": gettext_lazy("Ask the judge model"),
        }
        help_texts = {
            "asks_further": gettext_lazy(
                "How far the solution got, what is wrong, and other next steps to rate."
            ),
            "critiques": gettext_lazy(
                "Where it asks further; people may still write it. The small default model does it badly."
            ),
            "hints": gettext_lazy(
                "The PRM's guess of the first error. It sways people, so a share is kept blind."
            ),
            "asks_judge": gettext_lazy(
                "Where graders can't tell whether an answer of a round is right. If it can't either, you do."
            ),
        }


class ProblemsForm(forms.Form):
    problems = forms.IntegerField(min_value=1, max_value=100_000, initial=20)


@manager_required
@require_safe
def queues(request: PersonRequest) -> HttpResponse:
    arms: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in QueueItem.objects.by_arm():
        arms[row["queue_id"]].append(
            row | {"name": ARMS[row["arm"]] if row["arm"] else _("put here by hand")}
        )
    held = QueueItem.objects.leased().select_related("leased_by", "queue", "problem", "solution__problem")
    context = {
        "queues": [(queue, arms[queue.pk], _sum(arms[queue.pk])) for queue in Queue.objects.order_by("name")],
        "held": held.order_by("lease_expires_at")[:200],
        "n_labels": Label.objects.submitted().count(),
        "untouched": Problem.objects.untouched().filter(queue_items__isnull=True).count(),
        "annotators": Person.objects.filter(groups__name=ANNOTATOR, is_active=True).order_by("username"),
        "now": timezone.now(),
    }
    return render(request, "queues/queues.html", context)


@manager_required
@require_http_methods(["GET", "POST"])
def edit(request: PersonRequest, pk: int | None = None) -> HttpResponse:
    """Make a queue, or change how one asks for labels."""
    queue = None if pk is None else get_object_or_404(Queue, pk=pk)
    form = QueueForm(request.POST or None, instance=queue, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            kept = verbs.save_queue(queue=form.instance)
        except verbs.QueueRefused as refused:
            form.add_error(None, refused.message)
        else:
            said = _("The queue %(queue)s is made.") if pk is None else _("The queue %(queue)s is changed.")
            messages.success(request, said % {"queue": kept})
            return redirect("queues")
    name = "" if pk is None else Queue.objects.values_list("name", flat=True).get(pk=pk)
    context = {"form": form, "name": name}
    return render(request, "queues/edit.html", context, status=400 if form.errors else 200)


@manager_required
@require_POST
def pause(request: PersonRequest, pk: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=pk)

    def do() -> str:
        verbs.pause_queue(queue=queue)
        return _(
            "The queue %(queue)s is paused: nothing new is handed out, what is begun can be finished."
        ) % {"queue": queue}

    return act(request, do, back_to="queues")


@manager_required
@require_POST
def resume(request: PersonRequest, pk: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=pk)

    def do() -> str:
        verbs.resume_queue(queue=queue)
        return _("The queue %(queue)s hands out work again.") % {"queue": queue}

    return act(request, do, back_to="queues")


@manager_required
@require_POST
def take_rounds(request: PersonRequest, pk: int) -> HttpResponse:
    queue = get_object_or_404(Queue, pk=pk)

    def do() -> str:
        verbs.take_rounds(queue=queue)
        return _("From now on rounds fill the queue %(queue)s.") % {"queue": queue}

    return act(request, do, back_to="queues")


@manager_required
@require_POST
def put_problems(request: PersonRequest, pk: int) -> HttpResponse:
    queue, form = get_object_or_404(Queue, pk=pk), ProblemsForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"{_('Problems')}: {' '.join(map(str, form.errors['problems']))}")
        return redirect("queues")

    def do() -> str:
        put = verbs.put_problems(queue=queue, problems=form.cleaned_data["problems"])
        return ngettext(
            "%(n)s untouched problem is put into the queue %(queue)s.",
            "%(n)s untouched problems are put into the queue %(queue)s.",
            put,
        ) % {"n": put, "queue": queue}

    return act(request, do, back_to="queues")


@manager_required
@require_POST
def reassign_item(request: PersonRequest, pk: int) -> HttpResponse:
    """Take an item back for everybody, or give it to the person who is named."""
    name = request.POST.get("to", "")
    to = get_object_or_404(Person, username=name) if name else None

    def do() -> str:
        reassign(item=pk, to=to)
        if to is None:
            return _("The solution is free again; what was rated stays as a draft.")
        return _("The solution waits for %(name)s; what was rated stays as a draft.") % {"name": to}

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
