"""Requests too many, too large or made to hurt: refused in one shape, and nothing changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from rest_framework.test import APIClient

from annotate.api.throttles import PersonRate
from annotate.models import Job, Person, Round
from tests.factories import ProblemFactory

pytestmark = pytest.mark.django_db


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
