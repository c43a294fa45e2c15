"""Gold: made of a label by a manager, judged at submit, and what follows for a person who keeps missing it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.draft import NOBODY
from annotate.loop.screening import end_attempt
from annotate.loop.work import Work
from annotate.models import (
    Concern,
    Given,
    Gold,
    Label,
    Person,
    Problem,
    QualityPolicy,
    QueueItem,
    Statement,
)
from annotate.models.label import NO_ERROR, TOLD
from prm_backend.evaluation.intervals import Interval, wilson
from prm_backend.text.steps import storable
from prm_backend.types import FinishReason


def _with_answers(screening: bool) -> QuerySet[QualityPolicy]:
    return QualityPolicy.objects.with_answers(Given("person"), screening=screening).order_by("pk")[:1]


_ANSWERS = {
    True: Statement(lambda: _with_answers(screening=True)),
    False: Statement(lambda: _with_answers(screening=False)),
}


@dataclass(frozen=True)
class Agreement:
    """How often a person's latest gold answers were ones the gold accepts."""

    agreed: int
    answers: int

    @classmethod
    def of(cls, agreed: Collection[bool]) -> Agreement:
        """Of answers, each with whether the gold accepts it."""
        return cls(sum(agreed), len(agreed))

    @property
    def share(self) -> float | None:
        return self.agreed / self.answers if self.answers else None

    @property
    def interval(self) -> Interval:
        """95 % by Wilson's score."""
        return wilson(self.agreed, self.answers)

    def is_below(self, bar: float) -> bool:
        """Even the upper end of the interval is: three misses in a row are, for a bar of 0.6, or one in six."""
        return self.interval.high < bar


@transaction.atomic
def make_gold(
    *, label: Label, accepted: Collection[int], explanation: str = "", screens: bool = False, by: Person
) -> Gold:
    """Make a label's solution gold; `accepted` are the 0-based steps it is right to call the first error, -1 for none.

    Raises PlumblineError for a label without a served solution, a step it does not have, one that is gold already, or
    one that would be told by what it shows.
    """
    if label.solution_id is None or not label.question.get("pre_generated_steps"):
        raise PlumblineError(_("Gold needs a whole solution that was served: this label has none."))
    agreed_on = _steps_of(label.question, accepted)
    _refuse_if_told(label.problem_id, label.created_at)
    try:
        with transaction.atomic():
            return Gold.objects.create(
                solution_id=label.solution_id,
                question=label.question,
                accepted=agreed_on,
                explanation=storable(explanation).strip(),
                screens=screens,
                source=label,
                created_by=by,
            )
    except IntegrityError:
        raise PlumblineError(_("This solution is gold already.")) from None


@transaction.atomic
def retire_gold(*, gold: Gold) -> None:
    """Serve it to nobody new; answers given keep their judgement."""
    Gold.objects.in_use().filter(pk=gold.pk).update(retired_at=timezone.now())


@dataclass(frozen=True)
class Rejudged:
    """What followed when a gold was corrected or withdrawn.

    `answers` are now judged otherwise; `resumed` were paused and may label again; `refused` were asked it in a
    screening, are judged otherwise now and not admitted: what to do about them is for a manager to say.
    """

    answers: int
    resumed: tuple[Person, ...] = ()
    refused: tuple[Person, ...] = ()


def correct_gold(*, gold: Gold, accepted: Collection[int]) -> Rejudged:
    """Agree on other steps, as in `make_gold`: answers given are judged anew, and the pauses that rest on them."""
    gold.accepted = _steps_of(gold.question, accepted)
    # Before the answers are locked: one that is submitted meanwhile is judged by the old steps and found here, or by
    # the new ones.
    gold.save(update_fields=("accepted",))
    return _judge_again(gold, lambda label: _agrees(label.finish_reason, label.first_error, gold))


def withdraw_gold(*, gold: Gold) -> Rejudged:
    """Retire a gold that should have been none: answers given count no more, and the pauses are judged anew."""
    retire_gold(gold=gold)
    return _judge_again(gold, lambda label: None)


