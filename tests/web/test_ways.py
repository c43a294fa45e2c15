"""The label page in the other ways: next steps to wait for, to rate and to go on with; the same without JavaScript."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.loop.queues import put_problems
from annotate.models import Label, Person, Queue, QueueItem, Way
from tests.factories import AnnotatorFactory, ProblemFactory, QueueFactory, QueueItemFactory
from tests.fakes import ScriptedGenerator
from tests.loop.proposing import a_model_worker, work_off
from tests.web.labelling import HTMX, STEPS, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator(annotator: Person) -> Person:
    a_model_worker()
    return annotator


@pytest.fixture
def further(annotator: Person) -> int:
    return QueueItemFactory.create(
        queue=QueueFactory.create(asks_further=True, options=3), solution__steps=STEPS
    ).pk


@pytest.fixture
def grown(annotator: Person) -> int:
    ProblemFactory.create(text="How much is $\\frac12$ of 6?", answer="3")
    put_problems(queue=QueueFactory.create(way=Way.STEP_BY_STEP, options=3), problems=1)
    return QueueItem.objects.get().pk


def poll(as_annotator: Client, item: int, seen: str = "") -> Any:
    return as_annotator.get(reverse("label_proposed", args=[item]), {"seen": seen}, headers=HTMX)


def rate_each(as_annotator: Client, item: int, *values: int, first: int = 0, htmx: bool = True) -> Any:
    for index, value in enumerate(values, first):
        response = post(as_annotator, "label_rate", item, htmx, rating=f"{index}:{value}")
    return response


# Every step


def test_every_step_can_be_rated_after_an_error_which_is_marked(
    as_annotator: Client, annotator: Person
) -> None:
    item = QueueItemFactory.create(queue=QueueFactory.create(way=Way.EVERY_STEP), solution__steps=STEPS).pk
    as_annotator.get("/label/")
    html = rate_each(as_annotator, item, 1, -1).content.decode()
    assert html.count("after the error") == 2
    assert html.count('role="radiogroup"') == 3  # the error itself and the two after it
    assert post(as_annotator, "label_submit", item).status_code == 400
    rate_each(as_annotator, item, 0, 1, first=2)
    post(as_annotator, "label_submit", item)
    assert Label.objects.get().finish_reason == "found_error"


# Further


def test_at_the_error_the_page_asks_further_and_says_that_the_model_writes(
    as_annotator: Client, further: int
) -> None:
    assert 'id="further"' in as_annotator.get("/label/").content.decode()
    html = rate_each(as_annotator, further, 1, -1).content.decode()
    assert "The model writes next steps" in html
    assert "How far did the solution get" in html
    assert 'hx-swap-oob="true"' in html
    assert f"/label/{further}/proposed/?seen=queued-0" in html
    assert poll(as_annotator, further, "queued-0").status_code == 204
    work_off(ScriptedGenerator(lambda problem, i: f"x\nIt is ${i}$.<b>"))
    html = poll(as_annotator, further, "queued-0").content.decode()
    assert html.count('role="radiogroup"') == 3
    assert "<mn>2</mn>" in html
    assert "&lt;b&gt;" in html
    assert "hx-get" not in html


def test_what_is_said_further_goes_with_the_submit(as_annotator: Client, further: int) -> None:
    as_annotator.get("/label/")
    rate_each(as_annotator, further, 1, -1)
    work_off()
    html = rate_each(as_annotator, further, 1, 0, -1, first=len(STEPS)).content.decode()
    assert 'id="option-3"' in html
    assert 'id="option-1"' not in html
    assert 'data-finish="found_error"' in html
    refused = post(as_annotator, "label_submit", further, critique="Five is wrong.")
    assert "how far the solution got" in refused.content.decode()
    post(as_annotator, "label_submit", further, critique="Five is wrong.", progress="2")
    label = Label.objects.get()
    assert (label.critique, label.progress, label.submitted_at is not None) == ("Five is wrong.", 2, True)


def test_what_is_typed_is_saved_on_the_way(as_annotator: Client, further: int) -> None:
    as_annotator.get("/label/")
    rate_each(as_annotator, further, 1, -1)
    assert post(as_annotator, "label_further", further, critique="Half a").status_code == 204
    assert "Half a</textarea>" in as_annotator.get("/label/").content.decode()


def test_what_the_model_says_is_wrong_comes_with_the_next_steps_and_keeps_what_is_typed(
    as_annotator: Client, further: int
) -> None:
    Queue.objects.update(critiques=True)
    as_annotator.get("/label/")
    # Part of what is swapped, so no swap of its own.
    assert '<div id="critic"></div>' in rate_each(as_annotator, further, 1, -1).content.decode()
    work_off(ScriptedGenerator(lambda problem, i: f"x\nIt is ${i}$.<b>"))
    html = poll(as_annotator, further, "queued-0").content.decode()
    assert '<div id="critic" hx-swap-oob="true">' in html
    assert "Rate what the model says" in html
    assert "<textarea" not in html
    changed = rate_each(as_annotator, further, 0, first=len(STEPS)).content.decode()
    assert 'id="critic-word"' in changed
    assert "<textarea" not in changed
    html = as_annotator.get("/label/").content.decode()
    assert html.index('id="critic-word"') < html.index('id="option-1"') < html.index('id="option-2"')
    assert (
        'id="critique" name="critique" form="submit" rows="2" maxlength' in html
    )  # written only if one likes
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert sorted(ids) == sorted(set(ids))  # the page finds things by them


@pytest.mark.parametrize("since", [None, timedelta(days=2)])
def test_no_worker_is_said_and_everything_is_kept(
    as_annotator: Client, further: int, since: timedelta | None
) -> None:
    a_model_worker(seen_at=timezone.now() - (since or timedelta(hours=2)))
    as_annotator.get("/label/")
    html = rate_each(as_annotator, further, 1, -1).content.decode()
    assert "No model is at work" in html
    assert "None has answered since" in html
    a_model_worker()
    assert "The model writes" in poll(as_annotator, further, "no worker-0").content.decode()


# Step by step


def test_it_goes_from_options_to_a_solution_without_javascript(as_annotator: Client, grown: int) -> None:
    html = as_annotator.get("/label/").content.decode()
    assert "The model writes next steps" in html
    assert "<mfrac>" in html
    assert "Look again" in html
    for step in range(3):
        work_off()
        html = as_annotator.get("/label/").content.decode()
        assert "The model writes" not in html
        n = html.count('id="option-')
        rate_each(as_annotator, grown, 1, *[0] * (n - 1), htmx=False)
        html = as_annotator.get("/label/").content.decode()
        assert html.count("Go on with this") == 1
        post(as_annotator, "label_choose", grown, htmx=False, step=step, option=0)
    html = as_annotator.get("/label/").content.decode()
    assert "The solution has its answer" in html
    post(as_annotator, "label_submit", grown, htmx=False)
    assert Label.objects.get().finish_reason == "solution"


def test_where_none_is_great_the_page_asks_for_a_step(as_annotator: Client, grown: int) -> None:
    as_annotator.get("/label/")
    work_off()
    html = rate_each(as_annotator, grown, 0, 0, -1).content.decode()
    assert 'data-onward="write"' in html
    assert f'action="/label/{grown}/write/"' in html
    html = post(as_annotator, "label_write", grown, step=0, text="<i>I count.").content.decode()
    assert "written by you" in html
    assert "&lt;i&gt;I count." in html
    assert "The model writes next steps" in html


def test_going_back_shows_the_whole_page_again(as_annotator: Client, grown: int) -> None:
    as_annotator.get("/label/")
    work_off()
    rate_each(as_annotator, grown, 1, 0, -1)
    post(as_annotator, "label_choose", grown, step=0, option=0)
    response = post(as_annotator, "label_undo", grown)
    assert response["HX-Reswap"] == "outerHTML"
    assert 'data-onward="choose"' in response.content.decode()


def test_a_refused_step_is_said_with_the_reason(as_annotator: Client, grown: int) -> None:
    as_annotator.get("/label/")
    work_off()
    response = post(as_annotator, "label_choose", grown, step=0, option=0)
    assert response.status_code == 400
    assert "Option A is not rated yet" in response.content.decode()
    assert "Say which option" in post(as_annotator, "label_choose", grown, step=0).content.decode()


def test_a_failed_proposal_can_be_asked_for_again_and_does_not_tell_why(
    as_annotator: Client, grown: int
) -> None:
    from annotate.models import Job

    as_annotator.get("/label/")
    Job.objects.update(status="failed", message="the server at http://10.0.0.7 failed")
    html = as_annotator.get("/label/").content.decode()
    assert "10.0.0.7" not in html
    assert "Ask it again" in html
    post(as_annotator, "label_again", grown)
    assert Job.objects.filter(status="queued").count() == 1


@pytest.mark.parametrize("name", ["label_choose", "label_write", "label_again", "label_further"])
def test_somebody_elses_item_looks_like_none(as_annotator: Client, grown: int, name: str) -> None:
    as_annotator.get("/label/")
    other = Client()
    other.force_login(AnnotatorFactory.create())
    assert post(other, name, grown, step=0, option=0, text="x").status_code == 404
    assert poll(other, grown).status_code == 204
    stranger = Client()
    assert post(stranger, name, grown).status_code in (302, 403)


def test_my_work_shows_the_path_that_was_followed(as_annotator: Client, grown: int) -> None:
    as_annotator.get("/label/")
    work_off()
    rate_each(as_annotator, grown, 0, 0, -1)
    post(as_annotator, "label_write", grown, step=0, text="It is 3.\n\n# Answer\n\n3")
    post(as_annotator, "label_submit", grown)
    html = as_annotator.get(f"/work/{Label.objects.get().pk}/").content.decode()
    assert "It is 3." in html
    assert "written by you" in html
