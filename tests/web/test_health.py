"""`/healthz`, as a load balancer asks it."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from annotate.celery import app


def test_it_is_well_when_the_database_and_the_broker_answer(broker: str, stranger: Client) -> None:
    response = stranger.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"database": "ok", "broker": "ok"})
    assert "no-store" in response["Cache-Control"]


def test_a_silent_broker_is_told_without_its_address(
    stranger: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.conf, "broker_write_url", "redis://:secret@127.0.0.1:1/0")
    monkeypatch.setattr(app.conf, "broker_url", "redis://:secret@127.0.0.1:1/0")
    response = stranger.get("/healthz")
    assert (response.status_code, response.json()) == (503, {"database": "ok", "broker": "silent"})
    assert "secret" not in response.content.decode()


def test_it_costs_one_query(broker: str, stranger: Client, django_assert_num_queries: object) -> None:
    with django_assert_num_queries(1):  # type: ignore[operator]
        stranger.get("/healthz")
    assert broker == settings.CELERY_BROKER_URL
    assert connection.is_usable()
