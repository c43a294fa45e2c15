"""The loop as two people see it: one rates by keyboard and submits, the other sees version 1 promoted.

Real PostgreSQL, Valkey, worker processes and a (tiny) language model under the PRM; tests/test_loop.py tells the same
story without a browser. Most labels are given by a third person through the verbs, so that it does not take all day.
PICTURES=docs/pictures takes the README's pictures on the way.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from annotate.loop.label import claim, rate, submit
from annotate.models import Label, Person, PRMStatus, PRMVersion, Problem, QueueItem, Round
from prm_backend.types import Outcome
from tests.factories import PASSWORD, AnnotatorFactory, ManagerFactory
from tests.student_server import student
from tests.tiny import tiny_model_dir
from tests.waiting import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]

PROBLEMS, SAMPLES = 16, 8
TEXT = "A ribbon is cut in two; the parts are {a} and {b} cm long. How long was it? (What is {a} + {b}?)"
LABELLED, BY_KEYBOARD = 112, 3
PATIENCE = 400_000  # milliseconds, on a busy machine


@pytest.fixture
def sign_in_by_hand(browser: Browser, live_server: Any) -> Iterator[Callable[[Person], Page]]:
    """A browser of one's own, through the login page."""
    contexts = []

    def go(person: Person) -> Page:
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(live_server.url)
        page.get_by_label("Name").fill(person.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Sign out").wait_for()
        return page

    yield go
    for context in contexts:
        context.close()


def test_an_annotator_rates_by_keyboard_and_a_manager_sees_version_1_promoted(
    start_worker: Callable[..., subprocess.Popen[bytes]],
    sign_in_by_hand: Callable[[Person], Page],
    live_server: Any,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    base = str(tiny_model_dir(tmp_path / "base", hidden=64))
    here = {"PRM_BASE": base, "BOOTSTRAP_SOLUTIONS": "16", "OMP_NUM_THREADS": "1"}
    settings.PRM_BASE = base
    with student() as url:
        settings.MODEL = f"openai:{url}#student"
        mara = sign_in_by_hand(ManagerFactory.create(username="mara"))
        mara.get_by_text("No model worker has answered yet").wait_for()
        for queue in ("quick", "model"):
            start_worker(queue, **here)
        mara.get_by_text("No model worker has answered yet").wait_for(state="detached")

        _import_problems(mara, live_server.url, tmp_path)
        _start_a_round(mara, live_server.url)
        mara.locator("#version-0", has_text="serving").get_by_text("no human labels").wait_for()
        eventually(lambda: not Round.objects.running().exists(), "round 1 is chosen from")

        ada = AnnotatorFactory.create(username="ada")
        _rate_by_keyboard(sign_in_by_hand(ada), ada)
        row = mara.get_by_role("row", name="ada")
        row.get_by_role("cell", name=str(BY_KEYBOARD), exact=True).wait_for()
        _label_the_rest(AnnotatorFactory.create(username="ben"))

        mara.get_by_role("button", name="Retrain now").click()
        mara.get_by_text("Retraining is asked for.").wait_for()
        mara.locator("#version-1", has_text="serving").wait_for()
        mara.get_by_role("heading", name="Round 1").get_by_text("PRM v1 chooses").wait_for()
        _picture(mara, "progress")

    v1 = PRMVersion.objects.get(number=1)
    assert (v1.status, v1.outcome_only) == (PRMStatus.PROMOTED, False)
    assert v1.snapshot
    assert v1.snapshot.n_labels == LABELLED
    mara.get_by_role("link", name="Report on v1").click()
    mara.get_by_text("better by held-out").wait_for()
    mara.get_by_role("img", name="Loss while training").wait_for()
    assert mara.get_by_role("button", name="Roll back to v0").is_visible()
    _picture(mara, "version")


def _import_problems(mara: Page, url: str, folder: Path) -> None:
    file = folder / "sums.jsonl"
    rows = ({"problem": TEXT.format(a=n, b=n + 3), "answer": str(2 * n + 3)} for n in range(PROBLEMS))
    file.write_text("\n".join(map(json.dumps, rows)))
    mara.goto(f"{url}/problems/upload/")
    mara.get_by_label("Files of problems").set_input_files(file)
    mara.get_by_role("button", name="Import").click()
    mara.get_by_text(f"{PROBLEMS} added, 0 known already, 0 refused.").wait_for()
    # more are held out than the usual tenth, so that the criterion has labels to judge by
    for problem in Problem.objects.all():
        Problem.objects.filter(pk=problem.pk).update(held_out=problem.pk % 16 < 9)


def _start_a_round(mara: Page, url: str) -> None:
    mara.goto(f"{url}/progress/")
    mara.get_by_label("Problems", exact=True).fill(str(PROBLEMS))
    mara.get_by_label("Samples each").fill(str(SAMPLES))
    mara.get_by_label("To label each").fill(str(SAMPLES))
    mara.get_by_role("button", name="Start").click()
    mara.get_by_text("Round 1 has started.").wait_for()


def _rate_by_keyboard(page: Page, ada: Person) -> None:
    page.locator("#work[data-item]").wait_for()
    page.wait_for_load_state("load")  # the keys are bound by then; a key before that is nobody's
    for done in range(BY_KEYBOARD):
        item = QueueItem.objects.select_related("solution").get(leased_by=ada, ahead=False, done_at=None)
        right = item.solution.outcome == Outcome.CORRECT
        page.keyboard.press("3")
        if not done:
            page.locator("#state", has_text="1 of 2 rated").wait_for()
            _picture(page, "label")
        page.keyboard.press("3" if right else "1")
        page.locator("#state", has_text="All steps rated" if right else "First error: step 2").wait_for()
        page.keyboard.press("Enter")
        eventually(lambda item=item: Label.objects.submitted().filter(queue_item=item).exists(), "submitted")
        page.locator(f"#work[data-item]:not([data-item='{item.pk}'])").wait_for()
        assert Label.objects.submitted().count() == done + 1


def _label_the_rest(person: Person) -> None:
    """A careful person: rates up to the first wrong step, and submits."""
    for _ in range(LABELLED - BY_KEYBOARD):
        work = claim(person=person)
        assert work is not None
        right = QueueItem.objects.get(pk=work.item).solution.outcome == Outcome.CORRECT
        rate(person=person, item=work.item, step_index=0, rating=1)
        rate(person=person, item=work.item, step_index=1, rating=1 if right else -1)
        submit(person=person, item=work.item)


def _picture(page: Page, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        page.set_viewport_size({"width": 1100, "height": 760})
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=f"{folder}/{name}.png")
