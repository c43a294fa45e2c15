"""A person's second thoughts about a whole item: put it aside, ask for it again, take a submitted label back."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import LeaseLost, NotYourItem, PlumblineError
from annotate.loop.concerns import withdraw
from annotate.loop.draft import NOBODY, lease_end, new_lease, open_draft, raced
from annotate.models import Label, Person, QualityPolicy, QueueItem, StepRating


class TooLate(PlumblineError):
    """The label is final for good."""

    status = 409


@transaction.atomic
def skip(*, person: Person, item: int, active_ms: int = 0) -> None:
    """Put the item aside: others may take it, and the person gets it no more until they ask for what they skipped.

    The draft stays with its ratings. Raises as `annotate.loop.label.rate` does.
    """
    draft = open_draft(person, item)
    draft.label.skipped_at, draft.label.total_time = timezone.now(), draft.active_time(active_ms)
    draft.label.save(update_fields=("skipped_at", "total_time"))
    QueueItem.objects.filter(pk=item, leased_by=person).update(**NOBODY)


def unskip(*, person: Person) -> int:
    """Bring back what the person put aside; how many drafts that is."""
    return person.labels.drafts().filter(skipped_at__isnull=False).update(skipped_at=None)


def can_take_back(person: Person) -> Label | None:
    """The person's latest label, if it can still be taken back."""
    since = timezone.now() - timedelta(seconds=QualityPolicy.current().undo_seconds)
    labels = person.labels.submitted().filter(
        queue_item__isnull=False, submitted_at__gt=since, is_initial_screening_question=False
    )
    return labels.order_by("-submitted_at").first()


def take_back(*, person: Person, label: int, submitted_at: datetime | None = None) -> None:
    """Make a submitted label a draft again and its item the person's; what they had in hand comes next.

    What was fetched ahead of that is given back, its draft kept.
    `submitted_at` names the submit that is taken back: sent twice, or after another submit, it changes nothing.
    Raises NotYourItem for a label that is not theirs, TooLate after QualityPolicy.undo_seconds or once the label was
    adjudicated, LeaseLost where somebody else has the item by now.
    """
    raced(lambda: _take_back(person, label, submitted_at))


def _take_back(person: Person, label: int, submitted_at: datetime | None) -> None:
    # As everywhere: the label first, then its item.
    mine = (
        Label.objects.select_for_update(of=("self", "queue_item"))
        .select_related("queue_item")
        .filter(pk=label, annotator=person, queue_item__isnull=False)
        .first()
    )
    if mine is None or mine.queue_item is None:
        raise NotYourItem(_("There is no such label of yours."))
    if mine.submitted_at is None or (submitted_at is not None and mine.submitted_at != submitted_at):
        return
    _refuse_if_too_late(mine)
    withdraw(mine)
    mine.ratings.filter(source=StepRating.Source.BLANK).delete()
    mine.submitted_at, mine.finish_reason, mine.reopened_at = None, "", timezone.now()
    mine.agrees_with_gold = None
    mine.save(update_fields=("submitted_at", "finish_reason", "reopened_at", "agrees_with_gold"))
    held = QueueItem.objects.open().filter(leased_by=person)
    list(held.select_for_update().order_by("ahead").values("pk"))  # in the order that others lock them in
    held.filter(ahead=True).update(**NOBODY)
    held.update(ahead=True, lease_expires_at=lease_end())
    QueueItem.objects.filter(pk=mine.queue_item.pk).update(done_at=None, **new_lease(person.pk))


def _refuse_if_too_late(label: Label) -> None:
    assert label.submitted_at is not None
    seconds = QualityPolicy.current().undo_seconds
    if timezone.now() - label.submitted_at > timedelta(seconds=seconds):
        raise TooLate(
            _("It is too late: a label can be taken back for %(minutes)s minutes after its submit.")
            % {"minutes": seconds // 60}
        )
    if label.is_initial_screening_question:  # its result page shows the right answers
        raise TooLate(_("A screening’s answers stand as they were given."))
    # Only one made since: a gold answer must not be told by a decision that was there before it.
    decided = Label.objects.filter(adjudicates=True, created_at__gte=label.submitted_at)
    if decided.filter(solution=label.solution_id).exists():
        raise TooLate(_("It is too late: a manager has decided about this solution."))
    item = label.queue_item
    if item is None or item.done_at is None:
        raise LeaseLost(_("Somebody else has this solution now."))
