"""The rest of the keyboard: redo, zoom, the guess, giving up, skipping, taking back; and keys of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from annotate.loop.keymap import choose_keys
from annotate.models import Concern, Label, Person
from tests.browser.labelling import saved
from tests.factories import QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def items() -> list[Any]:
    return QueueItemFactory.create_batch(2, solution__steps=["one", "two", "three"])


@pytest.fixture
def label_page(
    page: Page, live_server: Any, ada: Person, items: list[Any], sign_in: Callable[[Page, Person], None]
) -> Page:
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    return page


def test_undo_and_redo_walk_through_what_was_given(label_page: Page) -> None:
    for key in "33":
        label_page.keyboard.press(key)
    label_page.keyboard.press("k")
    label_page.keyboard.press("2")  # step 2 again, otherwise
    assert saved(label_page) == [1, 0]
    label_page.keyboard.press("u")
    assert saved(label_page) == [1, 1]  # the rating before, not none
    label_page.keyboard.press("u")
    assert saved(label_page) == [1, None]
    for _ in range(3):
        label_page.keyboard.press("r")
    assert saved(label_page) == [1, 0]
    label_page.keyboard.press("u")
    label_page.keyboard.press("1")  # something new: nothing is left to redo
    label_page.keyboard.press("r")
    assert saved(label_page) == [1, -1]


def test_the_guess_hides_and_stays_hidden_and_a_step_can_be_seen_large(label_page: Page) -> None:
    label_page.keyboard.press("a")
    assert not label_page.locator("#guess .answer").is_visible()
    label_page.keyboard.press("z")
    assert label_page.locator("#zoom .text").inner_text() == "one"
    label_page.keyboard.press("3")  # mute in there
    label_page.keyboard.press("z")
    assert not label_page.locator("#zoom").is_visible()
    assert saved(label_page) == []
    label_page.keyboard.press("1")
    label_page.locator("#state", has_text="First error").wait_for()
    label_page.keyboard.press("Enter")
    label_page.get_by_text("1 today").wait_for()
    assert not label_page.locator("#guess .answer").is_visible()
    label_page.keyboard.press("a")
    assert label_page.locator("#guess .answer").is_visible()


def test_a_key_right_behind_the_one_that_closes_the_large_step_is_not_lost(label_page: Page) -> None:
    label_page.evaluate(
        """() => ["KeyZ", "KeyZ", "Digit1"].forEach((code) => document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { code, key: code.at(-1).toLowerCase(), bubbles: true })))"""
    )
    assert saved(label_page) == [-1]


@pytest.mark.parametrize(("key", "reason"), [("g", "give_up"), ("b", "bad_problem")])
def test_giving_up_and_a_bad_problem_are_a_key_and_a_reason_away(
    label_page: Page, key: str, reason: str
) -> None:
    label_page.keyboard.press(key)
    label_page.keyboard.type("123 no figure")
    label_page.get_by_role("button", name="Send and go on").click()
    label_page.get_by_text("1 today").wait_for()
    label = Label.objects.submitted().get()
    assert (label.finish_reason, label.comment) == (reason, "123 no figure")
    assert Concern.objects.filter(kind="problem").exists() is (reason == "bad_problem")


def test_a_skipped_solution_gives_way_to_another_and_can_be_asked_for_again(
    label_page: Page, items: list[Any]
) -> None:
    label_page.keyboard.press("3")
    label_page.keyboard.press("s")
    label_page.locator(f"#work[data-item='{items[1].pk}']").wait_for()
    label_page.keyboard.press("s")
    label_page.get_by_text("You put 2 solutions aside.").wait_for()
    label_page.get_by_role("button", name="Go on with it").click()
    label_page.locator(f"#work[data-item='{items[0].pk}']").wait_for()
    assert label_page.locator("#step-1 [aria-checked=true]").count() == 1


def test_a_submit_is_taken_back_with_a_button_or_with_u(label_page: Page, items: list[Any]) -> None:
    for take_back in (
        lambda: label_page.get_by_role("button", name="Take the submit back").click(),
        lambda: label_page.keyboard.press("u"),
    ):
        label_page.keyboard.press("1")
        label_page.locator("#state", has_text="First error").wait_for()
        label_page.keyboard.press("Enter")
        label_page.locator(f"#work[data-item='{items[1].pk}']").wait_for()
        label_page.evaluate("() => line")  # the next is shown before the submit has arrived
        assert Label.objects.submitted().count() == 1
        take_back()
        label_page.locator(f"#work[data-item='{items[0].pk}']").wait_for()
        assert saved(label_page) == [-1]
        assert not Label.objects.submitted().exists()


def test_the_guess_is_disputed_without_losing_a_rating(label_page: Page) -> None:
    label_page.keyboard.press("3")
    label_page.get_by_text("Is it wrong?").click()
    label_page.get_by_label("What is right, and why?").fill("It is 12.")
    label_page.get_by_role("button", name="Tell the managers").click()
    label_page.get_by_text("a manager will look at the answer").wait_for()
    assert Concern.objects.get().text == "It is 12."
    assert label_page.get_by_text("You said it is wrong").is_visible()
    assert label_page.locator("#step-1 [aria-checked=true]").count() == 1


def test_keys_of_ones_own_work_and_the_old_ones_do_not(
    page: Page, live_server: Any, ada: Person, items: list[Any], sign_in: Callable[[Page, Person], None]
) -> None:
    sign_in(page, ada)
    page.goto(f"{live_server.url}/settings/")
    page.locator("#key-great").focus()
    page.keyboard.press("d")
    page.locator("#key-submit").focus()
    page.keyboard.press("Space")
    page.locator("#keys-form").get_by_role("button", name="Save").click()
    page.get_by_text("Your keys are saved.").wait_for()
    page.goto(f"{live_server.url}/label/")
    for key in ("3", "d", "d", "d"):
        page.keyboard.press(key)
    page.locator("#state", has_text="All steps rated").wait_for()
    page.keyboard.press("Space")
    page.get_by_text("1 today").wait_for()
    assert Label.objects.submitted().get().finish_reason == "solution"
    page.keyboard.press("?")
    assert page.locator("#keys").get_by_text("D", exact=True).is_visible()


def test_azerty_letters_are_what_they_print(label_page: Page, ada: Person) -> None:
    event = {"code": "KeyQ", "key": "a"}  # the key that says A there
    label_page.evaluate(
        "event => document.body.dispatchEvent(new KeyboardEvent('keydown', {...event, bubbles: true}))", event
    )
    assert not label_page.locator("#guess .answer").is_visible()
    assert saved(label_page) == []


def test_a_key_of_another_alphabet_can_be_chosen(
    page: Page, live_server: Any, ada: Person, items: list[Any], sign_in: Callable[[Page, Person], None]
) -> None:
    choose_keys(person=ada, keys={"bad": "ф"})
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    for event in ({"code": "KeyA", "key": "ф"}, {"code": "KeyG", "key": "п"}):
        page.evaluate(
            "event => document.body.dispatchEvent(new KeyboardEvent('keydown', {...event, bubbles: true}))",
            event,
        )
    assert saved(page) == [-1]
    assert page.locator("#comment").is_visible()  # G by its place, since п is nobody's key
