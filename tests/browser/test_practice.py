"""The first visit: two minutes of guided practice, which leaves no label behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from annotate.models import Label, Person, QueueItem
from tests.factories import AnnotatorFactory, QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def newcomer(page: Page, sign_in: Callable[[Any, Person], None]) -> Person:
    person = AnnotatorFactory.create(practised_at=None)
    QueueItemFactory.create(solution__steps=["one"])
    sign_in(page, person)
    return person


def test_a_newcomer_practises_with_the_real_keys_and_goes_on_to_the_real_thing(
    page: Page, live_server: Any, newcomer: Person
) -> None:
    page.goto(live_server.url)
    page.get_by_role("heading", name="Two minutes of practice").wait_for()
    page.keyboard.press("1")
    page.locator("#step-1 .lesson", has_text="Think again").wait_for()
    page.keyboard.press("u")
    page.locator("#step-1 .lesson").wait_for(state="detached")
    page.locator("li.later").first.wait_for(state="detached")
    for key in "3231":
        page.keyboard.press(key)
    page.locator("#state", has_text="First error: step 4").wait_for()
    assert page.locator(".lesson").count() == 4
    assert page.get_by_text("Think again").count() == 0
    page.reload()
    assert page.locator(".lesson").count() == 4  # kept until it is done
    page.keyboard.press("Enter")
    page.locator("#work[data-token]").wait_for()
    newcomer.refresh_from_db()
    assert newcomer.practised_at is not None
    assert Label.objects.get().queue_item == QueueItem.objects.get()
    page.goto(f"{live_server.url}/label/")
    assert page.locator("#work[data-token]").count() == 1


def test_the_practice_can_be_skipped_and_done_without_javascript(
    browser: Browser, live_server: Any, sign_in: Callable[[Any, Person], None]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    sign_in(context, AnnotatorFactory.create(practised_at=None))
    page = context.new_page()
    page.goto(f"{live_server.url}/label/")
    page.get_by_role("radiogroup", name="Rate step 1").get_by_role("radio", name="great").click()
    assert page.locator("#step-1 .lesson").is_visible()
    page.get_by_role("button", name="Skip the practice").click()
    assert page.url.endswith("/label/")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_practice(
    scheme: str, browser: Browser, live_server: Any, sign_in: Callable[[Any, Person], None]
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 360, "height": 700})
    sign_in(context, AnnotatorFactory.create(practised_at=None))
    page = context.new_page()
    page.goto(f"{live_server.url}/practice/")
    for key in "31":
        page.keyboard.press(key)
    page.evaluate("() => line")
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    context.close()
