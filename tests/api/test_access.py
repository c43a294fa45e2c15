"""Who may call what: by token or session, by role, and never past either."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from annotate.api.throttles import PersonRate
from annotate.loop.people import deactivate
from annotate.models import Job, Person, Round
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


@pytest.mark.parametrize(
    "query",
    [
        "annotator__password__startswith=p",
        "requested_by__password__startswith=p",
        "answer__startswith=1",
        "text=a",
        "id=1",
        "held_out__in=1",
        "ordering=answer",
        "search=a",
        "limit=100000",
    ],
)
def test_a_list_is_filtered_by_named_filters_and_never_by_a_lookup(manager: APIClient, query: str) -> None:
    for path in ("problems", "jobs", "rounds", "versions"):
        response = manager.get(f"/api/{path}/?{query}")
        assert response.status_code == 400
        assert list(response.json()["fields"]) == [query.split("=")[0]]


def test_filters_that_are_named_filter(manager: APIClient) -> None:
    ProblemFactory.create(source="ours", held_out=True)
    ProblemFactory.create(source="theirs")

    def found(query: str) -> list[str]:
        return [problem["source"] for problem in manager.get(f"/api/problems/?{query}").json()["results"]]

    assert found("") == ["theirs", "ours"]
    assert found("held_out=true") == ["ours"]
    assert found("held_out=false&source=theirs") == ["theirs"]
    assert found("source=nobody") == []
    assert manager.get("/api/problems/?held_out=maybe").status_code == 400


def test_lists_are_paged_by_a_cursor_that_cannot_be_bent(manager: APIClient) -> None:
    ProblemFactory.create_batch(5)
    first = manager.get("/api/problems/?page_size=2").json()
    second = manager.get(first["next"]).json()
    third = manager.get(second["next"]).json()
    ids = [problem["id"] for page in (first, second, third) for problem in page["results"]]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 5
    assert third["next"] is None
    assert len(manager.get("/api/problems/?page_size=999999999").json()["results"]) == 5
    for cursor in ("nonsense", "cD1hJTI3JTIwb3Ig", "bz05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OQ==", "cD0lMDA="):
        assert manager.get(f"/api/problems/?cursor={cursor}").status_code in (200, 404)


def test_ids_beyond_any_row_are_simply_not_found(manager: APIClient, ada: APIClient) -> None:
    for number in ("0", "9" * 30):
        assert manager.get(f"/api/problems/{number}/").status_code == 404
        assert manager.get(f"/api/versions/{number}/").status_code == 404
        assert ada.post(f"/api/queue/{number}/heartbeat/").status_code == 404


@pytest.mark.usefixtures("broker")
def test_a_script_that_runs_wild_is_slowed_down(manager: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonRate, "THROTTLE_RATES", {"user": "2/min"})
    monkeypatch.setattr(PersonRate, "timer", lambda self: 1_000_000_000.0)
    caches["throttle"].clear()
    statuses = [manager.get("/api/jobs/").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    response = manager.get("/api/jobs/")
    assert response.json()["code"] == "throttled"
    assert int(response["Retry-After"]) <= 60


@pytest.mark.usefixtures("broker")
def test_web_processes_count_the_same_requests(manager: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonRate, "THROTTLE_RATES", {"user": "2/min"})
    monkeypatch.setattr(PersonRate, "timer", lambda self: 2_000_000_000.0)
    caches["throttle"].clear()
    another = caches.create_connection("throttle")  # as another process has one
    assert manager.get("/api/jobs/").status_code == 200
    [person] = Person.objects.filter(groups__name="manager").values_list("pk", flat=True)
    another.incr(f"throttle_user_{person}_{2_000_000_000 // 60}")
    assert manager.get("/api/jobs/").status_code == 429


def test_where_nothing_can_be_counted_nobody_is_kept_out(
    manager: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = RedisCache("unix:///nowhere.sock", {})
    monkeypatch.setattr(PersonRate, "cache", gone)
    assert manager.get("/api/jobs/").status_code == 200


def test_a_body_too_large_is_refused_before_it_is_read(manager: APIClient, ada: APIClient) -> None:
    def sent(client: APIClient, path: str, megabytes: int) -> Any:
        return client.generic("POST", path, b"", CONTENT_LENGTH=str(megabytes * 2**20))

    refused = sent(manager, "/api/problems/import/", 513)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert "513 MB were to come, at most 512 MB" in refused.json()["detail"]
    assert sent(manager, "/api/problems/", 3).status_code == 413
    assert sent(ada, "/api/problems/import/", 100).status_code == 403
    assert sent(manager, "/api/problems/import/", 100).status_code == 415


@pytest.mark.parametrize("address", ["problems/x/", "problems/-1/", "nothing/", "queue/1.5/rate/"])
def test_an_address_that_is_none_is_refused_in_the_same_shape(manager: APIClient, address: str) -> None:
    response = manager.get(f"/api/{address}")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_what_breaks_on_our_side_is_told_in_the_same_shape(
    manager: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("the-inside-of-it")

    monkeypatch.setattr("annotate.loop.rounds.start_round", breaks)
    response = manager.post("/api/rounds/", {}, format="json")
    assert (response.status_code, response.json()["code"]) == (500, "error")
    assert b"the-inside-of-it" not in response.content


def test_what_is_asked_for_by_the_wrong_method_or_in_the_wrong_type_is_refused_in_the_same_shape(
    manager: APIClient,
) -> None:
    wrong_method = manager.put("/api/rounds/", {}, format="json")
    assert (wrong_method.status_code, wrong_method.json()["code"]) == (405, "method_not_allowed")
    wrong_type = manager.post("/api/rounds/", "a=b", content_type="application/x-www-form-urlencoded")
    assert (wrong_type.status_code, wrong_type.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{broken", 400),
        ("[" * 100_000, 400),
        ('{"a":' * 100_000, 400),
        ('{"problems": NaN}', 400),
        ('{"problems": 1e999}', 400),
        ('{"seed": ' + "9" * 5000 + "}", 400),
        ('{"prompt_template": "{problem} \\u0000"}', 400),
        ('{"prompt_template": "{problem} \\ud800"}', 400),
        (" " * (2 * 1024 * 1024 + 1), 413),
    ],
)
def test_json_made_to_hurt_is_refused_and_changes_nothing(manager: APIClient, body: str, status: int) -> None:
    ProblemFactory.create()
    response = manager.post("/api/rounds/", body, content_type="application/json")
    assert response.status_code == status
    assert set(response.json()) >= {"detail", "code"}
    assert not Round.objects.exists()
    assert not Job.objects.exists()


def test_a_body_in_a_compressing_charset_is_refused(manager: APIClient) -> None:
    response = manager.post("/api/rounds/", b"BZh9", content_type="application/json; charset=bz2")
    assert response.status_code == 400
    assert json.loads(response.content)["code"] == "parse_error"
