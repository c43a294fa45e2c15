"""Nothing an annotator gives is lost: signed out, offline, two tabs, a closed page, no JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.sessions.models import Session

from annotate.loop import label as verbs
from annotate.models import Label, Person, QueueItem, StepRating
from tests.factories import PASSWORD, AnnotatorFactory, QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SignIn = Callable[[Any, Person], None]


def ratings() -> list[int | None]:
    return list(StepRating.objects.order_by("label", "step_index").values_list("rating", flat=True))


def test_a_lost_session_is_told_and_what_was_given_meanwhile_is_saved_after_signing_in(
    label_page: Page, live_server: Any
) -> None:
    label_page.keyboard.press("3")
    label_page.evaluate("() => line")
    Session.objects.all().delete()
    label_page.keyboard.press("2")
    label_page.get_by_text("You are signed out").wait_for()
    assert label_page.locator("ol.steps > li").count() == 3  # no login page swapped into it
    assert ratings() == [1]

    with label_page.context.expect_page() as opened:
        label_page.get_by_role("link", name="Sign in again in a new tab").click()
    tab = opened.value
    tab.get_by_label("Name").fill("ada")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url("**/label/")
    label_page.get_by_text("You are signed out").wait_for(state="hidden")
    label_page.evaluate("() => line")
    assert ratings() == [1, 0]


def test_what_is_given_without_a_network_is_saved_when_it_is_back(label_page: Page) -> None:
    label_page.context.set_offline(True)
    for key in "331":
        label_page.keyboard.press(key)
    label_page.get_by_text("The server does not answer").wait_for()
    assert ratings() == []
    label_page.context.set_offline(False)
    label_page.get_by_text("The server does not answer").wait_for(state="hidden")
    label_page.evaluate("() => line")
    assert ratings() == [1, 1, -1]


def test_two_tabs_show_the_same_item_and_both_save(label_page: Page, live_server: Any) -> None:
    other = label_page.context.new_page()
    other.goto(f"{live_server.url}/label/")
    item = label_page.locator("#work").get_attribute("data-item")
    assert other.locator("#work").get_attribute("data-item") == item
    label_page.keyboard.press("3")
    label_page.evaluate("() => line")
    other.keyboard.press("j")
    other.keyboard.press("2")
    other.evaluate("() => line")
    assert ratings() == [1, 0]
    assert QueueItem.objects.leased().filter(ahead=False).count() == 1
    label_page.close()  # the older tab's leaving does not take the item from the newer one
    other.keyboard.press("3")
    other.evaluate("() => line")
    assert QueueItem.objects.leased().filter(ahead=False).count() == 1


def test_closing_the_page_gives_the_item_back_and_keeps_the_draft(label_page: Page, live_server: Any) -> None:
    label_page.keyboard.press("3")
    label_page.evaluate("() => line")
    label_page.goto(f"{live_server.url}/work/")
    for _ in range(50):  # the browser sends it when it gets round to it
        if not QueueItem.objects.leased().exists():
            break
        label_page.wait_for_timeout(200)
    assert not QueueItem.objects.leased().exists()
    assert StepRating.objects.get(label__submitted_at=None).rating == 1


def test_who_comes_too_late_is_told_and_given_another_item(label_page: Page, ada: Person) -> None:
    item = int(label_page.locator("#work").get_attribute("data-item") or 0)
    QueueItem.objects.filter(pk=item).update(leased_by=None)
    assert verbs.claim(person=AnnotatorFactory.create()).item == item
    label_page.keyboard.press("3")
    label_page.get_by_text("somebody else is rating this solution now").wait_for()
    assert label_page.locator("#work").get_attribute("data-item") != str(item)
    label_page.keyboard.press("3")
    label_page.evaluate("() => line")
    assert StepRating.objects.get().label.annotator == ada


def test_an_empty_page_finds_the_next_item_by_itself(
    page: Page, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    page.clock.install()
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    page.get_by_text("Nothing to rate right now").wait_for()
    QueueItemFactory.create(solution__steps=["one"])
    page.clock.run_for(11_000)
    page.locator("#step-1").wait_for()
    page.keyboard.press("1")
    page.locator("#state", has_text="First error: step 1").wait_for()
    assert ratings() == [-1]


def test_only_active_time_counts(page: Page, live_server: Any, ada: Person, sign_in: SignIn) -> None:
    QueueItemFactory.create(solution__steps=["one", "two"])
    page.clock.install()
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    page.clock.pause_at(page.evaluate("() => Date.now() + 1000"))
    page.keyboard.press("j")
    before = page.evaluate("() => clock.active")
    page.clock.run_for(20_000)
    page.keyboard.press("j")  # 20 s: somebody who reads
    page.clock.run_for(600_000)
    page.keyboard.press("k")  # ten minutes: somebody who is away
    page.clock.run_for(5_000)
    page.keyboard.press("3")
    assert page.evaluate("() => clock.active") - before == 25_000


def test_the_page_works_without_javascript(
    browser: Browser, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    QueueItemFactory.create_batch(2, solution__steps=["one", "two"])
    context = browser.new_context(java_script_enabled=False)
    sign_in(context, ada)
    page = context.new_page()
    page.goto(f"{live_server.url}/label/")
    page.locator("#step-1").get_by_role("radio", name="great").click()
    page.locator("#step-2").get_by_role("radio", name="bad").click()
    assert page.url.endswith("#step-2")
    page.get_by_role("button", name="Submit").click()
    assert Label.objects.submitted().get().finish_reason == "found_error"
    assert page.locator("li[aria-current=step]").get_attribute("id") == "step-1"
    context.close()


def test_a_waiting_page_is_told_that_its_session_is_lost(
    page: Page, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    page.clock.install()
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    Session.objects.all().delete()
    page.clock.run_for(11_000)
    page.get_by_text("You are signed out").wait_for()
    assert page.get_by_text("Nothing to rate right now").is_visible()
    assert page.get_by_label("Password").count() == 0
