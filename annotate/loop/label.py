"""The label stage: a person takes an item under a lease, rates its steps, submits. Nothing here ever shows a score.

Several people and several tabs meet on the same rows: every verb locks the person's draft and its queue item
first, and PostgreSQL's constraints (one lease a person, one label a person and solution) have the last word.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, QuerySet, Subquery
from django.utils import timezone

from annotate.errors import AlreadySubmitted, InvalidFinish, InvalidRating, LeaseLost, NotYourItem
from annotate.loop.work import Work, look
from annotate.models import Label, Person, Queue, QueueItem, StepRating
from prm_backend.types import FinishReason, Rating

_IN_WORDS = (FinishReason.GIVE_UP, FinishReason.BAD_PROBLEM)


def claim(*, person: Person) -> Work | None:
    """Give the person something to rate and lease it to them; None where nothing waits for them.

    Their own live lease comes first (so a second tab and a reload show the same item), then an item they began
    and nobody holds now, then the next free one of the queues that are not paused.
    """
    for attempts_left in (2, 1, 0):
        try:
            with transaction.atomic():
                item = _take(person)
                return None if item is None else _begin(person, item)
        except IntegrityError:
            # Another tab of the same person leased an item at this moment: look again and show that one.
            if not attempts_left:
                raise
    return None


def rate(
    *,
    person: Person,
    item: int,
    step_index: int,
    rating: int,
    flagged: bool | None = None,
    active_ms: int = 0,
) -> Work:
    """Save one rating (-1, 0 or +1), and whether the person is unsure of it (None leaves that as it was).

    Raises InvalidRating for a step that does not exist or comes after the first error; NotYourItem, LeaseLost
    and AlreadySubmitted where the item is not, or no longer, the person's to rate.
    """
    if rating not in list(Rating):
        raise InvalidRating(f"A rating is -1, 0 or 1, not {rating}.")
    with transaction.atomic():
        draft = _open_draft(person, item)
        before = draft.look()
        row = draft.row(step_index)
        if before.first_error is not None and step_index > before.first_error:
            raise InvalidRating(
                f"Step {step_index + 1} comes after the first error, step {before.first_error + 1}. "
                "If that is no error, change its rating first."
            )
        row.rating, row.chosen = rating, rating != Rating.BAD
        if flagged is not None:
            row.flagged = flagged or None
        row.save()
        return draft.since(before, active_ms)


def flag(*, person: Person, item: int, step_index: int, unsure: bool, active_ms: int = 0) -> Work:
    """Mark a step as one the person is unsure of, or take the mark back. Raises as `rate` does."""
    with transaction.atomic():
        draft = _open_draft(person, item)
        before = draft.look()
        row = draft.row(step_index)
        row.flagged = unsure or None  # PRM800K: null on a served step unless "Unsure" was pressed
        # Not `rated_at`: a mark is no rating, and undo must not take it for the latest one.
        row.save(update_fields=None if row.pk is None else ("flagged",))
        return draft.since(before, active_ms)


def undo(*, person: Person, item: int, active_ms: int = 0) -> Work:
    """Take back the rating given last; does nothing where none is left. Raises as `rate` does."""
    with transaction.atomic():
        draft = _open_draft(person, item)
        before = draft.look()
        rated = [row for row in draft.rows.values() if row.rating is not None]
        if rated:
            last = max(rated, key=lambda row: (row.rated_at, row.step_index))
            last.rating, last.chosen = None, False
            last.save()
        return draft.since(before, active_ms)


def submit(
    *,
    person: Person,
    item: int,
    finish_reason: str = "",
    comment: str = "",
    active_ms: int = 0,
) -> Label:
    """Make the draft final and the item done. An empty reason means whichever of found_error and solution holds.

    The label keeps the unbroken run of ratings from the first step to the first error; ratings of later steps,
    given before the error was seen, go (PRM800K has none). A give-up ends in PRM800K's all-null step.
    Submitting after the lease ran out is fine as long as nobody else took the item. Raises InvalidFinish for a
    reason that contradicts the ratings or lacks its words; otherwise as `rate` does.
    """
    with transaction.atomic():
        draft = _open_draft(person, item)
        label, work = draft.label, draft.look()
        reason = _finish(work, finish_reason, comment)
        run = work.rated_run
        if any(step.index >= run and (step.unsure or step.rating is not None) for step in work.steps):
            label.ratings.filter(step_index__gte=run).delete()
        if reason is FinishReason.GIVE_UP and run < len(work.steps):
            label.ratings.create(step_index=run, source=StepRating.Source.BLANK)
        now = timezone.now()
        label.finish_reason, label.comment = reason, comment.strip()
        label.total_time = _bounded(label, active_ms)
        label.submitted_at = now
        label.save(update_fields=("finish_reason", "comment", "total_time", "submitted_at"))
        QueueItem.objects.filter(pk=item).update(done_at=now, **_NOBODY)
        return label


def heartbeat(*, person: Person, item: int) -> datetime:
    """Keep the lease alive, or take it again if it ran out and nobody else has it; returns when it ends."""
    with transaction.atomic():
        return _open_draft(person, item).extend_lease()


def release(*, person: Person, item: int, token: uuid.UUID | None = None) -> bool:
    """Give the item back; the draft stays. With a token, only if no page has claimed the item since.

    Returns whether it was held. A page that is left sends this late, perhaps after the reloaded page has
    claimed the item anew: that claim's new token makes the old page's release a no-op.
    """
    held = QueueItem.objects.open().filter(pk=item, leased_by=person)
    if token is not None:
        held = held.filter(lease_token=token)
    return bool(held.update(**_NOBODY))


_NOBODY: dict[str, None] = {"leased_by": None, "lease_token": None, "lease_expires_at": None}


def _lease(person: Person) -> dict[str, object]:
    return {"leased_by": person, "lease_token": uuid.uuid4(), "lease_expires_at": _lease_end()}


def _lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


def _take(person: Person) -> QueueItem | None:
    """Lease one item to the person, each try a single compare-and-swap; the leased item, or None."""
    mine = QueueItem.objects.open().filter(leased_by=person)
    if not mine.update(**_lease(person)):
        # SKIP LOCKED here too: two people who free the same leases in different order would deadlock.
        stale = QueueItem.objects.expired().select_for_update(skip_locked=True)
        QueueItem.objects.filter(pk__in=stale.values("pk")).update(**_NOBODY)
        begun = QueueItem.objects.open().filter(
            leased_by=None, pk__in=person.labels.drafts().values("queue_item")
        )
        if not _take_first(person, begun.order_by("-priority", "id")):
            # Queue by queue, as the index of free items is; paused ones are left out once, here.
            for queue in Queue.objects.filter(paused_at=None).order_by("id").values_list("pk", flat=True):
                if _take_first(person, QueueItem.objects.free().filter(queue=queue).for_person(person)):
                    break
            else:
                return None
    return mine.select_related("queue", "solution__problem", "solution__round").get()


def _take_first(person: Person, items: QuerySet[QueueItem]) -> bool:
    """UPDATE … WHERE id = (SELECT … LIMIT 1 FOR UPDATE SKIP LOCKED): nobody waits, nobody gets it twice."""
    first = items.select_for_update(skip_locked=True).values("pk")[:1]
    return bool(QueueItem.objects.filter(pk=Subquery(first)).update(**_lease(person)))


def _begin(person: Person, item: QueueItem) -> Work:
    """The person's draft on the item, begun now with its question frozen if there is none yet."""
    label = Label.objects.drafts().filter(annotator=person, solution=item.solution).first()
    rows: dict[int, StepRating] = {}
    if label is None:
        label = _new_draft(person, item)
    else:
        rows = {row.step_index: row for row in label.ratings.all()}
        if label.queue_item_id != item.pk:  # the same solution, begun in another queue
            label.queue_item = item
            label.save(update_fields=("queue_item",))
    return replace(look(label, item, rows), paused=item.queue.paused_at is not None)


