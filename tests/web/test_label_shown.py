"""What the label page shows and to whom, and what it never sends."""

from __future__ import annotations

import json
import math

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Person, QueueItem
from tests.factories import (
    AnnotatorFactory,
    ManagerFactory,
    PersonFactory,
    ServingPRMFactory,
    SolutionScoreFactory,
)
from tests.web.labelling import HTMX, make_item, post, rate

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["label", "work"])
def test_only_annotators_see_it(name: str) -> None:
    anonymous = Client().get(reverse(name))
    assert (anonymous.status_code, anonymous["Location"]) == (302, f"/login/?next={reverse(name)}")
    for somebody in (PersonFactory.create(), ManagerFactory.create()):
        client = Client()
        client.force_login(somebody)
        assert client.get(reverse(name)).status_code == 403


def test_the_page_shows_the_problem_the_guess_and_the_steps_as_mathematics(as_annotator: Client) -> None:
    make_item(solution__problem__text="What is $x$?", solution__problem__answer=r"\frac{1}{2}")
    html = as_annotator.get("/label/").content.decode()
    assert "What is <math><mi>x</mi></math>?" in html
    assert '<span class="answer"><math><mfrac><mn>1</mn><mn>2</mn></mfrac></math></span>' in html
    assert "<mfrac><mi>x</mi><mn>2</mn></mfrac>" in html
    assert "its answer: <b><math><mn>5</mn></math></b>" in html
    assert "# Answer" not in html


def test_model_written_text_is_escaped(as_annotator: Client) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    make_item(solution__problem__text=hostile, solution__problem__answer=hostile)
    QueueItem.objects.get().solution.steps.update(text=hostile)
    assert "<img" not in as_annotator.get("/label/").content.decode()


def test_the_page_needs_no_inline_script_or_style(as_annotator: Client) -> None:
    make_item()
    response = as_annotator.get("/label/")
    assert "unsafe-inline" not in response["Content-Security-Policy"]
    html = response.content.decode()
    assert "<style" not in html
    assert " style=" not in html
    assert "<script>" not in html


def test_no_score_gold_or_reason_is_ever_sent_to_an_annotator(
    as_annotator: Client, annotator: Person
) -> None:
    prm = ServingPRMFactory.create(number=987123)
    items = [
        make_item(
            prm=prm,
            score=math.log(0.123456),
            propensity=0.654321,
            priority=0.777777,
            random_key=0.888888,
            rank=424242,
            strategy="top-secret-strategy",
            solution__grade_reason="the-grade-reason",
            solution__problem__solution="the-reference-solution",
            solution__problem__source="the-source",
        )
        for _ in range(3)
    ]
    for item in items:
        SolutionScoreFactory.create(solution=item.solution, prm=prm, product=0.123456)
    verbs.claim(person=(ben := AnnotatorFactory.create(username="ben-the-other")))
    held = QueueItem.objects.get(leased_by=ben)
    verbs.rate(person=ben, item=held.pk, step_index=0, rating=1)
    verbs.submit(person=ben, item=held.pk, finish_reason="give_up", comment="what-ben-said")

    bodies = [as_annotator.get("/label/"), as_annotator.get("/label/", headers=HTMX)]
    item = QueueItem.objects.get(leased_by=annotator)
    bodies += [
        rate(as_annotator, item.pk, 0, 1),
        rate(as_annotator, item.pk, 1, -1),
        rate(as_annotator, item.pk, 3, 1),
    ]
    bodies += [post(as_annotator, "label_ahead", item.pk)]
    bodies += [
        post(as_annotator, "label_flag", item.pk, unsure="0:1"),
        post(as_annotator, "label_undo", item.pk),
    ]
    bodies += [post(as_annotator, "label_submit", item.pk), rate(as_annotator, item.pk, 1, -1)]
    bodies += [post(as_annotator, "label_submit", item.pk), as_annotator.get("/work/")]
    bodies += [as_annotator.get(reverse("work_label", args=[annotator.labels.submitted().get().pk]))]
    secrets = [
        *("0.1234", "0.6543", "0.7777", "0.8888", "424242", "987123", "top-secret", "grade-reason"),
        *("reference-solution", "the-source", "what-ben-said", "ben-the-other", "convincing", "-2.09"),
    ]  # fmt: skip
    for response in bodies:
        sent = response.content.decode() + json.dumps(dict(response.items()))
        for secret in secrets:
            assert secret not in sent, (response.request["PATH_INFO"], secret)


def test_an_annotator_has_no_link_to_managers_pages(as_annotator: Client) -> None:
    html = as_annotator.get("/label/").content.decode()
    for name in ("progress", "queues", "people", "versions", "problems"):
        assert f'href="{reverse(name)}"' not in html


def test_the_page_and_the_answer_to_submit_are_one_template(as_annotator: Client) -> None:
    make_item()
    whole = as_annotator.get("/label/").content.decode()
    part = as_annotator.get("/label/", headers=HTMX).content.decode()
    for line in ('id="problem"', 'id="step-4"', 'id="standing"', 'id="submit"'):
        assert line in whole
        assert line in part
    assert "<html" not in part


def test_an_empty_queue_says_what_the_loop_is_doing_and_looks_again(as_annotator: Client) -> None:
    html = as_annotator.get("/label/").content.decode()
    assert "Nothing to rate right now" in html
    assert 'hx-trigger="every 10s"' in html
    make_item()
    assert "hx-trigger" not in as_annotator.get("/label/", headers=HTMX).content.decode()


def test_what_is_left_in_others_hands_is_said(as_annotator: Client) -> None:
    make_item()
    verbs.claim(person=AnnotatorFactory.create())
    assert "other people’s hands (1)" in as_annotator.get("/label/").content.decode()


def test_a_paused_queue_is_said_beside_open_work_and_after_it(as_annotator: Client) -> None:
    item = make_item()
    make_item()
    as_annotator.get("/label/")
    item.queue.paused_at = timezone.now()
    item.queue.save()
    assert "The queue is paused: finish this solution" in as_annotator.get("/label/").content.decode()
    rate(as_annotator, item.pk, 0, -1)
    after = post(as_annotator, "label_submit", item.pk).content.decode()
    assert "The queue is paused</h1>" in after
