"""Quality pages: gold in two clicks, the policy, who is paused; and what an annotator sees of all that."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Job, Label, Person, QualityPolicy, QueueItem, Step, StepScore
from tests.factories import AnnotatorFactory, GoldFactory, PRMVersionFactory, QueueFactory, QueueItemFactory
from tests.loop.labelling import labelled, policy
from tests.web.labelling import HTMX

pytestmark = pytest.mark.django_db
STEPS = ["One.", "Two is three.", "So 3."]


def test_only_managers_see_the_quality_pages(as_annotator: Client, annotator: Person) -> None:
    QueueItemFactory.create(solution__steps=STEPS)
    label = labelled(annotator, -1)
    gold = GoldFactory.create()
    paths = [reverse(name) for name in ("quality", "quality_policy", "gold")]
    paths += [reverse("gold_make", args=[label.pk])]
    posts = [reverse(name, args=[gold.pk]) for name in ("gold_retire", "gold_use")]
    posts += [
        reverse(name, args=[annotator.pk]) for name in ("person_lift", "person_admit", "person_screen_again")
    ]
    for path in paths:
        assert as_annotator.get(path).status_code == 403, path
    for path in [*posts, paths[-1]]:
        assert as_annotator.post(path).status_code == 403, path


def test_a_paused_person_is_told_kindly_and_the_manager_with_figures(
    as_manager: Client, as_annotator: Client, annotator: Person
) -> None:
    policy(gold_every=1)
    for _ in range(4):
        QueueItemFactory.create()
    GoldFactory.create_batch(3, accepted=[-1])
    for _ in range(3):
        labelled(annotator, -1)
    page = as_annotator.get("/label/").content.decode()
    assert "You are paused for now" in page
    assert "gold" not in page.lower().replace("golden", "")
    managers = as_manager.get("/quality/").content.decode()
    assert "0 of the latest 3" in managers
    assert "0 of 3" in managers
    assert "paused" in as_manager.get("/progress/").content.decode()
    as_manager.post(reverse("person_lift", args=[annotator.pk]))
    assert "data-item" in as_annotator.get("/label/").content.decode()


def test_the_policy_is_changed_by_a_form_and_nonsense_is_refused(as_manager: Client) -> None:
    sound = {
        "gold_every": 12,
        "agreement_bar": 0.5,
        "agreement_window": 30,
        "screening": "on",
        "screening_items": 20,
        "admission_bar": 0.8,
        "screening_attempts": 3,
        "undo_seconds": 60,
    }
    assert as_manager.post("/quality/policy/", sound).status_code == 302
    current = QualityPolicy.current()
    assert (current.gold_every, current.screening, current.admission_bar) == (12, True, 0.8)
    for wrong in ({"agreement_bar": 2}, {"agreement_window": 500}, {"screening_items": 0}):
        refused = as_manager.post("/quality/policy/", sound | wrong)
        assert refused.status_code == 400
        assert "Ensure this value is" in refused.content.decode()
    assert QualityPolicy.current().agreement_bar == 0.5


def test_the_list_of_people_costs_the_same_queries_however_many(as_manager: Client) -> None:
    AnnotatorFactory.create()
    as_manager.get("/quality/")
    with CaptureQueriesContext(connection) as few:
        as_manager.get("/quality/")
    AnnotatorFactory.create_batch(10)
    with CaptureQueriesContext(connection) as many:
        as_manager.get("/quality/")
    assert len(few) == len(many)


# What an annotator sees


def test_my_work_tells_agreement_up_to_yesterday_so_that_no_submit_moves_it(
    as_annotator: Client, annotator: Person
) -> None:
    policy(gold_every=1)
    GoldFactory.create_batch(7, accepted=[-1], solution__steps=STEPS)
    QueueItemFactory.create_batch(8)
    for _ in range(6):
        labelled(annotator, 1, 1, 1)
    assert "Up to yesterday" not in as_annotator.get("/work/").content.decode()
    Label.objects.update(submitted_at=timezone.now() - timedelta(days=1))
    assert "agreed with 100 %" in as_annotator.get("/work/").content.decode()
    labelled(annotator, -1)
    assert "agreed with 100 %" in as_annotator.get("/work/").content.decode()


def test_a_screening_counts_its_questions_and_its_result_explains_each_miss(
    as_annotator: Client, annotator: Person
) -> None:
    policy(screening=True, screening_items=2, screening_attempts=1)
    QueueFactory.create()
    assert "cannot begin yet" in as_annotator.get("/label/").content.decode()
    GoldFactory.create_batch(2, screens=True, solution__steps=STEPS, explanation="Two is two.")
    assert "Screening: solution 1 of 2" in as_annotator.get("/label/").content.decode()
    labelled(annotator, -1)
    result = as_annotator.get("/screening/").content.decode()
    assert "Done so far: 1." in result
    assert "Two is two." not in result  # not while the attempt goes on
    item = verbs.claim(person=Person.objects.get(pk=annotator.pk))
    assert item
    as_annotator.post(reverse("label_rate", args=[item.item]), {"rating": "0:-1"}, headers=HTMX)
    answer = as_annotator.post(reverse("label_submit", args=[item.item]), headers=HTMX).content.decode()
    assert "Your screening is over" in answer
    assert "You were not admitted" in answer
    result = as_annotator.get("/screening/").content.decode()
    assert result.count("Here you differed") == 2
    assert "Two is two." in result
    assert "The first error is step 2" in result


def test_without_javascript_the_end_of_a_screening_leads_to_its_result(as_annotator: Client) -> None:
    policy(screening=True, screening_items=1)
    QueueFactory.create()
    GoldFactory.create(screens=True, solution__steps=STEPS, accepted=[0])
    as_annotator.get("/label/")
    item = QueueItem.objects.get()
    as_annotator.post(reverse("label_rate", args=[item.pk]), {"rating": "0:-1"})
    assert as_annotator.post(reverse("label_submit", args=[item.pk]))["Location"] == "/screening/"
    assert "You are admitted" in as_annotator.get("/screening/").content.decode()


# Agreement


def test_agreement_is_shown_with_intervals_and_undefined_with_its_reason(
    as_manager: Client, annotator: Person
) -> None:
    assert "not measured yet" in as_manager.get("/quality/agreement/").content.decode()
    defined = {"value": 0.612, "low": 0.5, "high": 0.71, "units": 40, "solutions": 12, "why": ""}
    undefined = {"value": None, "low": None, "high": None, "units": 3, "solutions": 1, "why": "all the same"}
    pair = {"people": [annotator.pk, 10**6], "kappa": defined}
    result = {"solutions": 12, "labels": 24, "steps": defined, "first_error": undefined, "pairs": [pair]}
    Job.objects.create(kind="agreement", status="done", finished_at=timezone.now(), result=result)
    page = as_manager.get("/quality/agreement/").content.decode()
    assert "<b>0.61</b>" in page
    assert "0.50 to 0.71" in page
    assert "undefined: all the same" in page
    assert "ada and somebody" in page
    assert page.count("<svg") == 2


def test_a_manager_asks_for_a_measurement_once(as_manager: Client) -> None:
    as_manager.post("/quality/agreement/measure/")
    as_manager.post("/quality/agreement/measure/")
    assert Job.objects.filter(kind="agreement").count() == 1
    measuring = as_manager.get("/quality/agreement/").content.decode()
    assert "a worker measures it now" in measuring
    assert 'hx-trigger="every 3s"' in measuring


# Hints


def test_a_hint_is_shown_on_the_page_and_its_effect_to_managers(
    as_manager: Client, as_annotator: Client, annotator: Person
) -> None:
    assert "No label was made" in as_manager.get("/quality/hints/").content.decode()
    queue = QueueFactory.create(hints=True, blind_share=0.0)
    item = QueueItemFactory.create(queue=queue, solution__steps=STEPS)
    for step in item.solution.steps.all():
        StepScore.objects.create(
            step=step, prm=item.prm, p_bad=0.9 if step.index == 1 else 0.1, p_okay=0, p_great=0
        )
    page = as_annotator.get("/label/").content.decode()
    assert "the first error is step 2" in page
    assert "0.9" not in page
    labelled(annotator, 1, -1)
    html = as_manager.get("/quality/hints/").content.decode()
    assert "100 %" in html
    assert "<svg" in html


def test_a_queue_with_hints_says_what_has_none(as_manager: Client) -> None:
    queue = QueueFactory.create(hints=True, name="hinting")
    QueueItemFactory.create_batch(2, queue=queue, solution__steps=STEPS)
    GoldFactory.create(solution__steps=STEPS)
    html = as_manager.get("/quality/hints/").content.decode()
    assert "2 open solutions of hinting were scored by no model yet" in html
    assert "1 gold was scored by no model" in html
    prm = PRMVersionFactory.create()
    for step in Step.objects.all():
        StepScore.objects.create(step=step, prm=prm, p_bad=0, p_okay=0, p_great=1)
    assert "scored by no model" not in as_manager.get("/quality/hints/").content.decode()