@transaction.atomic
def _judge_again(gold: Gold, judgement: Callable[[Label], bool | None]) -> Rejudged:
    answers = Label.objects.filter(gold=gold).select_for_update().order_by("pk")
    given = Label.objects.filter(pk__in=[label.pk for label in answers]).submitted().with_first_error()
    changed = []
    for label in given.select_related("annotator"):
        before, label.agrees_with_gold = label.agrees_with_gold, judgement(label)
        if label.agrees_with_gold != before:
            changed.append(label)
    Label.objects.bulk_update(changed, ("agrees_with_gold",))
    screened = [label.annotator for label in changed if label.is_initial_screening_question]
    policy = QualityPolicy.current()
    return Rejudged(
        answers=len(changed),
        resumed=tuple(_resume({label.annotator_id for label in changed})),
        refused=tuple(person for person in screened if policy.screens(person) and person.screenings),
    )


def _resume(people: Collection[int]) -> list[Person]:
    """End the pauses that the answers, as they are judged now, do not bear out."""
    resumed = []
    paused = Person.objects.select_for_update().filter(pk__in=people, suspended_at__isnull=False)
    for person in paused.order_by("username"):
        policy = QualityPolicy.objects.with_answers(person, screening=False).get()
        person.suspension = _why_paused(policy)
        if not person.suspension:
            person.suspended_at = None
            resumed.append(person)
        person.save(update_fields=("suspended_at", "suspension"))
    return resumed


@transaction.atomic
def use_gold(*, gold: Gold) -> None:
    """Serve a retired gold again. Raises PlumblineError where it would be told by what it shows."""
    _refuse_if_told(gold.solution.problem_id, gold.source.created_at if gold.source else gold.created_at)
    Gold.objects.filter(pk=gold.pk).update(retired_at=None)


def _refuse_if_told(problem: int, since: datetime) -> None:
    """What is retired, or shows an answer corrected `since`, nobody else is given: everybody would know it for gold.

    The problem stays locked, so that a manager who retires it at this moment finds the gold and retires it, too.
    """
    if Problem.objects.select_for_update().get(pk=problem).retired_at is not None:
        raise PlumblineError(_("The problem is retired: only as gold would it be given to anybody."))
    fixed = Concern.objects.filter(problem=problem, action=Concern.Action.ANSWER_FIXED, resolved_at__gt=since)
    if fixed.exists():
        raise PlumblineError(_("The problem’s answer was corrected since: this shows the old one."))


def judge(label: Label, work: Work, reason: FinishReason) -> None:
    """Write on a label being submitted whether the gold it answers accepts it; who gives up has not found the error."""
    if label.gold is not None:
        first_error = NO_ERROR if work.first_error is None else work.first_error
        label.agrees_with_gold = _agrees(reason, first_error, label.gold)


def watch(person: Person, label: Label) -> None:
    """After a submit: end a screening attempt, or pause a person whose agreement with gold is surely below the bar.

    One query whatever the label was, so that the time of a submit does not tell gold from the rest.
    """
    policy = _ANSWERS[label.is_initial_screening_question].first(person=person.pk)
    if policy is None or label.gold_id is None:
        return
    if label.is_initial_screening_question:
        end_attempt(person, policy, policy.answers)
        return
    if why := _why_paused(policy):
        person.suspended_at, person.suspension = timezone.now(), why
        person.save(update_fields=("suspended_at", "suspension"))
        QueueItem.objects.fetched_ahead().filter(leased_by=person).update(**NOBODY)


@transaction.atomic
def lift_pause(*, person: Person, by: Person) -> None:
    """Let a paused person label again; the answers that led there count no more."""
    Person.objects.filter(pk=person.pk).update(suspended_at=None, suspension="", gold_since=timezone.now())


def _steps_of(question: dict[str, Any], accepted: Collection[int]) -> list[int]:
    """The steps agreed on, in order; PlumblineError where there is none, or one that was not served."""
    wrong = [index for index in accepted if not NO_ERROR <= index < len(question["pre_generated_steps"])]
    if wrong or not accepted:
        raise PlumblineError(
            _("There is no step %(step)s.") % {"step": wrong[0] + 1}
            if wrong
            else _("Say which steps may be called the first error.")
        )
    return sorted(set(accepted))


def _agrees(reason: str, first_error: int, gold: Gold) -> bool:
    return reason in TOLD and first_error in gold.accepted


def _why_paused(policy: QualityPolicy) -> str:
    """Why the latest answers pause their person; "" where they do not. `policy` is one `with_answers`."""
    agreement = Agreement.of(policy.answers[: policy.agreement_window])
    if not agreement.is_below(policy.agreement_bar):
        return ""
    return (
        f"agreed with {agreement.agreed} of the latest {agreement.answers} gold answers; "
        f"the bar is {policy.agreement_bar:.0%}"
    )
