"""The three ways to label in a real browser, with a real (tiny) model in a real worker: by keys, for every eye."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from annotate.loop.queues import put_problems
from annotate.models import Label, Person, QueueItem, StepRating, Way
from prm_backend.text.steps import split_steps
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
)
from tests.loop.proposing import work_off
from tests.loop.records import export_again, exported
from tests.tiny import parrot_dir
from tests.waiting import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]

PROBLEM = "How much is $\\frac{3}{2}$ of 2?"
STEPS = (
    ["I halve it: one.", "I take three of them."],
    ["That is $3$.", "One and two more.", "I add it up.", "Now thrice that."],
)
SOLUTIONS = [f"{a}\n{b}\nSo it is three.\n\n# Answer\n\n3\n" for a, b in product(*STEPS)]
ARRIVE = 240_000  # a worker that just started loads its libraries first


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(parrot_dir(tmp_path_factory.mktemp("parrot") / "model", PROBLEM, SOLUTIONS))


@pytest.fixture
def worker(start_worker: Callable[..., subprocess.Popen[bytes]], model: str) -> Callable[[], None]:
    return lambda: start_worker("model", MODEL=model, OMP_NUM_THREADS="1") and None


@pytest.fixture(params=["light", "dark"])
def page(
    request: Any, browser: Browser, live_server: Any, sign_in: Callable[[Any, Person], None]
) -> Iterator[Page]:
    """Ada's browser; a word on its console fails the test."""
    context = browser.new_context(color_scheme=request.param)
    sign_in(context, AnnotatorFactory.create(username="ada"))
    fresh = context.new_page()
    said: list[str] = []
    fresh.on("console", lambda message: said.append(message.text))
    fresh.on("pageerror", lambda error: said.append(str(error)))
    yield fresh
    context.close()
    assert [text for text in said if "status of 4" not in text] == []


def solution() -> Any:
    problem = ProblemFactory.create(text=PROBLEM, answer="3")
    return GradedSolutionFactory.create(problem=problem, steps=split_steps(SOLUTIONS[0]))


def check(page: Page, name: str) -> None:
    """Nothing for axe to find, nothing beyond the edge of a telephone."""
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [node["target"] for node in v["nodes"]]) for v in found] == [], name
    wide = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
    _picture(page, f"{name}-narrow")
    page.set_viewport_size(wide or {"width": 1280, "height": 720})
    _picture(page, name)


def _picture(page: Page, name: str) -> None:
    if folder := os.environ.get("WAYS_PICTURES"):
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        page.screenshot(path=f"{folder}/{name}-{'dark' if dark else 'light'}.png")


def state(page: Page, text: str) -> None:
    page.locator("#state", has_text=text).wait_for(timeout=ARRIVE)


def test_every_step_goes_on_after_an_error(page: Page, live_server: Any) -> None:
    QueueItemFactory.create(queue=QueueFactory.create(way=Way.EVERY_STEP), solution=solution())
    page.goto(f"{live_server.url}/label/")
    for key in "311":
        page.keyboard.press(key)
    state(page, "First error: step 2")
    check(page, "every-step")
    page.keyboard.press("Enter")
    eventually(Label.objects.submitted().exists, "submitted")
    assert list(StepRating.objects.values_list("rating", flat=True)) == [1, -1, -1]
    before = exported()
    assert export_again() == before


def test_at_the_first_error_it_is_asked_further(
    page: Page, live_server: Any, worker: Callable[[], None]
) -> None:
    QueueItemFactory.create(queue=QueueFactory.create(asks_further=True, options=2), solution=solution())
    page.goto(f"{live_server.url}/label/")
    page.keyboard.press("3")
    page.keyboard.press("1")
    page.get_by_text("No model is at work.").wait_for()
    page.get_by_label("nearly to the end").wait_for()
    check(page, "further-no-worker")
    page.get_by_label("What is wrong with it?").fill("It is not")
    worker()
    page.locator("#option-1").wait_for(timeout=ARRIVE)
    assert page.get_by_label("What is wrong with it?").input_value() == "It is not"
    page.locator("#option-1 .text").click()
    page.keyboard.press("q")
    page.locator("#option-1 .unsure").wait_for()
    options = page.locator("#proposed ol.options > li")
    ratings = [1, *[0] * (options.count() - 1)]  # how many there are is the model's to say, two at most
    for rating in ratings:
        page.keyboard.press("3" if rating else "2")
    state(page, "First error: step 2")
    check(page, "further")
    page.keyboard.press("Enter")  # asks for what is missing, and keeps everything
    assert page.get_by_label("not at all").evaluate("radio => radio.validity.valueMissing")
    page.get_by_label("nearly to the end").check()
    page.get_by_label("What is wrong with it?").fill("It is not three.")
    page.get_by_role("button", name="Submit").click()
    eventually(Label.objects.submitted().exists, "submitted")
    label = Label.objects.get()
    assert (label.progress, label.critique) == (3, "It is not three.")
    rows = label.ratings.order_by("step_index", "option")
    assert list(rows.values_list("step_index", "option", "rating", "flagged")) == [
        (0, 0, 1, None),
        (1, 0, -1, None),
        *[(1, n, rating, n == 1) for n, rating in enumerate(ratings, start=1)],
    ]
    before = exported()
    assert export_again() == before


