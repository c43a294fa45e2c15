"""How people stand: their labels, their pace, their agreement with gold, their screening. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q

from annotate.loop.gold import Agreement
from annotate.models import ANNOTATOR, Label, Person, QualityPolicy


@dataclass(frozen=True)
class PersonStanding:
    """One annotator; `agreement` is over the policy's window of latest gold answers, `milliseconds` a median."""

    person: Person
    labels: int
    milliseconds: float | None
    agreement: Agreement
    below_bar: bool
    screened: bool


def standings() -> list[PersonStanding]:
    """Every annotator who may sign in, or has a gold answer, by name; three queries."""
    policy = QualityPolicy.current()
    paces = {pace["annotator__username"]: pace for pace in Label.objects.submitted().paces()}
    people = _annotators(policy.agreement_window)
    found = []
    for person, answers in people:
        pace = paces.get(person.username, {"solutions": 0, "milliseconds": None})
        agreement = Agreement.of(answers)
        found.append(
            PersonStanding(
                person=person,
                labels=pace["solutions"],
                milliseconds=pace["milliseconds"],
                agreement=agreement,
                below_bar=agreement.is_below(policy.agreement_bar),
                screened=policy.screens(person),
            )
        )
    return found


def agreement_before(person: Person, moment: datetime) -> Agreement:
    """Of one person's gold answers given before a moment, over the policy's window.

    For the person themselves the moment lies well back: a figure that moved with a submit would tell what was gold.
    """
    window = QualityPolicy.current().agreement_window
    given = person.labels.gold_answers().filter(submitted_at__lt=moment).counting()
    latest = given.order_by("-submitted_at", "-id").values_list("agrees_with_gold", flat=True)[:window]
    return Agreement.of([bool(agreed) for agreed in latest])


def _annotators(window: int) -> list[tuple[Person, list[bool]]]:
    given = Label.objects.filter(annotator=OuterRef("pk")).gold_answers().submitted().counting()
    latest = given.order_by("-submitted_at", "-id").values("agrees_with_gold")[:window]
    people = (
        Person.objects.filter(Q(groups__name=ANNOTATOR, is_active=True) | Q(suspended_at__isnull=False))
        .distinct()
        .order_by("username")
    )
    return [(person, person.gold_given) for person in people.annotate(gold_given=ArraySubquery(latest))]
