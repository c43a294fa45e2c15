"""Two people, two tabs, and gold among the rest, in real browsers: nothing is met twice, lost or told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from annotate.loop.overlap import spread
from annotate.loop.queues import put_problems
from annotate.models import Label, Person, QualityPolicy, Queue, QueueItem, StepRating, Way
from tests.factories import AnnotatorFactory, GoldFactory, ProblemFactory, QueueFactory, QueueItemFactory
from tests.loop.proposing import work_off
from tests.waiting import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    SignIn = Callable[[Page | BrowserContext, Person], None]

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STEPS = ["one", "two", "three"]


@pytest.fixture
def opened(page: Page, live_server: Any, ada: Person, sign_in: SignIn) -> Callable[[], Page]:
    """Opens the labelling page in one more tab of Ada's browser."""
    sign_in(page, ada)

    def tab() -> Page:
        fresh = page.context.new_page()
        fresh.goto(f"{live_server.url}/label/")
        return fresh

    return tab


def item(page: Page) -> str:
    return page.locator("#work").get_attribute("data-item") or ""


def rated(page: Page) -> list[str]:
    """What each step's checked radio says, "" where none is."""
    script = "all => all.map(li => li.querySelector('[aria-checked=true]')?.value.split(':')[1] ?? '')"
    return list(page.locator("ol.steps > li").evaluate_all(script))


def saved(*ratings: int | None) -> Callable[[], bool]:
    return lambda: (
        list(StepRating.objects.order_by("step_index").values_list("rating", flat=True)) == [*ratings]
    )


def test_two_people_at_once_never_meet_the_same_item_nor_each_others_ratings(
    page: Page, browser: Browser, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    QueueItemFactory.create_batch(4, solution__steps=STEPS)
    with browser.new_context() as other:
        pages = [page, other.new_page()]
        sign_in(page, ada)
        sign_in(other, AnnotatorFactory.create(username="ben"))
        met: list[str] = []
        for turn in range(2):
            for one in pages:
                if turn == 0:
                    one.goto(f"{live_server.url}/label/")
                assert rated(one) == ["", "", ""]
                met.append(item(one))
            for one in pages:
                one.keyboard.press("1")
            for one in pages:
                before = item(one)
                one.locator("#standing[data-finish=found_error]").wait_for()
                one.keyboard.press("Enter")
                one.locator(f"#work:not([data-item='{before}'])").wait_for()
        assert len(set(met)) == 4
    by = Label.objects.submitted().values_list("annotator__username", flat=True)
    assert sorted(by) == ["ada", "ada", "ben", "ben"]


def test_two_people_of_an_overlap_rate_one_solution_and_see_nothing_of_each_other(
    page: Page, browser: Browser, live_server: Any, ada: Person, sign_in: SignIn
) -> None:
    QueueItemFactory.create(queue=QueueFactory.create(overlap=2), solution__steps=STEPS)
    spread(queue=Queue.objects.get())
    with browser.new_context() as other:
        ben = other.new_page()
        sign_in(page, ada)
        sign_in(other, AnnotatorFactory.create(username="ben"))
        page.goto(f"{live_server.url}/label/")
        page.keyboard.press("1")
        page.locator("#standing[data-finish=found_error]").wait_for()
        ben.goto(f"{live_server.url}/label/")
        assert item(ben) != item(page)
        assert rated(ben) == ["", "", ""]
        for key in "333":
            ben.keyboard.press(key)
        ben.locator("#standing[data-finish=solution]").wait_for()
        ben.keyboard.press("Enter")
        ben.get_by_text("Nothing to rate").or_(ben.locator("#work:not([data-item])")).first.wait_for()
        page.keyboard.press("Enter")
        page.locator("#work:not([data-item])").wait_for()
    assert Label.objects.submitted().values("solution").distinct().count() == 1
    assert Label.objects.disputed_solutions().count() == 1


def test_in_two_tabs_every_step_is_rated_once_and_the_later_word_wins(opened: Callable[[], Page]) -> None:
    QueueItemFactory.create(queue=QueueFactory.create(way=Way.EVERY_STEP), solution__steps=STEPS)
    one, other = opened(), opened()
    assert item(one) == item(other)
    one.keyboard.press("1")
    one.keyboard.press("3")
    eventually(saved(-1, 1), "both are saved")
    other.keyboard.press("2")  # the first step again, by who has not seen the first tab's word
    eventually(saved(0, 1), "the later word won")
    other.reload()
    assert rated(other) == ["0", "1", ""]
    other.keyboard.press("1")
    other.locator("#standing[data-finish=found_error]").wait_for()
    other.keyboard.press("Enter")
    eventually(Label.objects.submitted().exists, "submitted")
    one.keyboard.press("3")  # too late: shown what there is, nothing is written
    one.locator("#work:not([data-item])").wait_for()
    assert saved(0, 1, -1)()
    assert Label.objects.count() == 1


@pytest.mark.usefixtures("broker")
def test_in_two_tabs_a_solution_grows_by_one_step_at_a_time(opened: Callable[[], Page]) -> None:
    ProblemFactory.create()
    put_problems(queue=QueueFactory.create(way=Way.STEP_BY_STEP, options=2), problems=1)
    one, other = opened(), opened()
    work_off()
    for tab in (one, other):
        tab.locator("#option-2").wait_for()
    for key in "32":
        one.keyboard.press(key)
    one.locator("#submit[data-onward=choose]").wait_for()
    one.keyboard.press("Enter")
    one.locator("ol.path li").wait_for()
    other.locator("#option-1 .text").click()
    other.keyboard.press("1")  # of a step that has been gone on from
    other.get_by_role("alert").or_(other.locator("ol.path li")).first.wait_for()
    other.reload()
    assert other.locator("ol.path li").count() == one.locator("ol.path li").count() == 1
    assert StepRating.objects.filter(chosen=True).count() == 1
    assert sorted(StepRating.objects.values_list("step_index", "rating")) == [(0, 0), (0, 1)]


def test_gold_looks_like_any_other_item_and_who_surely_misses_it_is_paused_kindly(
    opened: Callable[[], Page],
) -> None:
    policy = QualityPolicy.current()
    policy.gold_every = 1
    policy.save()
    golds = GoldFactory.create_batch(3, accepted=[-1])
    QueueItemFactory.create_batch(4, solution__steps=golds[0].question["pre_generated_steps"])
    tab = opened()
    of_gold = tab.evaluate(SHAPE)
    for _ in range(3):
        before = item(tab)
        assert QueueItem.objects.get(pk=before).gold is not None
        tab.keyboard.press("1")
        tab.locator("#standing[data-finish=found_error]").wait_for()
        tab.keyboard.press("Enter")
        tab.locator(f"#work:not([data-item='{before}'])").wait_for()
    tab.get_by_role("heading", name="You are paused for now").wait_for()
    Person.objects.update(suspended_at=None)
    QualityPolicy.objects.update(gold_every=0)
    tab.reload()
    assert QueueItem.objects.get(pk=item(tab)).gold is None
    assert tab.evaluate(SHAPE) == of_gold


# The page without its words: elements with the names of their attributes.
SHAPE = """() => {
  const told = (e) => `${e.tagName}[${[...e.attributes].map((a) => a.name).sort()}]`;
  return [...document.querySelectorAll('#work, #work .bar *, #problem, #guess, #rate > ol > li')].map(told).join(' ');
}"""
