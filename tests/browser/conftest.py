"""Signing in without the login page; a database that is emptied only when the server is quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.signals import request_finished, request_started
from django.test import Client

from annotate.models import Person
from tests.factories import AnnotatorFactory, QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


@pytest.fixture
def sign_in(live_server: Any) -> Callable[[Page | BrowserContext, Person], None]:
    """`sign_in(page, person)` gives the page's browser profile a session of that person."""

    def give_session(where: Page | BrowserContext, person: Person) -> None:
        client = Client()
        client.force_login(person)
        session = client.cookies["sessionid"].value
        context = getattr(where, "context", where)
        context.set_default_timeout(60_000)  # the machine may be busy
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])

    return give_session


@pytest.fixture(autouse=True)
def _quiet_server(transactional_db: None) -> Iterator[None]:
    """Wait for the last requests (a closed page still gives its item back) before the database is emptied."""
    started: list[float] = []
    finished: list[float] = []

    def on_start(**_: object) -> None:
        started.append(time.monotonic())

    def on_finish(**_: object) -> None:
        finished.append(time.monotonic())

    request_started.connect(on_start)
    request_finished.connect(on_finish)
    yield
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if len(started) <= len(finished) and time.monotonic() - max([*started, *finished, 0]) > 0.2:
            break
        time.sleep(0.05)
    request_started.disconnect(on_start)
    request_finished.disconnect(on_finish)


@pytest.fixture
def ada() -> Person:
    return AnnotatorFactory.create(username="ada")


@pytest.fixture
def label_page(
    page: Page, live_server: Any, ada: Person, sign_in: Callable[[Page | BrowserContext, Person], None]
) -> Page:
    """Ada's labelling page; two items of three steps wait for her."""
    QueueItemFactory.create_batch(2, solution__steps=["one", "two", "three"])
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    return page
