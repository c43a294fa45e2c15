"""Acts on the label page that are refused: what is said, and that nobody reaches another person's work."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Label, Person, QueueItem, StepRating
from tests.factories import (
    AnnotatorFactory,
)
from tests.web.labelling import HTMX, STEPS, make_item, post, rate

pytestmark = pytest.mark.django_db


def test_actions_want_a_token_against_forged_requests(annotator: Person) -> None:
    item = make_item()
    client = Client(enforce_csrf_checks=True)
    client.force_login(annotator)
    client.get("/label/")
    assert rate(client, item.pk, 0, 1).status_code == 403
    assert (
        rate(client, item.pk, 0, 1, csrfmiddlewaretoken=client.cookies["csrftoken"].value).status_code == 200
    )


def test_a_refusal_is_told_with_the_work_it_is_about(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    for name, data, status in (
        ("label_submit", {}, 400),
        ("label_submit", {"finish_reason": "bad_problem"}, 400),
        ("label_rate", {"rating": "x"}, 400),
        ("label_rate", {"rating": "0:7"}, 400),
        ("label_rate", {"rating": "99:1"}, 400),
        ("label_flag", {}, 400),
    ):
        response = post(as_annotator, name, item.pk, **data)
        assert response.status_code == status
        assert response["HX-Reswap"] == "outerHTML"
        assert 'role="alert"' in response.content.decode()
        assert f'data-item="{item.pk}"' in response.content.decode()


def test_a_second_submit_quietly_shows_what_is_next(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    rate(as_annotator, item.pk, 0, -1)
    post(as_annotator, "label_submit", item.pk)
    again = post(as_annotator, "label_submit", item.pk)
    assert 'role="alert"' not in again.content.decode()
    assert Label.objects.count() == 1


def test_who_lost_the_item_is_told_so_and_given_another(as_annotator: Client, annotator: Person) -> None:
    item = make_item()
    as_annotator.get("/label/")
    rate(as_annotator, item.pk, 0, 1)
    QueueItem.objects.filter(pk=item.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    verbs.claim(person=AnnotatorFactory.create())
    other = make_item()
    response = rate(as_annotator, item.pk, 1, 1)
    html = response.content.decode()
    assert response.status_code == 409
    assert "somebody else is rating this solution now" in html
    assert "Your ratings are kept" in html
    assert f'data-item="{other.pk}"' in html
    assert StepRating.objects.get().label.annotator == annotator


def test_another_persons_item_is_out_of_reach(as_annotator: Client) -> None:
    item = make_item()
    verbs.claim(person=AnnotatorFactory.create())
    for name, data in (
        ("label_rate", {"rating": "0:1"}),
        ("label_flag", {"unsure": "0:1"}),
        ("label_undo", {}),
        ("label_submit", {"finish_reason": "give_up", "comment": "x"}),
        ("label_heartbeat", {}),
    ):
        response = post(as_annotator, name, item.pk, **data)
        assert response.status_code == 404
        assert STEPS[0][:7] not in response.content.decode()
    token = QueueItem.objects.get().lease_token
    post(as_annotator, "label_release", item.pk, token=token)
    assert QueueItem.objects.get().lease_token == token
    assert not StepRating.objects.exists()


def test_a_page_opened_by_somebody_else_claims_nothing_for_whoever_signed_in_since(
    as_annotator: Client,
) -> None:
    item = make_item()
    opened_by = AnnotatorFactory.create()
    for name in ("label_heartbeat", "label_rate", "work_take_back"):
        assert post(as_annotator, name, item.pk, person=opened_by.pk).status_code == 403
    assert (
        as_annotator.post(reverse("label_unskip"), {"person": opened_by.pk}, headers=HTMX).status_code == 403
    )
    assert not QueueItem.objects.filter(leased_by__isnull=False).exists()


def test_absurd_numbers_are_refused_not_stumbled_over(as_annotator: Client) -> None:
    item = make_item()
    as_annotator.get("/label/")
    huge = 10**30
    assert rate(as_annotator, huge, 0, 1).status_code == 404
    assert (
        post(as_annotator, "label_release", huge, token=QueueItem.objects.get().lease_token).status_code
        == 204
    )
    assert rate(as_annotator, item.pk, huge, 1).status_code == 400
    assert rate(as_annotator, item.pk, 0, huge).status_code == 400
    assert rate(as_annotator, item.pk, 0, 1, active_ms="9" * 5_000).status_code == 200
    assert rate(as_annotator, item.pk, 0, 1, active_ms=huge).status_code == 200
    assert QueueItem.objects.get().leased_by is not None
