"""A person's draft on a queue item: begun with its question frozen, opened under lock, and the lease that goes with it.

Decides nothing about ratings; `annotate.loop.label` does.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Subquery
from django.utils import timezone

from annotate.errors import AlreadySubmitted, InvalidRating, LeaseLost, NotYourItem
from annotate.loop.work import Work, look
from annotate.models import Concern, Instructions, Label, Person, QueueItem, Solution, StepRating

_MOST_STEP_MS = 2**31 - 1  # what the column holds: 24 days
NOBODY: dict[str, None] = {"leased_by": None, "lease_token": None, "lease_expires_at": None}


def new_lease(person: Person) -> dict[str, object]:
    return {"leased_by": person, "lease_token": uuid.uuid4(), "lease_expires_at": lease_end()}


def lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


def begin(person: Person, item: QueueItem, generation: int | None) -> Work:
    """The person's draft on the item, begun now with its question frozen if there is none yet."""
    disputes = Concern.objects.filter(label=OuterRef("pk"), kind=Concern.Kind.ANSWER)
    drafts = Label.objects.drafts().annotate(disputed=Subquery(disputes.values("text")[:1]))
    begun = drafts.filter(annotator=person, solution=item.solution).first()
    if begun is None:
        return replace(
            look(_new_draft(person, item, generation), item, {}), paused=item.queue.paused_at is not None
        )
    label: Label = begun
    rows = {row.step_index: row for row in label.ratings.all()}
    if label.queue_item_id != item.pk:  # the same solution, begun in another queue
        label.queue_item = item
        label.save(update_fields=("queue_item",))
    disputed = begun.disputed or ""
    return replace(look(label, item, rows), paused=item.queue.paused_at is not None, disputed=disputed)


def _new_draft(person: Person, item: QueueItem, generation: int | None) -> Label:
    solution, gold = item.solution, item.gold
    assert solution is not None
    # An expression, so that the newest version costs no query of its own.
    rules: Any = Subquery(Instructions.objects.order_by("-number").values("pk")[:1])
    return Label.objects.create(
        problem=solution.problem,
        solution=solution,
        annotator=person,
        queue_item=item,
        way=item.queue.way,
        instructions_id=rules,
        generation=generation,
        question=_question(item, solution) if gold is None else gold.question,
        gold=gold,
        is_quality_control_question=gold is not None and not gold.screens,
        is_initial_screening_question=gold is not None and gold.screens,
    )


def _question(item: QueueItem, solution: Solution) -> dict[str, object]:
    """PRM800K's `question` as it stands now."""
    assert item.score is not None
    return {
        "problem": solution.problem.text,
        "ground_truth_solution": solution.problem.solution,
        "ground_truth_answer": solution.problem.answer,
        "pre_generated_steps": [step.text for step in solution.steps.all()],
        "pre_generated_answer": solution.answer or "",
        # PRM800K: the solution score of the PRM that chose it; items keep it as a log-product.
        "pre_generated_verifier_score": math.exp(item.score),
    }


def open_draft(person: Person, item_id: int) -> Draft:
    """The person's draft on an item nobody else holds, both rows locked until the transaction ends."""
    label = (
        Label.objects.select_for_update(of=("self", "queue_item"))
        .select_related("queue_item", "gold")
        .filter(queue_item=item_id, queue_item__isnull=False, annotator=person)
        .first()
    )
    if label is None or label.queue_item is None:
        raise NotYourItem("You have not begun this solution.")
    item = label.queue_item
    if label.submitted_at is not None:
        raise AlreadySubmitted("You have already submitted this solution.")
    if item.done_at is not None:
        raise LeaseLost("Somebody else finished this solution while you were away. Your ratings are kept.")
    runs_out = item.lease_expires_at
    if item.leased_by_id not in (None, person.pk) and runs_out is not None and runs_out > timezone.now():
        raise LeaseLost(
            "You were away too long and somebody else is rating this solution now. Your ratings are kept as a draft."
        )
    return Draft(label, item, {r.step_index: r for r in label.ratings.all()})


@dataclass
class Draft:
    """A draft and its item, locked, with its ratings by step index. Phase 2 serves option 0 of each step."""

    label: Label
    item: QueueItem
    rows: dict[int, StepRating]

    def look(self) -> Work:
        return look(self.label, self.item, self.rows)

    def row(self, step_index: int) -> StepRating:
        texts = self.label.question["pre_generated_steps"]
        if not 0 <= step_index < len(texts):
            raise InvalidRating(f"There is no step {step_index + 1}: this solution has {len(texts)}.")
        blank = StepRating(
            label=self.label, step_index=step_index, option=0, text=texts[step_index], rated_at=None
        )
        return self.rows.setdefault(step_index, blank)

    def since(self, before: Work, active_ms: int) -> Work:
        """Look again after an act; note the active time, and keep the lease alive if it is half gone."""
        total = self.active_time(active_ms)
        if total != self.label.total_time:
            self.label.total_time = total
            self.label.save(update_fields=("total_time",))
        half_gone = timezone.now() + timedelta(seconds=settings.LEASE_SECONDS / 2)
        if self.item.lease_expires_at is None or self.item.lease_expires_at < half_gone:
            self.item.lease_expires_at = self.extend_lease()
        return self.look().since(before)

    def active_time(self, active_ms: int) -> int:
        """Total active time in ms: what the page counted so far, never going back, never above the wall clock."""
        wall_ms = int((timezone.now() - self.label.created_at).total_seconds() * 1000)
        return max(self.label.total_time, min(active_ms, wall_ms))

    def step_time(self, row: StepRating, step_ms: int) -> None:
        """Note active time on a step, in ms all together; the caller saves the row. Bounded as `active_time` is."""
        wall_ms = int((timezone.now() - self.label.created_at).total_seconds() * 1000)
        row.active_ms = max(row.active_ms, min(step_ms, wall_ms, _MOST_STEP_MS))

    def extend_lease(self) -> datetime:
        """Extend the lease; or lease the item anew, unless the person holds another (one lease a person)."""
        this, until = QueueItem.objects.filter(pk=self.item.pk), lease_end()
        person = self.label.annotator_id
        if not this.filter(leased_by=person).update(lease_expires_at=until):
            another = QueueItem.objects.open().filter(leased_by=person)
            this.filter(~Exists(another)).update(
                leased_by=person, lease_token=uuid.uuid4(), lease_expires_at=until
            )
        return until
