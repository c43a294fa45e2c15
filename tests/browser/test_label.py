"""Rating in a real browser, by keyboard: the way an annotator spends the day."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from annotate.models import Label, Person, QueueItem, StepRating
from tests.browser.labelling import saved
from tests.factories import PASSWORD, AnnotatorFactory, QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STEPS = ["Call it $x$.", r"So $\frac{x}{2} = 3$.", "Then $x = 5$.", "It is 5.\n\n# Answer\n\n5"]


@pytest.fixture
def ada() -> Person:
    return AnnotatorFactory.create(username="ada", first_name="Ada")


@pytest.fixture
def label_page(page: Page, live_server: Any, ada: Person, sign_in: Callable[[Page, Person], None]) -> Page:
    """Ada's labelling page with two items waiting."""
    QueueItemFactory.create_batch(2, solution__steps=STEPS)
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    return page


def now(page: Page) -> str | None:
    return page.locator("li[aria-current=step]").get_attribute("id")


def test_a_person_signs_in_rates_by_keyboard_submits_and_goes_on(
    page: Page, live_server: Any, ada: Person
) -> None:
    first, second = QueueItemFactory.create_batch(2, solution__steps=STEPS)
    page.goto(live_server.url)
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/label/")
    assert page.locator("#work").get_attribute("data-item") == str(first.pk)

    for key in "331":
        page.keyboard.press(key)
    page.locator("#state", has_text="First error: step 3").wait_for()
    page.keyboard.press("Enter")
    page.locator(f"#work[data-item='{second.pk}']").wait_for()
    assert now(page) == "step-1"
    for key in "3233":  # the keys live on after the swap
        page.keyboard.press(key)
    page.locator("#state", has_text="All steps rated").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Nothing to rate right now").wait_for()

    found, solved = Label.objects.submitted().order_by("submitted_at")
    assert (found.finish_reason, solved.finish_reason) == ("found_error", "solution")
    assert list(found.ratings.values_list("rating", flat=True)) == [1, 1, -1]
    assert list(solved.ratings.values_list("rating", flat=True)) == [1, 0, 1, 1]
    assert page.locator("#today").inner_text().startswith("2 today")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login/")


def test_a_reload_keeps_ratings_item_and_lease(label_page: Page) -> None:
    item = label_page.locator("#work").get_attribute("data-item")
    label_page.keyboard.press("3")
    label_page.keyboard.press("2")
    assert saved(label_page) == [1, 0]
    label_page.reload()
    assert label_page.locator("#work").get_attribute("data-item") == item
    assert label_page.locator("[aria-checked=true]").evaluate_all("all => all.map(b => b.value)") == [
        "0:1",
        "1:0",
    ]
    assert now(label_page) == "step-3"
    assert QueueItem.objects.get(leased_by__isnull=False, ahead=False).pk == int(item or 0)


def test_the_next_step_is_ready_before_the_server_has_answered(label_page: Page) -> None:
    label_page.route("**/rate/", lambda route: (label_page.wait_for_timeout(150), route.continue_()))
    for key in "3231":
        label_page.keyboard.press(key)
    assert now(label_page) == "step-4"
    assert saved(label_page) == [1, 0, 1, -1]
    assert label_page.locator("[aria-checked=true]").count() == 4
    assert now(label_page) == "step-4"


def test_j_k_and_arrows_move_and_an_earlier_rating_can_be_changed(label_page: Page) -> None:
    label_page.keyboard.press("1")
    label_page.locator("#state", has_text="First error: step 1").wait_for()
    assert label_page.locator("li.later").count() == 3
    label_page.keyboard.press("3")
    label_page.locator("li.later").first.wait_for(state="detached")
    assert now(label_page) == "step-2"
    for key, step in (("k", 1), ("ArrowDown", 2), ("j", 3), ("j", 4), ("j", 4), ("ArrowUp", 3)):
        label_page.keyboard.press(key)
        assert now(label_page) == f"step-{step}"


