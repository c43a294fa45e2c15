"""The next item is shown, and then the server says no: what the person sees, and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Label, Person, QueueItem
from tests.browser.labelling import Held, item, rate_and_fetch, ratings, submit_unanswered
from tests.factories import AnnotatorFactory, QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_refused_submit_brings_the_person_back_with_the_reason(label_page: Page) -> None:
    first, held = submit_unanswered(label_page)
    second = item(label_page)
    label_page.keyboard.press("2")
    Label.objects.get(queue_item=first).ratings.filter(step_index=1).delete()  # as another tab may have
    held.let_go()
    label_page.get_by_text("Step 2 is not rated yet.").wait_for()
    assert item(label_page) == first
    assert ratings(label_page) == {first: [1, -1], second: [0]}
    label_page.keyboard.press("j")
    label_page.locator("#step-2").click()
    label_page.keyboard.press("3")
    label_page.locator("#state", has_text="First error: step 3").wait_for()
    label_page.keyboard.press("Enter")
    label_page.get_by_text("1 today").wait_for()
    assert item(label_page) == second
    assert label_page.locator("#step-1 [aria-checked=true]").get_attribute("value") == "0:0"


def test_who_was_too_late_keeps_what_they_rate_now(label_page: Page) -> None:
    first, held = submit_unanswered(label_page)
    second = item(label_page)
    label_page.keyboard.press("3")
    label_page.keyboard.press("3")
    QueueItem.objects.filter(pk=first).update(leased_by=None, done_at=timezone.now())
    held.let_go()
    label_page.get_by_text("Somebody else finished this solution").wait_for()
    assert item(label_page) == second
    assert label_page.locator("li[aria-current=step]").get_attribute("id") == "step-3"
    assert ratings(label_page)[second] == [1, 1]


def test_a_paused_person_is_told_though_the_next_item_was_shown(label_page: Page, ada: Person) -> None:
    _first, held = submit_unanswered(label_page)
    Person.objects.filter(pk=ada.pk).update(suspended_at=timezone.now())
    held.let_go()
    label_page.get_by_text("You are paused for now").wait_for()
    assert Label.objects.submitted().count() == 1


def test_another_item_comes_where_somebody_else_took_the_one_that_was_shown(label_page: Page) -> None:
    third = QueueItemFactory.create(solution__steps=["one", "two", "three"], priority=-1)
    _first, held = submit_unanswered(label_page)
    second = item(label_page)
    QueueItem.objects.filter(pk=second).update(leased_by=None)
    assert verbs.claim(person=AnnotatorFactory.create()).item == second
    held.let_go()
    label_page.locator(f"#work[data-item='{third.pk}']").wait_for()
    label_page.get_by_text("1 today").wait_for()


def test_two_tabs_each_show_the_next_item_and_one_label_is_made(label_page: Page, live_server: Any) -> None:
    other = label_page.context.new_page()
    other.goto(f"{live_server.url}/label/")
    first = rate_and_fetch(label_page)
    other.keyboard.press("3")
    other.wait_for_function("() => ahead.fetched.text")
    other.locator("#standing:not([data-finish=''])").wait_for()
    for page in (label_page, other):
        page.bring_to_front()
        page.keyboard.press("Enter")
        page.evaluate("() => line")
    assert item(label_page) == item(other) != first
    assert Label.objects.submitted().get().queue_item_id == first
    other.keyboard.press("3")
    assert ratings(other)[item(other)] == [1]
    assert QueueItem.objects.leased().count() == 1


def test_what_was_fetched_long_ago_is_not_shown(label_page: Page) -> None:
    rate_and_fetch(label_page)
    label_page.evaluate("() => { ahead.fetched.until = Date.now() - 1; }")
    held = Held(label_page, "**/submit/")
    first = item(label_page)
    label_page.keyboard.press("Enter")
    label_page.wait_for_timeout(200)
    assert item(label_page) == first
    held.let_go()
    label_page.get_by_text("1 today").wait_for()


def test_who_is_signed_out_is_shown_nothing_that_was_fetched(label_page: Page) -> None:
    first = rate_and_fetch(label_page)
    Session.objects.all().delete()
    label_page.keyboard.press("k")
    label_page.keyboard.press("3")
    label_page.get_by_text("You are signed out").wait_for()
    label_page.keyboard.press("Enter")
    label_page.wait_for_timeout(200)
    assert item(label_page) == first
