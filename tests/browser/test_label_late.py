"""What a browser kept is sent again: after a closed page, a restart of the server, from two tabs, never for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.sessions.models import Session

from annotate.models import Label, Person, StepRating
from tests.browser.labelling import saved
from tests.factories import AnnotatorFactory

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SignIn = Callable[[Any, Person], None]


def kept(page: Page) -> int:
    return page.evaluate("() => outbox.left().length")


def test_what_was_given_without_a_network_is_sent_by_the_next_page(
    label_page: Page, live_server: Any
) -> None:
    label_page.context.set_offline(True)
    for key in "32":
        label_page.keyboard.press(key)
    label_page.get_by_text("kept in this browser").wait_for()
    assert kept(label_page) == 2
    label_page.close(run_before_unload=False)  # the laptop is closed, too
    other = label_page.context.new_page()
    label_page.context.set_offline(False)
    assert not StepRating.objects.exists()
    other.goto(f"{live_server.url}/label/")
    assert saved(other) == [1, 0]
    assert other.locator("[aria-checked=true]").evaluate_all("all => all.map(b => b.value)") == ["0:1", "1:0"]
    assert other.locator("li[aria-current=step]").get_attribute("id") == "step-3"
    assert kept(other) == 0


def test_a_submit_without_a_network_is_sent_by_the_next_page(label_page: Page, live_server: Any) -> None:
    label_page.keyboard.press("1")
    label_page.locator("#state", has_text="First error").wait_for()
    label_page.evaluate("() => line")
    label_page.context.set_offline(True)
    label_page.keyboard.press("Enter")
    label_page.get_by_text("kept in this browser").wait_for()
    other = label_page.context.new_page()
    label_page.close(run_before_unload=False)
    other.context.set_offline(False)
    other.goto(f"{live_server.url}/label/")
    other.get_by_text("1 today").wait_for()
    assert Label.objects.submitted().get().finish_reason == "found_error"


def test_a_server_that_restarts_loses_nothing(label_page: Page) -> None:
    label_page.route("**/rate/", lambda route: route.fulfill(status=502, body="Bad gateway"))
    for key in "32":
        label_page.keyboard.press(key)
    label_page.get_by_text("The server does not answer").wait_for()
    label_page.unroute("**/rate/")
    label_page.get_by_text("The server does not answer").wait_for(state="hidden")
    assert saved(label_page) == [1, 0]


def test_an_answer_that_got_lost_is_asked_for_again_and_changes_nothing(label_page: Page) -> None:
    lost: list[int] = []

    def lose_the_first_answer(route: Any) -> None:
        response = route.fetch()
        if lost:
            return route.fulfill(response=response)
        lost.append(response.status)
        return route.abort()

    label_page.route("**/rate/", lose_the_first_answer)
    for key in "32":
        label_page.keyboard.press(key)
    assert saved(label_page) == [1, 0]
    assert lost == [200]


def test_a_tab_that_was_offline_does_not_overwrite_what_another_gave_since(
    label_page: Page, live_server: Any
) -> None:
    other = label_page.context.new_page()
    other.goto(f"{live_server.url}/label/")
    label_page.route("**/rate/", lambda route: route.abort())
    label_page.keyboard.press("3")
    label_page.get_by_text("The server does not answer").wait_for()
    other.keyboard.press("2")
    assert saved(other) == [0]
    label_page.unroute("**/rate/")
    label_page.get_by_text("The server does not answer").wait_for(state="hidden")
    assert saved(label_page) == [0]


def test_a_submit_in_one_tab_shows_the_next_item_in_the_other_with_its_next_key(
    label_page: Page, live_server: Any
) -> None:
    other = label_page.context.new_page()
    other.goto(f"{live_server.url}/label/")
    first = other.locator("#work").get_attribute("data-item")
    label_page.keyboard.press("1")
    label_page.locator("#state", has_text="First error").wait_for()
    label_page.keyboard.press("Enter")
    label_page.get_by_text("1 today").wait_for()
    other.keyboard.press("3")
    other.locator(f"#work:not([data-item='{first}'])").wait_for()
    assert list(Label.objects.submitted().get().ratings.values_list("rating", flat=True)) == [-1]


def test_what_one_person_gave_is_never_sent_in_the_name_of_another(
    label_page: Page, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    ben = AnnotatorFactory.create(username="ben")
    Session.objects.all().delete()
    label_page.keyboard.press("3")
    label_page.get_by_text("You are signed out").wait_for()
    sign_in(label_page, ben)  # in another tab of the same browser
    theirs = label_page.context.new_page()
    theirs.goto(f"{live_server.url}/label/")
    theirs.keyboard.press("2")
    theirs.evaluate("() => line")
    assert StepRating.objects.get().label.annotator == ben
    assert label_page.get_by_text("You are signed out").is_visible()
    sign_in(label_page, ada)
    label_page.get_by_text("You are signed out").wait_for(state="hidden")
    label_page.evaluate("() => line")
    assert StepRating.objects.get(label__annotator=ada).rating == 1