@pytest.mark.usefixtures("broker")
def test_what_the_model_says_is_wrong_is_rated_by_key_or_written_over(page: Page, live_server: Any) -> None:
    queue = QueueFactory.create(asks_further=True, critiques=True, options=2)
    QueueItemFactory.create(queue=queue, solution=solution())
    page.goto(f"{live_server.url}/label/")
    page.keyboard.press("3")
    page.keyboard.press("1")
    page.get_by_label("What is wrong with it?").fill("My own")
    work_off()
    page.locator("#option-1").wait_for()
    page.locator("#critic-word .text").click()
    assert page.get_by_label("What is wrong with it?").input_value() == "My own"
    page.get_by_label("What is wrong with it?").fill("")
    page.locator("#critic-word .text").click()
    page.keyboard.press("2")
    page.locator("#critic-word [aria-checked=true]").wait_for()
    page.locator("#option-1.now").wait_for()
    check(page, "critique")
    for _ in range(page.locator("#proposed ol.options > li").count()):
        page.keyboard.press("3")
    page.locator("#standing[data-finish=found_error]").wait_for()
    page.get_by_label("most of the way").check()
    page.get_by_role("button", name="Submit").click()
    eventually(Label.objects.submitted().exists, "submitted")
    label = Label.objects.get()
    assert (label.progress, label.critique) == (2, "")
    assert label.ratings.get(source=StepRating.Source.CRITIQUE).rating == 0
    before = exported()
    assert export_again() == before


def test_step_by_step_the_solution_grows_while_one_looks(
    page: Page, live_server: Any, worker: Callable[[], None]
) -> None:
    ProblemFactory.create(text=PROBLEM, answer="3")
    put_problems(queue=QueueFactory.create(way=Way.STEP_BY_STEP, options=2), problems=1)
    worker()
    page.goto(f"{live_server.url}/label/")
    page.locator("#option-1.now").wait_for(timeout=ARRIVE)
    check(page, "options")
    n = page.locator("ol.options > li").count()  # identical proposals are one
    for _ in range(n):
        page.keyboard.press("2")
    state(page, "None is great")
    page.get_by_label("Write the next step").wait_for()
    check(page, "write")
    page.keyboard.press("u")
    state(page, "Step 1: rate each option")
    for key in ["k"] * (n - 1) + ["3"] + ["2"] * (n - 1):
        page.keyboard.press(key)
    state(page, "Go on with a great one")
    first = page.locator("#option-1 .text").inner_text()
    page.keyboard.press("Enter")
    page.locator("ol.path li", has_text=first).wait_for()
    page.locator("#option-1.now").wait_for(timeout=ARRIVE)
    page.keyboard.press("u")  # nothing is rated here: back to the step before
    state(page, "Go on with a great one")
    page.keyboard.press("Enter")
    page.locator("ol.path li", has_text=first).wait_for()
    page.reload()
    page.locator("ol.path li", has_text=first).wait_for()
    _go_on_with_the_first(page)
    page.locator("ol.path li").nth(1).wait_for()
    _go_on_with_the_first(page)
    state(page, "The solution has its answer")
    check(page, "finished")
    page.keyboard.press("Enter")
    eventually(Label.objects.submitted().exists, "submitted")
    [row] = exported()
    assert set(row["question"]) == {"problem", "ground_truth_answer"}
    assert row["label"]["finish_reason"] == "solution"
    assert row["label"]["steps"][-1]["completions"][0]["text"] == "So it is three.\n\n# Answer\n\n3"
    assert export_again() == [row]
    assert QueueItem.objects.get().done_at is not None


def _go_on_with_the_first(page: Page) -> None:
    """The first is as the model would say it; the others were drawn hotter."""
    page.locator("ol.options > li.now").wait_for(timeout=ARRIVE)
    page.keyboard.press("3")
    for _ in range(page.locator("ol.options > li").count() - 1):
        page.keyboard.press("2")
    state(page, "Go on with a great one")
    page.keyboard.press("Enter")
