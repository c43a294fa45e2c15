"""Agreement measured on the labels that are here: whose count, when it is due, and what a page can show of it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.loop.adjudicate import side_with
from annotate.loop.agreement import agreement_due, measure, measured
from annotate.models import Job, Label
from tests.factories import ManagerFactory
from tests.loop.labelling import labels_of_one

pytestmark = pytest.mark.django_db


def test_it_is_measured_on_solutions_that_several_people_labelled() -> None:
    for _ in range(6):
        labels_of_one((1, -1), (1, 0, -1))
        labels_of_one((1, 1, 1, 1), (1, 1, 1, 1))
    labels_of_one((1, -1))
    found = json.loads(json.dumps(measure()))
    assert (found["solutions"], found["labels"]) == (12, 24)
    assert 0 < found["steps"]["value"] < 1
    assert found["first_error"]["units"] == 12
    assert found["first_error"]["low"] <= found["first_error"]["value"] <= found["first_error"]["high"]
    pair = found["pairs"][0]
    assert set(pair["people"]) <= set(Label.objects.values_list("annotator", flat=True))


def test_without_shared_solutions_the_reason_is_told() -> None:
    labels_of_one((1, -1))
    found = measure()
    assert (found["steps"]["value"], found["pairs"]) == (None, [])
    assert "two people yet" in found["steps"]["why"]


def test_gold_answers_and_decisions_do_not_count() -> None:
    one, other = labels_of_one((1, -1), (1, 1, -1))
    side_with(label=one, by=ManagerFactory.create())
    assert measure()["labels"] == 2
    Label.objects.filter(pk=other.pk).update(is_quality_control_question=True)
    assert measure()["labels"] == 0


def test_it_is_due_once_somebody_labels_what_another_has_labelled() -> None:
    labels_of_one((1, -1))
    assert not agreement_due()
    labels_of_one((1, -1), (1, -1))
    assert agreement_due()
    Job.objects.create(kind="agreement", status="done", finished_at=timezone.now(), result=measure())
    assert not agreement_due()
    hour = timedelta(hours=1)
    Job.objects.update(finished_at=timezone.now() - hour)
    Label.objects.update(submitted_at=timezone.now() - 2 * hour)
    assert not agreement_due()
    labels_of_one((1, -1), (1, 1, -1))
    assert agreement_due()
    latest = measured()
    assert latest
    assert latest.result["labels"] == 2
