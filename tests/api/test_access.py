"""Who may call what: by token or session, by role, and never past either."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from annotate.loop.people import deactivate
from annotate.models import Person, Round
from tests.api.conftest import api
from tests.factories import PASSWORD, AnnotatorFactory, ManagerFactory, ProblemFactory, QueueItemFactory

pytestmark = pytest.mark.django_db

FOR_MANAGERS = [
    ("get", "problems/"),
    ("post", "problems/"),
    ("post", "problems/import/"),
    ("get", "problems/1/"),
    ("get", "rounds/"),
    ("post", "rounds/"),
    ("get", "rounds/1/"),
    ("get", "labels/"),
    ("get", "labels/export/"),
    ("get", "gold/"),
    ("post", "gold/"),
    ("get", "gold/1/"),
    ("post", "gold/1/correct/"),
    ("post", "gold/1/withdraw/"),
    ("post", "gold/1/retire/"),
    ("post", "gold/1/use/"),
    ("get", "disputes/"),
    ("get", "disputes/1/"),
    ("post", "disputes/1/decide/"),
    ("get", "quality/policy/"),
    ("patch", "quality/policy/"),
    ("get", "quality/standings/"),
    ("get", "concerns/"),
    ("get", "concerns/1/"),
    ("post", "concerns/1/fix-answer/"),
    ("post", "concerns/1/retire-problem/"),
    ("post", "concerns/1/reply/"),
    ("get", "versions/"),
    ("get", "versions/1/"),
    ("post", "versions/1/promote/"),
    ("post", "versions/1/reject/"),
    ("post", "versions/1/measure/"),
    ("post", "versions/roll-back/"),
    ("post", "retrain/"),
    ("get", "jobs/"),
    ("get", "jobs/1/"),
    ("post", "jobs/1/cancel/"),
    ("post", "jobs/1/retry/"),
    ("get", "progress/"),
]
FOR_ANNOTATORS = [("post", "queue/next/"), ("get", "keys/"), ("put", "keys/")] + [
    ("post", f"queue/1/{verb}/")
    for verb in [
        "rate",
        "flag",
        "undo",
        "choose",
        "write",
        "again",
        "submit",
        "heartbeat",
        "release",
        "dispute",
        "skip",
        "take-back",
    ]
]
FOR_ALL = [("get", "schema/")]


def test_every_address_is_for_managers_or_for_annotators_and_closed_to_everybody_else(
    manager: APIClient, ada: APIClient, nobody: APIClient
) -> None:
    anonymous = api(None)
    for method, path in FOR_MANAGERS:
        statuses = [getattr(who, method)(f"/api/{path}").status_code for who in (anonymous, nobody, ada)]
        assert statuses == [401, 403, 403], path
    for method, path in FOR_ANNOTATORS:
        statuses = [getattr(who, method)(f"/api/{path}").status_code for who in (anonymous, nobody, manager)]
        assert statuses == [401, 403, 403], path
    for method, path in FOR_ALL:
        assert getattr(anonymous, method)(f"/api/{path}").status_code == 401


def test_the_lists_above_name_every_address(manager: APIClient) -> None:
    schema = manager.get("/api/schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    told = {(m, p) for p, methods in schema["paths"].items() for m in methods}
    listed = {
        (method, "/api/" + path.replace("/1/", "/{pk}/")) for method, path in FOR_MANAGERS + FOR_ANNOTATORS
    }
    assert {
        (m, p.replace("{id}", "{pk}").replace("{number}", "{pk}").replace("{item}", "{pk}")) for m, p in told
    } == listed


def test_a_refusal_for_want_of_a_role_says_whom_the_address_is_for(
    ada: APIClient, manager: APIClient
) -> None:
    assert ada.get("/api/progress/").json() == {
        "detail": "This is for managers.",
        "code": "permission_denied",
    }
    assert manager.post("/api/queue/next/").json()["detail"] == "This is for annotators."


def test_no_token_or_a_wrong_one_is_401_in_the_same_shape() -> None:
    for client in (
        APIClient(),
        APIClient(HTTP_AUTHORIZATION="Token 0123"),
        APIClient(HTTP_AUTHORIZATION="Token"),
    ):
        response = client.get("/api/progress/")
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Token"
        assert set(response.json()) == {"detail", "code"}


def test_the_token_and_the_session_of_a_deactivated_person_open_nothing() -> None:
    person = ManagerFactory.create()
    by_token, by_session = api(person), Client()
    by_session.force_login(person)
    assert by_token.get("/api/progress/").status_code == by_session.get("/api/progress/").status_code == 200
    deactivate(person=person, by=ManagerFactory.create())
    assert by_token.get("/api/progress/").status_code == by_session.get("/api/progress/").status_code == 401


def test_a_page_with_a_session_needs_the_csrf_token_to_change_anything() -> None:
    ProblemFactory.create()
    browser = Client(enforce_csrf_checks=True)
    browser.login(username=ManagerFactory.create().username, password=PASSWORD)
    without = browser.post("/api/rounds/", "{}", content_type="application/json")
    assert without.status_code == 403
    assert "CSRF" in without.json()["detail"]
    assert not Round.objects.exists()
    browser.get("/api/docs/")
    token = browser.cookies["csrftoken"].value
    done = browser.post("/api/rounds/", "{}", content_type="application/json", headers={"X-CSRFToken": token})
    assert done.status_code == 201


def test_another_sites_form_cannot_post_with_somebodys_session() -> None:
    QueueItemFactory.create()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(AnnotatorFactory.create())
    for content_type in ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain"):
        assert browser.post("/api/queue/next/", "a=b", content_type=content_type).status_code == 403


def test_a_token_needs_no_csrf_token() -> None:
    person = AnnotatorFactory.create()
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Token {Token.objects.create(user=person).key}")
    assert client.post("/api/queue/next/").status_code == 204


def test_the_command_prints_a_token_that_works_and_renews_it_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = ManagerFactory.create(username="meg")

    def works(key: str) -> bool:
        return Client(headers={"Authorization": f"Token {key}"}).get("/api/progress/").status_code == 200

    call_command("create_token", "meg")
    first = capsys.readouterr().out.strip()
    call_command("create_token", "meg")
    assert capsys.readouterr().out.strip() == first
    assert works(first)
    call_command("create_token", "meg", "--new")
    second = capsys.readouterr().out.strip()
    assert works(second)
    assert not works(first)
    with pytest.raises(CommandError, match="nobody called 'bob'"):
        call_command("create_token", "bob")
    Person.objects.filter(pk=person.pk).update(is_active=False)
    with pytest.raises(CommandError, match="deactivated"):
        call_command("create_token", "meg")


def test_a_manager_cannot_read_the_tokens_of_others_in_the_admin() -> None:
    theirs = Token.objects.create(user=ManagerFactory.create())
    client = Client()
    client.force_login(ManagerFactory.create())
    for path in ("", "authtoken/tokenproxy/", f"authtoken/tokenproxy/{theirs.user_id}/change/"):
        assert theirs.key not in client.get(f"/admin/{path}", follow=True).content.decode()
