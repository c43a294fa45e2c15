"""Screening: before a person labels, a set of gold tells whether they rate as others do. Judges no steps itself."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.models import Gold, Person, QualityPolicy


@dataclass(frozen=True)
class Screening:
    """How a person's current attempt stands. `unmet` is how many screening questions they have not met yet."""

    asked: int
    answered: int
    unmet: int
    attempts_left: int

    @property
    def out_of_questions(self) -> bool:
        """An attempt takes questions the person has not met; it does not begin with too few."""
        return self.unmet == 0 or (self.answered == 0 and self.unmet < self.asked)

    @property
    def goes_on(self) -> bool:
        return self.attempts_left > 0 and not self.out_of_questions


def screening_of(person: Person) -> Screening | None:
    """The screening this person is in; None where none is asked of them."""
    policy = QualityPolicy.objects.first()
    return _standing(person, policy) if policy is not None and policy.screens(person) else None


def next_question(person: Person, policy: QualityPolicy) -> Gold | None:
    """The gold that comes next; None where the attempts are used up or there are not enough questions."""
    if not _standing(person, policy).goes_on:
        return None
    return Gold.objects.screening().next_for(person).first()


def end_attempt(person: Person, policy: QualityPolicy, agreed: list[bool]) -> bool:
    """Judge an attempt once its last question is answered; returns whether it was. Within the submit's transaction.

    `agreed` says of each answer of the attempt whether it is one the gold accepts.
    """
    if len(agreed) < policy.screening_items:
        return False
    now = timezone.now()
    passed = sum(agreed) >= policy.admission_bar * len(agreed)
    person.screenings, person.gold_since = person.screenings + 1, now
    person.admitted_at = now if passed else None
    person.save(update_fields=("screenings", "gold_since", "admitted_at"))
    return True


@transaction.atomic
def admit(*, person: Person, by: Person) -> None:
    """Let a person label without (another) screening, by a manager's word."""
    Person.objects.filter(pk=person.pk, admitted_at=None).update(
        admitted_at=timezone.now(), gold_since=timezone.now()
    )


@transaction.atomic
def screen_again(*, person: Person, by: Person) -> None:
    """Give a person who was refused as many attempts as the policy grants, on questions they have not met.

    Raises PlumblineError where too few such questions are left.
    """
    policy = QualityPolicy.current()
    unmet = Gold.objects.screening().unmet_by(person).count()
    if unmet < policy.screening_items:
        raise PlumblineError(
            _(
                "Screening questions %(name)s has not met: %(unmet)s; an attempt takes %(asked)s. Make more gold for "
                "the screening, or admit them by hand."
            )
            % {"name": person, "unmet": unmet, "asked": policy.screening_items}
        )
    Person.objects.filter(pk=person.pk).update(screenings=0, admitted_at=None, gold_since=timezone.now())


def _standing(person: Person, policy: QualityPolicy) -> Screening:
    answered = person.labels.screening_answers().submitted().counting().count()
    return Screening(
        asked=policy.screening_items,
        answered=answered,
        unmet=Gold.objects.screening().unmet_by(person).count(),
        attempts_left=max(0, policy.screening_attempts - person.screenings),
    )
