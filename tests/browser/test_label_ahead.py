"""A submit shows the next item at once, which was fetched ahead; whatever the server says to it later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from annotate.loop import label as verbs
from annotate.models import Label, Person, Queue, QueueItem
from tests.browser.labelling import Held, item, rate_and_fetch, ratings, submit_unanswered
from tests.factories import QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SignIn = Callable[[Any, Person], None]


def test_nothing_is_fetched_for_who_only_looks(label_page: Page) -> None:
    label_page.wait_for_timeout(300)
    assert QueueItem.objects.leased().count() == 1
    rate_and_fetch(label_page, "331")
    assert QueueItem.objects.leased().count() == 2


def test_the_next_item_is_shown_before_the_server_has_the_submit(label_page: Page) -> None:
    first = rate_and_fetch(label_page)
    label_page.evaluate("() => window.scrollTo(0, 999)")
    held = Held(label_page, "**/submit/")
    label_page.keyboard.press("Enter")
    second = item(label_page)
    assert second != first
    assert not Label.objects.submitted().exists()
    assert label_page.evaluate("() => [window.scrollY, document.activeElement.id]") == [0, "problem"]
    assert label_page.evaluate("() => clock.active") < 1_000
    assert label_page.get_by_role("button", name="Take the submit back").count() == 0
    label_page.keyboard.press("3")
    label_page.keyboard.press("j")
    held.let_go()
    label_page.get_by_text("1 today").wait_for()
    assert label_page.get_by_role("button", name="Take the submit back").is_visible()
    assert label_page.locator("li[aria-current=step]").get_attribute("id") == "step-3"  # where they were
    assert ratings(label_page) == {first: [1, 1, -1], second: [1]}
    assert QueueItem.objects.leased().get().pk == second
    assert Label.objects.drafts().get().total_time < 60_000


@pytest.mark.parametrize("width", [360, 1100])
def test_no_button_moves_when_the_answer_comes(label_page: Page, width: int) -> None:
    label_page.set_viewport_size({"width": width, "height": 740})
    _first, held = submit_unanswered(label_page)
    buttons = ["#flag button", "#stop > summary", "#undo button", "#submit button", "#step-1 button.good"]
    before = [label_page.locator(button).bounding_box() for button in buttons]
    held.let_go()
    label_page.get_by_role("button", name="Take the submit back").wait_for()
    assert [label_page.locator(button).bounding_box() for button in buttons] == before


def test_one_after_the_other_all_day(label_page: Page) -> None:
    QueueItemFactory.create_batch(3, solution__steps=["one", "two", "three"])
    met = []
    for done in range(1, 5):
        met.append(rate_and_fetch(label_page, "331"))
        label_page.keyboard.press("Enter")
        assert item(label_page) not in met
        label_page.get_by_text(f"{done} today").wait_for()
    for key in "331":
        label_page.keyboard.press(key)
    label_page.locator("#standing:not([data-finish=''])").wait_for()
    label_page.keyboard.press("Enter")
    label_page.get_by_text("Nothing to rate right now").wait_for()
    assert Label.objects.submitted().count() == 5
    assert not QueueItem.objects.leased().exists()


def test_the_clock_of_the_server_is_not_taken_from_what_was_fetched(label_page: Page) -> None:
    before = label_page.evaluate("() => outbox.ahead")
    rate_and_fetch(label_page)
    label_page.wait_for_timeout(1_500)
    label_page.keyboard.press("Enter")
    label_page.get_by_text("1 today").wait_for()
    assert label_page.evaluate("() => outbox.ahead") == before


def test_without_a_network_what_is_given_of_both_is_saved_when_it_is_back(label_page: Page) -> None:
    first = rate_and_fetch(label_page)
    label_page.context.set_offline(True)
    label_page.keyboard.press("Enter")
    second = item(label_page)
    assert second != first
    for key in "321":
        label_page.keyboard.press(key)
    label_page.get_by_text("The server does not answer").wait_for()
    assert not Label.objects.submitted().exists()
    label_page.context.set_offline(False)
    label_page.get_by_text("The server does not answer").wait_for(state="hidden")
    assert ratings(label_page) == {first: [1, 1, -1], second: [1, 0, -1]}
    assert Label.objects.submitted().get().queue_item_id == first
    label_page.locator("#state", has_text="First error: step 3").wait_for()
    label_page.keyboard.press("Enter")
    label_page.get_by_text("2 today").wait_for()


def test_what_was_given_of_both_is_sent_by_the_next_page(label_page: Page, live_server: Any) -> None:
    first = rate_and_fetch(label_page)
    label_page.context.set_offline(True)
    label_page.keyboard.press("Enter")
    second = item(label_page)
    label_page.keyboard.press("3")
    label_page.get_by_text("The server does not answer").wait_for()
    other = label_page.context.new_page()
    label_page.close(run_before_unload=False)
    other.context.set_offline(False)
    other.goto(f"{live_server.url}/label/")
    other.locator(f"#work[data-item='{second}']").wait_for()
    assert ratings(other) == {first: [1, 1, -1], second: [1]}
    other.locator("#step-1 [aria-checked=true]").wait_for()


def test_a_submit_taken_back_and_given_again(label_page: Page) -> None:
    QueueItemFactory.create(solution__steps=["one", "two", "three"], priority=-1)
    first = rate_and_fetch(label_page)
    label_page.keyboard.press("Enter")
    label_page.get_by_text("1 today").wait_for()
    second = rate_and_fetch(label_page, "1")  # and the third is fetched, which is given back now
    label_page.get_by_role("button", name="Take the submit back").click()
    label_page.locator(f"#work[data-item='{first}']").wait_for()
    label_page.keyboard.press("j")
    label_page.keyboard.press("Enter")
    label_page.locator(f"#work[data-item='{second}']").wait_for()
    label_page.keyboard.press("Enter")
    label_page.get_by_text("2 today").wait_for()
    assert item(label_page) not in (first, second)
    assert Label.objects.submitted().count() == 2


def test_a_queue_that_asks_further_fetches_nothing(
    page: Page, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    QueueItemFactory.create_batch(2, solution__steps=["one", "two"])
    Queue.objects.update(asks_further=True)
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    page.keyboard.press("3")
    page.evaluate("() => line")
    page.wait_for_timeout(200)
    assert QueueItem.objects.leased().count() == 1


def test_a_page_that_is_left_gives_both_back(label_page: Page, live_server: Any) -> None:
    rate_and_fetch(label_page)
    label_page.goto(f"{live_server.url}/work/")
    for _ in range(50):  # the browser sends it when it gets round to it
        if not QueueItem.objects.leased().exists():
            break
        label_page.wait_for_timeout(200)
    assert not QueueItem.objects.leased().exists()


@pytest.mark.parametrize("rated", [False, True])
def test_a_double_click_submits_one_item(rated: bool, label_page: Page) -> None:
    first = rate_and_fetch(label_page)
    if rated:  # the next one is complete, as after a submit taken back
        following = QueueItem.objects.get(ahead=True)
        verbs.rate(person=Person.objects.get(username="ada"), item=following.pk, step_index=0, rating=-1)
        label_page.evaluate("() => ahead.forget()")
        label_page.keyboard.press("k")
        label_page.keyboard.press("1")
        label_page.wait_for_function("() => ahead.fetched.text")
    label_page.evaluate("() => { for (const _ of [1, 2]) document.querySelector('#submit button').click(); }")
    label_page.get_by_text("1 today").wait_for()
    label_page.evaluate("() => line")
    assert label_page.get_by_role("alert").count() == 0
    assert item(label_page) != first
    assert Label.objects.submitted().get().queue_item_id == first
