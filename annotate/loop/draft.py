"""A person's draft on a queue item: begun with its question frozen, opened under lock, and the lease that goes with it.

Decides nothing about ratings; `annotate.loop.label` does.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import AlreadySubmitted, InvalidRating, LeaseLost, NotYourItem
from annotate.loop.hints import hint_for
from annotate.loop.proposals import ask
from annotate.loop.work import Work, look, open_options, split
from annotate.models import (
    Change,
    Concern,
    Given,
    Label,
    Person,
    QueueItem,
    Statement,
    Step,
    StepRating,
    write,
)
from prm_backend.text.gold import AnswerKind

_MOST_STEP_MS = 2**31 - 1  # what the column holds: 24 days
NOBODY = {"leased_by_id": None, "lease_token": None, "lease_expires_at": None, "ahead": False}
LEASE = {column: Given(column) for column in NOBODY}  # for a Change that is run with a `new_lease`
_MOST_TRIES = 3
T = TypeVar("T")


def _drafts(**of: Any) -> QuerySet[Label]:
    """The person's draft, with what they said of the guess of the answer."""
    disputes = Concern.objects.filter(label=OuterRef("pk"), kind=Concern.Kind.ANSWER)
    drafts = Label.objects.drafts().filter(annotator=Given("person"), **of)
    return drafts.annotate(**{"disputed": Subquery(disputes.values("text")[:1])}).order_by("pk")[:1]


def _label_and_item() -> QuerySet[Label]:
    mine = Label.objects.select_for_update(of=("self", "queue_item")).filter(
        queue_item=Given("item"), queue_item__isnull=False, annotator=Given("person")
    )
    return mine.select_related("queue_item__queue", "gold").order_by("pk")[:1]


_DRAFT = Statement(lambda: _drafts(solution=Given("solution")))
# One that grows; imported labels of the problem have no item.
_GROWING = Statement(
    lambda: _drafts(problem=Given("problem"), solution__isnull=True, queue_item__isnull=False)
)
_LABEL_AND_ITEM = Statement(_label_and_item)
_RATINGS = Statement(lambda: StepRating.objects.filter(label=Given("label")))
_STEPS = Statement(lambda: Step.objects.filter(solution=Given("solution")).values_list("text", flat=True))
_KEEP_TIME = Change(lambda: Label.objects.filter(pk=Given("label")), total_time=Given("ms"))


def raced(act: Callable[[], T]) -> T:
    """An act in a transaction of its own, begun anew where another tab of the same person leased at this moment.

    Raises IntegrityError where that happens again and again.
    """
    for _once_more in range(_MOST_TRIES - 1):
        with suppress(IntegrityError), transaction.atomic():
            return act()
    with transaction.atomic():
        return act()


def new_lease(person: int, *, ahead: bool = False) -> dict[str, object]:
    """The columns of an item that this person holds from now on."""
    return {
        "leased_by_id": person,
        "lease_token": uuid.uuid4(),
        "lease_expires_at": lease_end(),
        "ahead": ahead,
    }


def lease_end() -> datetime:
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


def begin(person: Person, item: QueueItem, generation: int | None) -> Work:
    """The person's draft on the item, begun now with its question frozen if there is none yet."""
    if item.solution_id is None:
        begun = _GROWING.first(person=person.pk, problem=item.problem_id)
    else:
        begun = _DRAFT.first(person=person.pk, solution=item.solution_id)
    label: Label = begun or _new_draft(person, item, generation)
    if label.queue_item_id != item.pk:  # the same solution, begun in another queue
        label.queue_item = item
        label.save(update_fields=("queue_item",))
    work = Draft(label, item, *split(label, _RATINGS.all(label=label.pk) if begun else ())).look()
    disputed = (begun.disputed if begun else "") or ""
    return replace(work, paused=item.queue.paused_at is not None, disputed=disputed)


def _new_draft(person: Person, item: QueueItem, generation: int | None) -> Label:
    gold = item.gold
    label = Label(
        problem=item.subject,
        solution=item.solution,
        annotator=person,
        queue_item=item,
        way=item.queue.way,
        instructions_id=item.rules,
        generation=generation,
        question=_question(item) if gold is None else gold.question,
        gold=gold,
        is_quality_control_question=gold is not None and not gold.screens,
        is_initial_screening_question=gold is not None and gold.screens,
        **hint_for(item),
    )
    write(label)
    return label