def test_u_takes_back_the_last_rating_and_goes_there(label_page: Page) -> None:
    for key in "33":
        label_page.keyboard.press(key)
    label_page.keyboard.press("u")
    assert now(label_page) == "step-2"
    label_page.keyboard.press("2")  # at once, before the answer
    assert saved(label_page) == [1, 0]
    label_page.reload()
    label_page.keyboard.press("u")  # known to the server after a reload, too
    assert saved(label_page) == [1, None]
    label_page.wait_for_function("() => document.querySelector('#step-2').matches('.now')")


def test_q_marks_the_step_as_unsure_and_back(label_page: Page) -> None:
    label_page.keyboard.press("q")
    label_page.locator("#step-1 .unsure").wait_for()
    assert StepRating.objects.get().flagged is True
    label_page.keyboard.press("q")
    label_page.locator("#step-1 .unsure").wait_for(state="detached")
    assert StepRating.objects.get().flagged is None


def test_keys_are_mute_while_one_types_and_with_modifiers(label_page: Page) -> None:
    label_page.keyboard.press("Control+1")
    label_page.keyboard.press("Alt+3")
    label_page.locator("#stop summary").click()
    label_page.locator("#comment").fill("")
    label_page.locator("#comment").press_sequentially("123 junk?")
    assert label_page.locator("#comment").input_value() == "123 junk?"
    label_page.keyboard.press("Escape")
    assert not label_page.locator("#comment").is_visible()
    label_page.keyboard.press("?")
    label_page.keyboard.press("1")  # in the dialog
    label_page.keyboard.press("Escape")
    assert saved(label_page) == []
    assert now(label_page) == "step-1"


@pytest.mark.parametrize(
    "event",
    [
        {"code": "Digit1", "key": "&"},  # AZERTY, without Shift
        {"code": "Digit1", "key": "1", "shiftKey": True},  # AZERTY, with Shift
        {"code": "Numpad1", "key": "1"},
        {"code": "Digit1", "key": "1"},
    ],
    ids=lambda event: f"{event['code']} {event['key']}",
)
def test_digits_work_on_every_layout(label_page: Page, event: dict[str, Any]) -> None:
    label_page.evaluate(
        "event => document.body.dispatchEvent(new KeyboardEvent('keydown', {...event, bubbles: true}))", event
    )
    assert saved(label_page) == [-1]


def test_a_held_key_rates_once(label_page: Page) -> None:
    label_page.keyboard.down("3")
    for _ in range(5):
        label_page.keyboard.down("3")  # what a keyboard repeats
    label_page.keyboard.up("3")
    assert saved(label_page) == [1]


def test_the_mouse_does_all_of_it_too(label_page: Page) -> None:
    label_page.locator("#step-1 .great, #step-1 button.good").click()
    label_page.locator("#step-2 button.rate[aria-checked]").nth(0).click()
    assert saved(label_page) == [1, -1]
    label_page.locator("#step-1 button.good").click()  # not the current step: opens it again, rates nothing
    assert now(label_page) == "step-1"
    label_page.locator("#step-1 button.okay").click()
    assert saved(label_page) == [0, -1]
    label_page.get_by_role("button", name="Submit").click()
    label_page.get_by_text("1 today").wait_for()
    assert Label.objects.submitted().get().finish_reason == "found_error"


def test_giving_up_wants_a_reason_and_brings_the_next(label_page: Page) -> None:
    label_page.keyboard.press("3")
    label_page.get_by_text("Can’t finish").click()
    label_page.get_by_label("I give up").check()
    label_page.get_by_role("button", name="Send and go on").click()
    assert not Label.objects.submitted().exists()  # the browser itself asks for the reason
    label_page.get_by_label("Reason").fill("I cannot tell")
    label_page.get_by_role("button", name="Send and go on").click()
    label_page.get_by_text("1 today").wait_for()
    label = Label.objects.submitted().get()
    assert (label.finish_reason, label.comment) == ("give_up", "I cannot tell")


def test_enter_before_the_end_goes_to_the_step_that_is_missing(label_page: Page) -> None:
    label_page.keyboard.press("3")
    label_page.keyboard.press("j")
    label_page.keyboard.press("Enter")
    assert now(label_page) == "step-2"
    assert not Label.objects.submitted().exists()
