"""The labelling page over HTTP: rating, submitting, what is sent ahead, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotate.models import Label, Person, QueueItem, StepRating
from tests.factories import (
    QueueItemFactory,
)
from tests.web.labelling import STEPS, make_item, post, rate

pytestmark = pytest.mark.django_db


def test_a_rating_is_answered_with_what_changed_only(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    html = rate(as_annotator, item.pk, 0, 1).content.decode()
    assert html.count("<li ") == 1
    assert 'id="step-1"' in html
    assert "1 of 4 rated" in html
    assert rate(as_annotator, item.pk, 1, -1).content.decode().count("<li ") == 3
    assert "<li " not in rate(as_annotator, item.pk, 1, -1).content.decode()


def test_ratings_survive_a_reload(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    rate(as_annotator, item.pk, 0, 1)
    rate(as_annotator, item.pk, 1, 0)
    html = as_annotator.get("/label/").content.decode()
    assert 'value="0:1" aria-checked="true"' in html
    assert 'value="1:0" aria-checked="true"' in html
    assert html.count('aria-checked="true"') == 2
    assert "2 of 4 rated" in html


def test_later_steps_go_grey_after_an_error_and_come_back(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    rate(as_annotator, item.pk, 0, -1)
    assert as_annotator.get("/label/").content.decode().count("after the error") == 3
    rate(as_annotator, item.pk, 0, 1)
    assert "after the error" not in as_annotator.get("/label/").content.decode()


def test_submit_brings_the_next_item_in_the_same_answer(as_annotator: Client, annotator: Person) -> None:
    first, second = make_item(), make_item()
    as_annotator.get("/label/")
    rate(as_annotator, first.pk, 0, -1, active_ms=1)
    response = post(as_annotator, "label_submit", first.pk, active_ms=5)
    assert f'data-item="{second.pk}"' in response.content.decode()
    assert "1 today" in response.content.decode()
    assert Label.objects.submitted().get().finish_reason == "found_error"


def test_the_next_item_is_sent_ahead_and_a_submit_then_brings_only_what_it_lacks(
    as_annotator: Client, annotator: Person, settings: Any
) -> None:
    first, second = make_item(), make_item()
    html = as_annotator.get("/label/").content.decode()
    assert f'data-ahead="/label/{first.pk}/ahead/"' in html
    rate(as_annotator, first.pk, 0, -1)
    fetched = post(as_annotator, "label_ahead", first.pk)
    assert 0 < int(fetched["Plumbline-Seconds"]) <= settings.LEASE_SECONDS
    for part in (f'data-item="{second.pk}"', 'id="step-4"', 'id="submit"'):
        assert part in fetched.content.decode()
    for part in ("data-now", "today", "work/"):  # which are old by the time it is shown
        assert part not in fetched.content.decode()
    answer = post(as_annotator, "label_submit", first.pk, shown=second.pk)
    label = Label.objects.submitted().get()
    lacking = answer.content.decode()
    assert (answer["HX-Reswap"], answer["Plumbline-Token"]) == (
        "none", str(QueueItem.objects.get(leased_by=annotator).lease_token)
    )  # fmt: skip
    assert f'action="/work/{label.pk}/take-back/"' in lacking
    assert "1 today" in lacking
    assert STEPS[0][:7] not in lacking


def test_a_submit_brings_the_whole_item_where_the_page_shows_another(as_annotator: Client) -> None:
    first, second = make_item(), make_item()
    as_annotator.get("/label/")
    rate(as_annotator, first.pk, 0, -1)
    answer = post(as_annotator, "label_submit", first.pk, shown=second.pk + 1)
    assert answer["HX-Reswap"] == "outerHTML"
    assert f'data-item="{second.pk}"' in answer.content.decode()


def test_nothing_is_sent_ahead_where_nothing_comes_or_the_page_is_somebody_elses(
    as_annotator: Client,
) -> None:
    item = make_item()
    as_annotator.get("/label/")
    assert post(as_annotator, "label_ahead", item.pk).status_code == 204
    make_item()
    assert post(as_annotator, "label_ahead", 10**15).status_code == 204
    assert post(as_annotator, "label_ahead", item.pk, person="0").status_code == 403
    assert QueueItem.objects.leased().count() == 1


def test_everything_works_without_javascript(as_annotator: Client) -> None:
    item, following = make_item(), make_item()
    as_annotator.get("/label/")
    response = rate(as_annotator, item.pk, 0, 1, htmx=False)
    assert (response.status_code, response["Location"]) == (302, "/label/#step-1")
    post(as_annotator, "label_flag", item.pk, htmx=False, unsure="1:1")
    rate(as_annotator, item.pk, 1, -1, htmx=False)
    post(as_annotator, "label_undo", item.pk, htmx=False)
    assert list(StepRating.objects.values_list("rating", "flagged")) == [(1, None), (None, True)]
    refused = post(as_annotator, "label_submit", item.pk, htmx=False)
    assert refused["Location"] == "/label/"
    assert "Step 2 is not rated yet." in as_annotator.get("/label/").content.decode()
    post(as_annotator, "label_submit", item.pk, htmx=False, finish_reason="give_up", comment="no idea")
    assert Label.objects.submitted().get().comment == "no idea"
    assert f'data-item="{following.pk}"' in as_annotator.get("/label/").content.decode()


def test_a_page_that_is_left_gives_its_item_back(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    token = QueueItem.objects.get().lease_token
    assert post(as_annotator, "label_release", item.pk, token="nonsense").status_code == 400
    assert post(as_annotator, "label_release", item.pk, token=token).status_code == 204
    assert QueueItem.objects.get().leased_by is None


def test_a_heartbeat_is_answered_with_nothing(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    assert post(as_annotator, "label_heartbeat", item.pk).status_code == 204


# What it costs: session, person and roles are three of each page's queries


def test_the_hot_requests_ask_the_database_little(
    as_annotator: Client, django_assert_num_queries: Any
) -> None:
    items = [make_item() for _ in range(4)]
    with django_assert_num_queries(15):
        as_annotator.get("/label/")
    with django_assert_num_queries(9):
        as_annotator.get("/label/")  # the same item again
    with django_assert_num_queries(8):
        rate(as_annotator, items[0].pk, 0, -1, active_ms=1)
    with django_assert_num_queries(22):
        post(as_annotator, "label_submit", items[0].pk)
    rate(as_annotator, items[1].pk, 0, -1)
    with django_assert_num_queries(15):
        post(as_annotator, "label_ahead", items[1].pk)
    with django_assert_num_queries(18):
        post(as_annotator, "label_submit", items[1].pk, shown=items[2].pk)


def test_a_longer_solution_costs_no_more_queries(
    as_annotator: Client, django_assert_num_queries: Any
) -> None:
    QueueItemFactory.create(solution__steps=[f"Step ${i}$." for i in range(200)])
    with django_assert_num_queries(15):
        as_annotator.get("/label/")
