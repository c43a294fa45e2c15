"""What a queue may ask beyond the first error, besides rating next steps: how far the solution got, and a critique."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotate.errors import InvalidFinish
from annotate.loop.draft import open_draft
from annotate.loop.proposed import Proposed
from annotate.loop.work import Work
from annotate.models import HOW_FAR, Label, Person
from prm_backend.text.steps import storable


def tell(
    *, person: Person, item: int, progress: int | None = None, critique: str | None = None, active_ms: int = 0
) -> Work:
    """Save how far the solution got before its error (an index into HOW_FAR) and what is wrong; None leaves it.

    Raises InvalidFinish for a progress there is not, otherwise as `annotate.loop.label.rate` does.
    """
    with transaction.atomic():
        draft = open_draft(person, item)
        before = draft.look()
        note(draft.label, progress, critique)
        draft.label.save(update_fields=("progress", "critique"))
        return draft.since(before, active_ms)


def note(label: Label, progress: int | None, critique: str | None) -> None:
    """Put on the label, unsaved, what is said; None leaves it as it was."""
    if progress is not None:
        if not 0 <= progress < len(HOW_FAR):
            raise InvalidFinish(
                _("How far it got is a number from 0 to %(most)s.") % {"most": len(HOW_FAR) - 1}
            )
        label.progress = progress
    if critique is not None:
        label.critique = storable(critique).strip()


def require(label: Label, proposed: Proposed | None) -> None:
    """InvalidFinish where something that is asked for is not said: a critique is rated, or written."""
    if label.progress is None:
        raise InvalidFinish(_("Please say how far the solution got before its error."))
    given = proposed and proposed.critique
    if label.critique or (given and given.rating is not None):
        return
    if given:
        raise InvalidFinish(
            _("Please rate what the model says is wrong with the step, or write it yourself.")
        )
    raise InvalidFinish(_("Please say in a few words what is wrong with the step."))