def _question(item: QueueItem) -> dict[str, object]:
    """PRM800K's `question` as it stands now: phase 2's, or where the solution grows phase 1's."""
    problem, solution = item.subject, item.solution
    if solution is None:
        return {"problem": problem.text, "ground_truth_answer": problem.answer}
    assert item.score is not None
    return {
        "problem": problem.text,
        "ground_truth_solution": problem.solution,
        "ground_truth_answer": problem.answer,
        "pre_generated_steps": [text for (text,) in _STEPS.rows(solution=solution.pk)],
        # A program is its own answer: it stands in the steps.
        "pre_generated_answer": "" if problem.kind == AnswerKind.CODE else solution.answer or "",
        # PRM800K: the solution score of the PRM that chose it; items keep it as a log-product.
        "pre_generated_verifier_score": math.exp(item.score),
    }


def open_draft(person: Person, item_id: int) -> Draft:
    """The person's draft on an item nobody else holds, both rows locked until the transaction ends."""
    label = _LABEL_AND_ITEM.first(item=item_id, person=person.pk)
    if label is None or label.queue_item is None:
        raise NotYourItem(_("You have not begun this solution."))
    item = label.queue_item
    if label.submitted_at is not None:
        raise AlreadySubmitted(_("You have already submitted this solution."))
    if item.done_at is not None:
        raise LeaseLost(_("Somebody else finished this solution while you were away. Your ratings are kept."))
    runs_out = item.lease_expires_at
    if item.leased_by_id not in (None, person.pk) and runs_out is not None and runs_out > timezone.now():
        raise LeaseLost(
            _(
                "You were away too long and somebody else is rating this solution now. "
                "Your ratings are kept as a draft."
            )
        )
    return Draft(label, item, *split(label, _RATINGS.all(label=label.pk)))


@dataclass
class Draft:
    """A draft and its item, locked: its ratings of the served steps by index, and its other rows (see work.split)."""

    label: Label
    item: QueueItem
    rows: dict[int, StepRating]
    others: list[StepRating]

    def look(self) -> Work:
        """What its annotator sees; where next steps are to be proposed and none are there, they are asked for."""
        work = look(self.label, self.item, self.rows, self.others)
        if work.proposed is None or work.proposed.options:
            return work
        waiting = ask(self.label, work.proposed.step_index)
        return replace(work, proposed=replace(work.proposed, waiting=waiting))

    def row(self, index: int) -> StepRating:
        """The row of a served step or, counted on after them, of an option; InvalidRating where there is none."""
        texts = self.label.question.get("pre_generated_steps") or []
        if 0 <= index < len(texts):
            blank = StepRating(label=self.label, step_index=index, option=0, text=texts[index], rated_at=None)
            return self.rows.setdefault(index, blank)
        opened = open_options(self.label, self.rows, self.others)
        if opened is not None and 0 <= index - len(texts) < len(opened[1]):
            return opened[1][index - len(texts)]
        raise InvalidRating(
            _("There is no step %(step)s: this solution has %(all)s.")
            % {"step": index + 1, "all": len(texts)}
        )

    def flagged(self, index: int, unsure: bool) -> bool | None:
        """PRM800K: null on a served step unless "Unsure" was pressed, false on an option."""
        return unsure or (False if self.is_option(index) else None)

    def is_option(self, index: int) -> bool:
        return index >= len(self.label.question.get("pre_generated_steps") or [])

    def since(self, before: Work, active_ms: int) -> Work:
        """Look again after an act; note the active time, and keep the lease alive if it is half gone."""
        total = self.active_time(active_ms)
        if total != self.label.total_time:
            self.label.total_time = total
            _KEEP_TIME.run(label=self.label.pk, ms=total)
        half_gone = timezone.now() + timedelta(seconds=settings.LEASE_SECONDS / 2)
        if self.item.lease_expires_at is None or self.item.lease_expires_at < half_gone:
            self.item.lease_expires_at = self.extend_lease()
        return self.look().since(before)

    def active_time(self, active_ms: int) -> int:
        """Total active time in ms: what the page counted so far, never going back, never above the wall clock."""
        return max(self.label.total_time, min(active_ms, self._wall_ms()))

    def step_time(self, row: StepRating, step_ms: int) -> None:
        """Note active time on a step, in ms all together; the caller saves the row. Bounded as `active_time` is."""
        row.active_ms = max(row.active_ms, min(step_ms, self._wall_ms(), _MOST_STEP_MS))

    def _wall_ms(self) -> int:
        return int((timezone.now() - self.label.created_at).total_seconds() * 1000)

    def extend_lease(self) -> datetime:
        """Extend the lease, or lease anew unless the person holds another. What is fetched ahead runs out."""
        this, until = QueueItem.objects.filter(pk=self.item.pk), lease_end()
        person = self.label.annotator_id
        if self.item.ahead and self.item.leased_by_id == person and self.item.lease_expires_at is not None:
            return self.item.lease_expires_at
        if not this.filter(leased_by=person).update(lease_expires_at=until):
            another = QueueItem.objects.open().filter(leased_by=person, ahead=False)
            this.filter(~Exists(another)).update(**new_lease(person))
        return until
