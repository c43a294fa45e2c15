"""What an annotator notices beside the ratings (an unsure step, a wrong answer, a bad problem) becomes a Concern.

Raised here, answered by managers. A concern that was answered stays as it is, whatever happens to its label.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import InvalidFinish, PlumblineError
from annotate.loop.draft import open_draft
from annotate.models import Concern, Label, Person
from prm_backend.text.steps import storable
from prm_backend.types import FinishReason

_REPLIES = 20  # the latest, on one page
_AT_SUBMIT = (Concern.Kind.UNSURE, Concern.Kind.PROBLEM)


@transaction.atomic
def dispute(*, person: Person, item: int, text: str) -> None:
    """Say that the guess of the answer is wrong: "the model is right". Saying it again replaces the words.

    Raises InvalidFinish without a word, PlumblineError once a manager has answered; otherwise as
    `annotate.loop.label.rate` does.
    """
    label = open_draft(person, item).label
    words = storable(text).strip()
    if not words:
        raise InvalidFinish(_("Please say in a few words why the answer is wrong."))
    said, _is_new = Concern.objects.get_or_create(
        label=label,
        kind=Concern.Kind.ANSWER,
        step_index=None,
        defaults={"text": words, "problem_id": label.problem_id},
    )
    if said.resolved_at is not None:
        raise PlumblineError(_("A manager has answered this already; the reply is under My work."))
    if said.text != words:
        said.text = words
        said.save(update_fields=("text",))


def raise_concerns(label: Label, unsure_steps: list[int]) -> None:
    """Write down what a label being submitted says: its unsure steps (0-based indexes), and a bad problem."""
    raised = [Concern(kind=Concern.Kind.UNSURE, step_index=index) for index in unsure_steps]
    if label.finish_reason == FinishReason.BAD_PROBLEM:
        raised.append(Concern(kind=Concern.Kind.PROBLEM, text=label.comment))
    for concern in raised:
        concern.label, concern.problem_id = label, label.problem_id
    Concern.objects.bulk_create(raised, ignore_conflicts=True)


def replies_to(person: Person) -> list[Concern]:
    """What managers answered the person, newest first; `seen_at` is None on those shown for the first time now."""
    answered = Concern.objects.filter(label__annotator=person, resolved_at__isnull=False)
    replies = list(answered.select_related("label").order_by("-resolved_at")[:_REPLIES])
    new = [concern.pk for concern in replies if concern.seen_at is None]
    if new:
        Concern.objects.filter(pk__in=new).update(seen_at=timezone.now())
    return replies


def withdraw(label: Label) -> None:
    """Forget what a label said when it was submitted, as far as nobody has answered it."""
    label.concerns.open().filter(kind__in=_AT_SUBMIT).delete()
