"""The labelling page over HTTP: what is sent, what never is, and what it costs."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Label, Person, QueueItem, StepRating
from tests.factories import (
    AnnotatorFactory,
    ManagerFactory,
    PersonFactory,
    QueueItemFactory,
    ServingPRMFactory,
    SolutionScoreFactory,
)

pytestmark = pytest.mark.django_db

STEPS = ["Call it $x$.", r"So $\frac{x}{2} = 3$.", "Then $x = 5$.", "It is 5.\n\n# Answer\n\n5"]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ada() -> Person:
    return AnnotatorFactory.create(username="ada", first_name="Ada")


@pytest.fixture
def page(ada: Person) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def make_item(**more: Any) -> QueueItem:
    return QueueItemFactory.create(solution__steps=STEPS, **more)


def post(client: Client, name: str, item: int, htmx: bool = True, **data: Any) -> Any:
    return client.post(reverse(name, args=[item]), data, headers=HTMX if htmx else {})


def rate(client: Client, item: int, index: int, rating: int, **more: Any) -> Any:
    return post(client, "label_rate", item, rating=f"{index}:{rating}", **more)


# Who may see it


@pytest.mark.parametrize("name", ["label", "work"])
def test_only_annotators_see_it(name: str) -> None:
    anonymous = Client().get(reverse(name))
    assert (anonymous.status_code, anonymous["Location"]) == (302, f"/login/?next={reverse(name)}")
    for somebody in (PersonFactory.create(), ManagerFactory.create()):
        client = Client()
        client.force_login(somebody)
        assert client.get(reverse(name)).status_code == 403


def test_actions_want_a_token_against_forged_requests(ada: Person) -> None:
    item = make_item()
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    client.get("/label/")
    assert rate(client, item.pk, 0, 1).status_code == 403
    assert (
        rate(client, item.pk, 0, 1, csrfmiddlewaretoken=client.cookies["csrftoken"].value).status_code == 200
    )


# What is shown


def test_the_page_shows_the_problem_the_guess_and_the_steps_as_mathematics(page: Client) -> None:
    make_item(solution__problem__text="What is $x$?", solution__problem__answer=r"\frac{1}{2}")
    html = page.get("/label/").content.decode()
    assert "What is <math><mi>x</mi></math>?" in html
    assert '<span class="answer"><math><mfrac><mn>1</mn><mn>2</mn></mfrac></math></span>' in html
    assert "<mfrac><mi>x</mi><mn>2</mn></mfrac>" in html
    assert "its answer: <b><math><mn>5</mn></math></b>" in html
    assert "# Answer" not in html


def test_model_written_text_is_escaped(page: Client) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    make_item(solution__problem__text=hostile, solution__problem__answer=hostile)
    QueueItem.objects.get().solution.steps.update(text=hostile)
    assert "<img" not in page.get("/label/").content.decode()


def test_the_page_needs_no_inline_script_or_style(page: Client) -> None:
    make_item()
    response = page.get("/label/")
    assert "unsafe-inline" not in response["Content-Security-Policy"]
    html = response.content.decode()
    assert "<style" not in html
    assert " style=" not in html
    assert "<script>" not in html


def test_no_score_gold_or_reason_is_ever_sent_to_an_annotator(page: Client, ada: Person) -> None:
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

    bodies = [page.get("/label/"), page.get("/label/", headers=HTMX)]
    item = QueueItem.objects.get(leased_by=ada)
    bodies += [rate(page, item.pk, 0, 1), rate(page, item.pk, 1, -1), rate(page, item.pk, 3, 1)]
    bodies += [post(page, "label_ahead", item.pk)]
    bodies += [post(page, "label_flag", item.pk, unsure="0:1"), post(page, "label_undo", item.pk)]
    bodies += [post(page, "label_submit", item.pk), rate(page, item.pk, 1, -1)]
    bodies += [post(page, "label_submit", item.pk), page.get("/work/")]
    bodies += [page.get(reverse("work_label", args=[ada.labels.submitted().get().pk]))]
    secrets = [
        *("0.1234", "0.6543", "0.7777", "0.8888", "424242", "987123", "top-secret", "grade-reason"),
        *("reference-solution", "the-source", "what-ben-said", "ben-the-other", "convincing", "-2.09"),
    ]  # fmt: skip
    for response in bodies:
        sent = response.content.decode() + json.dumps(dict(response.items()))
        for secret in secrets:
            assert secret not in sent, (response.request["PATH_INFO"], secret)


def test_an_annotator_has_no_link_to_managers_pages(page: Client) -> None:
    html = page.get("/label/").content.decode()
    for name in ("progress", "queues", "people", "versions", "problems"):
        assert f'href="{reverse(name)}"' not in html


# Rating and submitting


def test_a_rating_is_answered_with_what_changed_only(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    html = rate(page, item.pk, 0, 1).content.decode()
    assert html.count("<li ") == 1
    assert 'id="step-1"' in html
    assert "1 of 4 rated" in html
    assert rate(page, item.pk, 1, -1).content.decode().count("<li ") == 3
    assert "<li " not in rate(page, item.pk, 1, -1).content.decode()


def test_ratings_survive_a_reload(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    rate(page, item.pk, 0, 1)
    rate(page, item.pk, 1, 0)
    html = page.get("/label/").content.decode()
    assert 'value="0:1" aria-checked="true"' in html
    assert 'value="1:0" aria-checked="true"' in html
    assert html.count('aria-checked="true"') == 2
    assert "2 of 4 rated" in html


def test_later_steps_go_grey_after_an_error_and_come_back(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    rate(page, item.pk, 0, -1)
    assert page.get("/label/").content.decode().count("after the error") == 3
    rate(page, item.pk, 0, 1)
    assert "after the error" not in page.get("/label/").content.decode()


def test_submit_brings_the_next_item_in_the_same_answer(page: Client, ada: Person) -> None:
    first, second = make_item(), make_item()
    page.get("/label/")
    rate(page, first.pk, 0, -1, active_ms=1)
    response = post(page, "label_submit", first.pk, active_ms=5)
    assert f'data-item="{second.pk}"' in response.content.decode()
    assert "1 today" in response.content.decode()
    assert Label.objects.submitted().get().finish_reason == "found_error"


def test_the_next_item_is_sent_ahead_and_a_submit_then_brings_only_what_it_lacks(
    page: Client, ada: Person, settings: Any
) -> None:
    first, second = make_item(), make_item()
    html = page.get("/label/").content.decode()
    assert f'data-ahead="/label/{first.pk}/ahead/"' in html
    rate(page, first.pk, 0, -1)
    fetched = post(page, "label_ahead", first.pk)
    assert 0 < int(fetched["Plumbline-Seconds"]) <= settings.LEASE_SECONDS
    for part in (f'data-item="{second.pk}"', 'id="step-4"', 'id="submit"'):
        assert part in fetched.content.decode()
    for part in ("data-now", "today", "work/"):  # which are old by the time it is shown
        assert part not in fetched.content.decode()
    answer = post(page, "label_submit", first.pk, shown=second.pk)
    label = Label.objects.submitted().get()
    lacking = answer.content.decode()
    assert (answer["HX-Reswap"], answer["Plumbline-Token"]) == (
        "none", str(QueueItem.objects.get(leased_by=ada).lease_token)
    )  # fmt: skip
    assert f'action="/work/{label.pk}/take-back/"' in lacking
    assert "1 today" in lacking
    assert STEPS[0][:7] not in lacking


def test_a_submit_brings_the_whole_item_where_the_page_shows_another(page: Client) -> None:
    first, second = make_item(), make_item()
    page.get("/label/")
    rate(page, first.pk, 0, -1)
    answer = post(page, "label_submit", first.pk, shown=second.pk + 1)
    assert answer["HX-Reswap"] == "outerHTML"
    assert f'data-item="{second.pk}"' in answer.content.decode()


def test_nothing_is_sent_ahead_where_nothing_comes_or_the_page_is_somebody_elses(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    assert post(page, "label_ahead", item.pk).status_code == 204
    make_item()
    assert post(page, "label_ahead", 10**15).status_code == 204
    assert post(page, "label_ahead", item.pk, person="0").status_code == 403
    assert QueueItem.objects.leased().count() == 1


def test_the_page_and_the_answer_to_submit_are_one_template(page: Client) -> None:
    make_item()
    whole = page.get("/label/").content.decode()
    part = page.get("/label/", headers=HTMX).content.decode()
    for line in ('id="problem"', 'id="step-4"', 'id="standing"', 'id="submit"'):
        assert line in whole
        assert line in part
    assert "<html" not in part


def test_everything_works_without_javascript(page: Client) -> None:
    item, following = make_item(), make_item()
    page.get("/label/")
    response = rate(page, item.pk, 0, 1, htmx=False)
    assert (response.status_code, response["Location"]) == (302, "/label/#step-1")
    post(page, "label_flag", item.pk, htmx=False, unsure="1:1")
    rate(page, item.pk, 1, -1, htmx=False)
    post(page, "label_undo", item.pk, htmx=False)
    assert list(StepRating.objects.values_list("rating", "flagged")) == [(1, None), (None, True)]
    refused = post(page, "label_submit", item.pk, htmx=False)
    assert refused["Location"] == "/label/"
    assert "Step 2 is not rated yet." in page.get("/label/").content.decode()
    post(page, "label_submit", item.pk, htmx=False, finish_reason="give_up", comment="no idea")
    assert Label.objects.submitted().get().comment == "no idea"
    assert f'data-item="{following.pk}"' in page.get("/label/").content.decode()


def test_a_refusal_is_told_with_the_work_it_is_about(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    for name, data, status in (
        ("label_submit", {}, 400),
        ("label_submit", {"finish_reason": "bad_problem"}, 400),
        ("label_rate", {"rating": "x"}, 400),
        ("label_rate", {"rating": "0:7"}, 400),
        ("label_rate", {"rating": "99:1"}, 400),
        ("label_flag", {}, 400),
    ):
        response = post(page, name, item.pk, **data)
        assert response.status_code == status
        assert response["HX-Reswap"] == "outerHTML"
        assert 'role="alert"' in response.content.decode()
        assert f'data-item="{item.pk}"' in response.content.decode()


def test_a_second_submit_quietly_shows_what_is_next(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    rate(page, item.pk, 0, -1)
    post(page, "label_submit", item.pk)
    again = post(page, "label_submit", item.pk)
    assert 'role="alert"' not in again.content.decode()
    assert Label.objects.count() == 1


def test_who_lost_the_item_is_told_so_and_given_another(page: Client, ada: Person) -> None:
    item = make_item()
    page.get("/label/")
    rate(page, item.pk, 0, 1)
    QueueItem.objects.filter(pk=item.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    verbs.claim(person=AnnotatorFactory.create())
    other = make_item()
    response = rate(page, item.pk, 1, 1)
    html = response.content.decode()
    assert response.status_code == 409
    assert "somebody else is rating this solution now" in html
    assert "Your ratings are kept" in html
    assert f'data-item="{other.pk}"' in html
    assert StepRating.objects.get().label.annotator == ada


def test_another_persons_item_is_out_of_reach(page: Client) -> None:
    item = make_item()
    verbs.claim(person=AnnotatorFactory.create())
    for name, data in (
        ("label_rate", {"rating": "0:1"}),
        ("label_flag", {"unsure": "0:1"}),
        ("label_undo", {}),
        ("label_submit", {"finish_reason": "give_up", "comment": "x"}),
        ("label_heartbeat", {}),
    ):
        response = post(page, name, item.pk, **data)
        assert response.status_code == 404
        assert STEPS[0][:7] not in response.content.decode()
    token = QueueItem.objects.get().lease_token
    post(page, "label_release", item.pk, token=token)
    assert QueueItem.objects.get().lease_token == token
    assert not StepRating.objects.exists()


def test_a_page_opened_by_somebody_else_claims_nothing_for_whoever_signed_in_since(page: Client) -> None:
    item = make_item()
    opened_by = AnnotatorFactory.create()
    for name in ("label_heartbeat", "label_rate", "work_take_back"):
        assert post(page, name, item.pk, person=opened_by.pk).status_code == 403
    assert page.post(reverse("label_unskip"), {"person": opened_by.pk}, headers=HTMX).status_code == 403
    assert not QueueItem.objects.filter(leased_by__isnull=False).exists()


def test_absurd_numbers_are_refused_not_stumbled_over(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    huge = 10**30
    assert rate(page, huge, 0, 1).status_code == 404
    assert post(page, "label_release", huge, token=QueueItem.objects.get().lease_token).status_code == 204
    assert rate(page, item.pk, huge, 1).status_code == 400
    assert rate(page, item.pk, 0, huge).status_code == 400
    assert rate(page, item.pk, 0, 1, active_ms="9" * 5_000).status_code == 200
    assert rate(page, item.pk, 0, 1, active_ms=huge).status_code == 200
    assert QueueItem.objects.get().leased_by is not None


def test_a_page_that_is_left_gives_its_item_back(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    token = QueueItem.objects.get().lease_token
    assert post(page, "label_release", item.pk, token="nonsense").status_code == 400
    assert post(page, "label_release", item.pk, token=token).status_code == 204
    assert QueueItem.objects.get().leased_by is None


def test_a_heartbeat_is_answered_with_nothing(page: Client) -> None:
    item = make_item()
    page.get("/label/")
    assert post(page, "label_heartbeat", item.pk).status_code == 204


# Nothing to do


def test_an_empty_queue_says_what_the_loop_is_doing_and_looks_again(page: Client) -> None:
    html = page.get("/label/").content.decode()
    assert "Nothing to rate right now" in html
    assert 'hx-trigger="every 10s"' in html
    make_item()
    assert "hx-trigger" not in page.get("/label/", headers=HTMX).content.decode()


def test_what_is_left_in_others_hands_is_said(page: Client) -> None:
    make_item()
    verbs.claim(person=AnnotatorFactory.create())
    assert "other people’s hands (1)" in page.get("/label/").content.decode()


def test_a_paused_queue_is_said_beside_open_work_and_after_it(page: Client) -> None:
    item = make_item()
    make_item()
    page.get("/label/")
    item.queue.paused_at = timezone.now()
    item.queue.save()
    assert "The queue is paused: finish this solution" in page.get("/label/").content.decode()
    rate(page, item.pk, 0, -1)
    after = post(page, "label_submit", item.pk).content.decode()
    assert "The queue is paused</h1>" in after


# What it costs: session, person and roles are three of each page's queries


def test_the_hot_requests_ask_the_database_little(page: Client, django_assert_num_queries: Any) -> None:
    items = [make_item() for _ in range(4)]
    with django_assert_num_queries(15):
        page.get("/label/")
    with django_assert_num_queries(9):
        page.get("/label/")  # the same item again
    with django_assert_num_queries(8):
        rate(page, items[0].pk, 0, -1, active_ms=1)
    with django_assert_num_queries(22):
        post(page, "label_submit", items[0].pk)
    rate(page, items[1].pk, 0, -1)
    with django_assert_num_queries(15):
        post(page, "label_ahead", items[1].pk)
    with django_assert_num_queries(18):
        post(page, "label_submit", items[1].pk, shown=items[2].pk)


def test_a_longer_solution_costs_no_more_queries(page: Client, django_assert_num_queries: Any) -> None:
    QueueItemFactory.create(solution__steps=[f"Step ${i}$." for i in range(200)])
    with django_assert_num_queries(15):
        page.get("/label/")
