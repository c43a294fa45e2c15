"""The label stage: a person takes an item under a lease, rates its steps, submits. Nothing here ever shows a score.

Several people and several tabs meet on the same rows: every verb locks the person's draft and its queue item
first, and PostgreSQL's constraints (one lease a person, one label a person and solution) have the last word.
"""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Subquery
from django.utils import timezone

from annotate.errors import InvalidFinish, InvalidRating
from annotate.loop.draft import NOBODY, begin, new_lease, open_draft
from annotate.loop.work import Work
from annotate.models import Label, Person, Queue, QueueItem, StepRating
from prm_backend.text.steps import storable
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
                return None if item is None else begin(person, item)
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
        draft = open_draft(person, item)
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
        draft = open_draft(person, item)
        before = draft.look()
        row = draft.row(step_index)
        row.flagged = unsure or None  # PRM800K: null on a served step unless "Unsure" was pressed
        # Not `rated_at`: a mark is no rating, and undo must not take it for the latest one.
        row.save(update_fields=None if row.pk is None else ("flagged",))
        return draft.since(before, active_ms)


def undo(*, person: Person, item: int, active_ms: int = 0) -> Work:
    """Take back the rating given last; does nothing where none is left. Raises as `rate` does."""
    with transaction.atomic():
        draft = open_draft(person, item)
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
        draft = open_draft(person, item)
        label, work = draft.label, draft.look()
        reason = _finish(work, finish_reason, comment)
        run = work.rated_run
        if any(step.index >= run and (step.unsure or step.rating is not None) for step in work.steps):
            label.ratings.filter(step_index__gte=run).delete()
        if reason is FinishReason.GIVE_UP and run < len(work.steps):
            label.ratings.create(step_index=run, source=StepRating.Source.BLANK)
        now = timezone.now()
        label.finish_reason, label.comment = reason, storable(comment).strip()
        label.total_time = draft.active_time(active_ms)
        label.submitted_at = now
        label.save(update_fields=("finish_reason", "comment", "total_time", "submitted_at"))
        QueueItem.objects.filter(pk=item).update(done_at=now, **NOBODY)
        return label


def heartbeat(*, person: Person, item: int) -> datetime:
    """Keep the lease alive, or take it again if it ran out and nobody else has it; returns when it ends."""
    with transaction.atomic():
        return open_draft(person, item).extend_lease()


def release(*, person: Person, item: int, token: uuid.UUID | None = None) -> bool:
    """Give the item back; the draft stays. With a token, only if no page has claimed the item since.

    Returns whether it was held. A page that is left sends this late, perhaps after the reloaded page has
    claimed the item anew: that claim's new token makes the old page's release a no-op.
    """
    held = QueueItem.objects.open().filter(pk=item, leased_by=person)
    if token is not None:
        held = held.filter(lease_token=token)
    return bool(held.update(**NOBODY))


def _take(person: Person) -> QueueItem | None:
    """Lease one item to the person, each try a single compare-and-swap; the leased item, or None."""
    mine = QueueItem.objects.open().filter(leased_by=person)
    if not mine.update(**new_lease(person)):
        # SKIP LOCKED here too: two people who free the same leases in different order would deadlock.
        stale = QueueItem.objects.expired().select_for_update(skip_locked=True)
        QueueItem.objects.filter(pk__in=stale.values("pk")).update(**NOBODY)
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
    return bool(QueueItem.objects.filter(pk=Subquery(first)).update(**new_lease(person)))


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
