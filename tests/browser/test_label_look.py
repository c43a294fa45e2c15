"""How the annotators' pages look: accessible in light and dark, readable on a telephone, nothing jumps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from annotate.loop import label as verbs
from annotate.models import Instructions, Person
from tests.factories import AnnotatorFactory, QueueItemFactory

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "a very long line of text that goes on and on without saying much " * 6
STEPS = [
    "Call it $x$.",
    r"So $\frac{x}{2} = 3$.",
    r"A $\nosuch{formula}$ of no use.",
    LONG,
    "It is 5.\n\n# Answer\n\n5",
]


@pytest.fixture
def ada() -> Person:
    """Somebody with one label submitted and one item begun."""
    ada = AnnotatorFactory.create(username="ada")
    Instructions.objects.get_or_create(
        number=1, defaults={"text": "## Rules\n- **bad**\n- $x$\n\n|a|b|\n|-|-|\n|1|2|"}
    )
    QueueItemFactory.create_batch(2, solution__steps=STEPS)
    for ratings in ((1, 0, -1), (1, 0)):
        work = verbs.claim(person=ada)
        for index, rating in enumerate(ratings):
            verbs.rate(person=ada, item=work.item, step_index=index, rating=rating)
        verbs.flag(person=ada, item=work.item, step_index=1, unsure=True)
        if -1 in ratings:
            verbs.submit(person=ada, item=work.item)
    return ada


@pytest.fixture(params=["light", "dark"])
def themed(request: Any, browser: Browser, ada: Person) -> Iterator[Page]:
    context = browser.new_context(color_scheme=request.param)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert not said  # which is also where a Content-Security-Policy complains


def complaints(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {[node['target'] for node in v['nodes']]}" for v in found]


def test_axe_finds_nothing(
    themed: Page, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    themed.goto(f"{live_server.url}/login/")
    assert complaints(themed) == []
    sign_in(themed, ada)
    themed.goto(f"{live_server.url}/label/")
    assert complaints(themed) == []
    themed.keyboard.press("1")
    themed.locator("#state", has_text="First error: step 3").wait_for()
    themed.get_by_text("Can’t finish").click()
    assert complaints(themed) == []
    themed.keyboard.press("Escape")
    for key in "?z":
        themed.keyboard.press(key)
        assert complaints(themed) == []
        themed.keyboard.press("Escape")
    themed.keyboard.press("i")
    themed.locator("#rules .rules").wait_for()
    assert complaints(themed) == []
    themed.keyboard.press("Escape")
    themed.get_by_text("Is it wrong?").click()
    assert complaints(themed) == []
    themed.keyboard.press("Escape")
    themed.keyboard.press("Enter")
    themed.get_by_text("Nothing to rate right now").wait_for()
    assert complaints(themed) == []
    themed.goto(f"{live_server.url}/work/")
    assert complaints(themed) == []
    themed.locator("tbody a").first.click()
    assert complaints(themed) == []
    for path in ("/settings/", "/instructions/"):
        themed.goto(live_server.url + path)
        assert complaints(themed) == []


@pytest.mark.parametrize("path", ["/login/", "/label/", "/work/", "/settings/", "/instructions/"])
def test_a_telephone_never_scrolls_sideways(
    path: str, page: Page, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    if path != "/login/":
        sign_in(page, ada)
    page.goto(live_server.url + path)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [360, 1200])
def test_the_current_step_stays_in_view(
    width: int, page: Page, live_server: Any, sign_in: Callable[[Any, Person], None]
) -> None:
    QueueItemFactory.create(solution__steps=[f"Step {i}. {LONG}" for i in range(30)])
    page.set_viewport_size({"width": width, "height": 640})
    sign_in(page, AnnotatorFactory.create())
    page.goto(f"{live_server.url}/label/")
    bar = page.locator(".bar").bounding_box()
    assert bar is not None
    for number in range(2, 31):
        page.keyboard.press("3")
        step = page.locator(f"#step-{number}")
        box = step.bounding_box()
        assert box is not None
        assert step.get_attribute("aria-current") == "step"
        assert box["y"] >= 0
        assert box["y"] + min(box["height"], 300) <= bar["y"]


def test_nothing_jumps_when_a_step_is_rated(
    page: Page, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    page.set_viewport_size({"width": 1200, "height": 900})
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    tops = (
        "() => [...document.querySelectorAll('ol.steps > li, .bar, .bar > *')].map(e => [e.id, e.offsetTop])"
    )
    before = page.evaluate(tops)
    for key in ("3", "2", "k", "q", "1", "u"):
        page.keyboard.press(key)
        page.evaluate("() => line")
        assert page.evaluate(tops) == before, key


def test_at_twice_the_size_everything_can_be_reached(
    page: Page, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    page.set_viewport_size({"width": 640, "height": 400})  # 1280 by 800 at 200 %
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 640
    for button in ("Submit", "Undo", "Unsure"):
        assert page.get_by_role("button", name=button, exact=False).first.is_visible()
    page.keyboard.press("g")
    page.get_by_label("Reason").wait_for()
    box = page.locator("#stop .card").bounding_box()
    assert box is not None
    assert box["y"] >= 0


def test_who_wants_no_motion_gets_none(
    browser: Browser, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    context = browser.new_context(reduced_motion="reduce")
    sign_in(context, ada)
    page = context.new_page()
    page.goto(f"{live_server.url}/label/")
    page.keyboard.press("3")
    durations = "() => [...document.querySelectorAll('*')].map(e => getComputedStyle(e).transitionDuration)"
    assert set(page.evaluate(durations)) == {"0s"}
    assert page.evaluate("() => document.getAnimations().length") == 0
    context.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_german_fits(
    width: int, page: Page, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    ada.language = "de"
    ada.save()
    page.set_viewport_size({"width": width, "height": 700})
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    for button in page.locator("li.now .rate").all():
        assert button.evaluate("b => b.scrollHeight <= b.clientHeight + 2"), button.inner_text()
    assert complaints(page) == []


def test_ratings_are_radio_groups_with_names(
    page: Page, live_server: Any, ada: Person, sign_in: Callable[[Any, Person], None]
) -> None:
    sign_in(page, ada)
    page.goto(f"{live_server.url}/label/")
    group = page.get_by_role("radiogroup", name="Rate step 1")
    assert group.get_by_role("radio", name="great", checked=True).count() == 1
    assert page.get_by_role("radiogroup").count() == 5


def test_a_very_long_solution_is_smooth(
    page: Page, live_server: Any, sign_in: Callable[[Any, Person], None]
) -> None:
    """200 steps of 2,000 characters and 50 formulas: a rating swaps its step alone and makes no long task."""
    step = " ".join(rf"so $x_{{{i}}} = \frac{{{i}}}{{2}}$ holds, and" for i in range(50))
    QueueItemFactory.create(solution__steps=[f"{step} that is step {n}."[:2_000] for n in range(200)])
    sign_in(page, AnnotatorFactory.create())
    page.goto(f"{live_server.url}/label/")
    page.evaluate(
        """() => {
        window.swapped = new Set();
        new MutationObserver(changes => changes.forEach(change =>
            [...change.addedNodes].forEach(node => node.matches?.("li[id]") && window.swapped.add(node.id))
        )).observe(document.querySelector("ol.steps"), {childList: true});
    }"""
    )
    for key in "333":
        page.keyboard.press(key)
    page.evaluate("() => line")
    assert page.evaluate("() => [...window.swapped].sort()") == ["step-1", "step-2", "step-3"]
    skipped = "() => getComputedStyle(document.querySelector('#step-150')).contentVisibility"
    assert page.evaluate(skipped) == "auto"
    page.keyboard.press("Enter")
    assert page.locator("li[aria-current=step]").get_attribute("id") == "step-4"
