"""Signing in without the login page, for tests that are about other pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from annotate.models import Person

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
