"""People: added with a password shown once, put to rest without losing a label."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.authtoken.models import Token

from annotate.models import ANNOTATOR, Label, Person
from tests.factories import AnnotatorFactory, QueueItemFactory


def _shown_password(html: str) -> str:
    found = re.search(r'id="password"[^>]*>([^<]+)<', html)
    assert found
    return found[1]


def _add(client: Client, username: str, role: str = ANNOTATOR) -> str:
    return client.post("/people/add/", {"username": username, "role": role}).content.decode()


def test_a_new_person_logs_in_with_the_password_shown_once(as_manager: Client, stranger: Client) -> None:
    response = as_manager.post("/people/add/", {"username": "ben", "role": ANNOTATOR})
    assert "no-store" in response["Cache-Control"]
    password = _shown_password(response.content.decode())
    assert password not in as_manager.get("/people/").content.decode()
    assert stranger.post("/login/", {"username": "ben", "password": password})["Location"] == "/"
    assert stranger.get("/")["Location"] == "/label/"


def test_two_people_get_different_passwords(as_manager: Client) -> None:
    assert _shown_password(_add(as_manager, "ben")) != _shown_password(_add(as_manager, "cleo"))


@pytest.mark.parametrize("name", ["mara", "MARA", "", "two words", "<script>", "x" * 200])
def test_a_name_that_is_taken_or_cannot_be_one_is_refused_and_kept_in_the_form(
    name: str, as_manager: Client
) -> None:
    response = as_manager.post("/people/add/", {"username": name, "role": ANNOTATOR})
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    assert "<script>" not in response.content.decode()
    assert Person.objects.count() == 1


def test_a_role_that_does_not_exist_makes_nobody(as_manager: Client) -> None:
    assert "no role" in _add(as_manager, "ben", role="superuser")
    assert not Person.objects.filter(username="ben").exists()


def test_a_reset_password_replaces_the_old_one_and_ends_sessions_and_the_token(
    as_manager: Client, as_annotator: Client, annotator: Person, stranger: Client
) -> None:
    token = {"Authorization": f"Token {Token.objects.create(user=annotator).key}"}
    assert stranger.post("/api/queue/next/", headers=token).status_code != 401
    html = as_manager.post(f"/people/{annotator.pk}/password/").content.decode()
    assert as_annotator.get("/work/").status_code == 302
    assert stranger.post("/api/queue/next/", headers=token).status_code == 401
    assert stranger.post("/login/", {"username": "ada", "password": _shown_password(html)}).status_code == 302


def test_a_deactivated_person_is_out_at_once_their_item_free_and_their_labels_kept(
    as_manager: Client, as_annotator: Client, annotator: Person
) -> None:
    done, held = QueueItemFactory.create(done_at=timezone.now()), QueueItemFactory.create(leased_by=annotator)
    label = Label.objects.create(
        problem=done.solution.problem,
        solution=done.solution,
        annotator=annotator,
        question={},
        finish_reason="solution",
        submitted_at=timezone.now(),
    )
    as_manager.post(f"/people/{annotator.pk}/deactivate/")
    assert as_annotator.get("/work/").status_code == 302
    held.refresh_from_db()
    label.refresh_from_db()
    assert (held.leased_by, label.annotator) == (None, annotator)

    html = as_manager.get("/people/").content.decode()
    assert "deactivated" in html
    assert re.search(r"ada.*?data-label=\"labels\">1<", html, re.DOTALL)

    as_manager.post(f"/people/{annotator.pk}/reactivate/")
    annotator.refresh_from_db()
    assert annotator.is_active


def test_nobody_deactivates_themselves_so_a_manager_always_remains(
    as_manager: Client, manager: Person
) -> None:
    response = as_manager.post(f"/people/{manager.pk}/deactivate/", follow=True)
    assert "You cannot deactivate yourself" in response.content.decode()
    manager.refresh_from_db()
    assert manager.is_active


def test_the_list_of_people_asks_the_same_number_of_queries_however_many(as_manager: Client) -> None:
    AnnotatorFactory.create()
    as_manager.get("/people/")
    with CaptureQueriesContext(connection) as few:
        as_manager.get("/people/")
    AnnotatorFactory.create_batch(20)
    with CaptureQueriesContext(connection) as many:
        as_manager.get("/people/")
    assert len(many) == len(few) <= 7


def test_thousands_who_came_with_an_import_stand_on_pages_behind_those_who_work_here(
    as_manager: Client,
) -> None:
    labelers = [Person(username=f"imported-{n:03}", labeler=uuid4(), is_active=False) for n in range(150)]
    Person.objects.bulk_create(labelers)
    first, second = (as_manager.get(f"/people/?page={n}").content.decode() for n in (1, 2))
    assert (first.count("imported-149"), second.count("imported-149") > 0) == (0, True)
    assert "mara" in first
    assert 'href="?page=2"' in first


def test_a_name_is_shown_as_text(as_manager: Client) -> None:
    Person.objects.create(username="<img src=x onerror=alert(1)>", is_active=True)
    html = as_manager.get("/people/").content.decode()
    assert "<img" not in html
    assert "&lt;img src=x" in html


def test_a_manager_gives_and_takes_roles_and_may_label_too(
    as_manager: Client, manager: Person, as_annotator: Client, annotator: Person
) -> None:
    item = QueueItemFactory.create(leased_by=annotator)
    assert as_annotator.post(f"/people/{annotator.pk}/roles/", {"roles": ["manager"]}).status_code == 403
    as_manager.post(f"/people/{manager.pk}/roles/", {"roles": ["annotator", "manager"]})
    assert as_manager.get("/work/").status_code == 200
    as_manager.post(f"/people/{annotator.pk}/roles/", {"roles": ["manager"]})
    assert as_annotator.get("/work/").status_code == 403
    assert as_annotator.get("/people/").status_code == 200
    item.refresh_from_db()
    assert item.leased_by is None


def test_nobody_stops_managing_by_their_own_hand_and_no_role_is_invented(
    as_manager: Client, manager: Person, annotator: Person
) -> None:
    answer = as_manager.post(f"/people/{manager.pk}/roles/", {"roles": ["annotator"]}, follow=True)
    assert "cannot take the manager" in answer.content.decode()
    answer = as_manager.post(f"/people/{annotator.pk}/roles/", {"roles": ["superuser"]}, follow=True)
    assert "There is no role" in answer.content.decode()
    assert Person.objects.get(pk=manager.pk).is_manager
    assert Person.objects.get(pk=annotator.pk).role_names == {"annotator"}