def _new_draft(person: Person, item: QueueItem) -> Label:
    solution, problem, round_ = item.solution, item.solution.problem, item.solution.round
    return Label.objects.create(
        problem=problem,
        solution=solution,
        annotator=person,
        queue_item=item,
        generation=None if round_ is None else round_.number - 1,  # PRM800K counts phase 2 from 0
        question={
            "problem": problem.text,
            "ground_truth_solution": problem.solution,
            "ground_truth_answer": problem.answer,
            "pre_generated_steps": [step.text for step in solution.steps.all()],
            "pre_generated_answer": solution.answer or "",
            # PRM800K: the solution score of the PRM that chose it; items keep it as a log-product.
            "pre_generated_verifier_score": math.exp(item.score),
        },
    )


def _open_draft(person: Person, item_id: int) -> _Draft:
    """The person's draft on an item nobody else holds, both rows locked until the transaction ends."""
    label = (
        Label.objects.select_for_update(of=("self", "queue_item"))
        .select_related("queue_item")
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
    return _Draft(label, item, {r.step_index: r for r in label.ratings.all()})


@dataclass
class _Draft:
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
        blank = StepRating(label=self.label, step_index=step_index, option=0, text=texts[step_index])
        return self.rows.setdefault(step_index, blank)

    def since(self, before: Work, active_ms: int) -> Work:
        """Look again after a change; note the active time, and keep the lease alive if it is half gone."""
        total = _bounded(self.label, active_ms)
        if total != self.label.total_time:
            self.label.total_time = total
            self.label.save(update_fields=("total_time",))
        half_gone = timezone.now() + timedelta(seconds=settings.LEASE_SECONDS / 2)
        if self.item.lease_expires_at is None or self.item.lease_expires_at < half_gone:
            self.item.lease_expires_at = self.extend_lease()
        return self.look().since(before)

    def extend_lease(self) -> datetime:
        """Extend the lease; or lease the item anew, unless the person holds another (one lease a person)."""
        this, until = QueueItem.objects.filter(pk=self.item.pk), _lease_end()
        person = self.label.annotator_id
        if not this.filter(leased_by=person).update(lease_expires_at=until):
            another = QueueItem.objects.open().filter(leased_by=person)
            this.filter(~Exists(another)).update(
                leased_by=person, lease_token=uuid.uuid4(), lease_expires_at=until
            )
        return until


def _bounded(label: Label, active_ms: int) -> int:
    """Total active time: what the page counted so far, never going back, never above the wall clock."""
    wall_ms = int((timezone.now() - label.created_at).total_seconds() * 1000)
    return max(label.total_time, min(active_ms, wall_ms))


def _finish(work: Work, given: str, comment: str) -> FinishReason:
    """The finish reason that holds, or InvalidFinish."""
    if given and given not in list(FinishReason):
        raise InvalidFinish(f"There is no finish reason {given!r}.")
    if given in _IN_WORDS:
        if not comment.strip():
            raise InvalidFinish("Please say in a few words why.")
        return FinishReason(given)
    if work.finish is None:
        missing = work.next_open
        raise InvalidFinish(f"Step {0 if missing is None else missing + 1} is not rated yet.")
    if given and given != work.finish:
        raise InvalidFinish(f"The ratings say {work.finish}, not {given}.")
    return work.finish
