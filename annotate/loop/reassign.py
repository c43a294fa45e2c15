"""A manager takes an item out of somebody's hands: back to the queue, or into another's. Ratings given stay a draft."""

from __future__ import annotations

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.draft import NOBODY, new_lease
from annotate.models import Person, QueueItem

KEPT_FOR = timedelta(days=1)  # what is given waits so long for its person to come


class NotReassigned(PlumblineError):
    """It stays where it is."""

    status = 409


@transaction.atomic
def reassign(*, item: int, to: Person | None) -> None:
    """Give an open item to a person, who gets it when they come, or to nobody. Raises NotReassigned with the reason."""
    held = QueueItem.objects.open().select_for_update().filter(pk=item).first()
    if held is None:
        raise NotReassigned(_("That item is finished, or gone."))
    if to is None:
        QueueItem.objects.filter(pk=item).update(**NOBODY)
        return
    if held.gold_id is not None:
        raise NotReassigned(_("A gold item is made for one person: take it back, and nobody else gets it."))
    if not (to.is_active and to.is_annotator) or to.suspended_at is not None:
        raise NotReassigned(_("%(name)s does not label at present.") % {"name": to})
    if not QueueItem.objects.filter(pk=item).for_person(to).exists():
        raise NotReassigned(
            _("%(name)s has labelled this solution, put it aside, or has it in hand.") % {"name": to}
        )
    try:
        with transaction.atomic():
            QueueItem.objects.filter(pk=item).update(
                **new_lease(to.pk) | {"lease_expires_at": timezone.now() + KEPT_FOR}
            )
    except IntegrityError:
        raise NotReassigned(
            _("%(name)s has another solution in hand; a person holds one at a time.") % {"name": to}
        ) from None
