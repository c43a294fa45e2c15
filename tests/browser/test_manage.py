"""Managers' pages in a real browser: live, by keyboard, without JavaScript, on a telephone, for every eye."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone

from annotate.models import Job, Label, Person, PRMVersion, Queue, Round, Worker
from prm_backend.types import Arm
from tests.factories import (
    PASSWORD,
    AnnotatorFactory,
    GradedSolutionFactory,
    ManagerFactory,
    PRMVersionFactory,
    ProblemFactory,
    QueueItemFactory,
    RoundProblemFactory,
    ServingPRMFactory,
    SnapshotFactory,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGES = ["/progress/", "/versions/", "/versions/1/", "/versions/0/", "/problems/", "/problems/upload/"]
PAGES += [
    "/problems/undecided/",
    "/queues/",
    "/queues/add/",
    "/people/",
    "/password/",
    "/api/docs/",
    "/nowhere/",
]
QUESTION = {
    "ground_truth_answer": "3",
    "ground_truth_solution": None,
    "pre_generated_steps": ["One."],
    "pre_generated_answer": "3",
    "pre_generated_verifier_score": 0.5,
}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture
def mara(broker: str) -> Person:
    return ManagerFactory.create(username="mara")


@pytest.fixture
def house(mara: Person) -> None:
    """Something on every page, some of it hostile, some of it very long."""
    now = timezone.now()
    problem = ProblemFactory.create(text=f"{HOSTILE} How long is $\\frac{{3}}{{5}}$ of it? " + "long" * 60)
    metrics = {"log_likelihood": -0.5, "step_accuracy": 0.7, "first_error_accuracy": 0.4, "steps": 301}
    curve = [{"epoch": 1 + n // 20, "step": n, "loss": 1 / (1 + n)} for n in range(40)]
    v0 = PRMVersionFactory.create(number=0, status="retired", promoted_at=now, report={"metrics": metrics})
    ServingPRMFactory.create(
        number=1,
        snapshot=SnapshotFactory.create(),
        config={"trained_layers": 2},
        report={"metrics": metrics, "serving": {"number": 0, "metrics": metrics}, "curve": curve},
        decision="better by held-out mean log-likelihood " + "x" * 90,
    )
    PRMVersionFactory.create(number=2, snapshot=SnapshotFactory.create())
    ada = AnnotatorFactory.create(username="ada")
    for arm in Arm:
        item = QueueItemFactory.create(
            solution=GradedSolutionFactory.create(problem=problem), arm=arm, prm=v0, done_at=now
        )
        Label.objects.create(
            problem=problem,
            solution=item.solution,
            annotator=ada,
            queue_item=item,
            question=QUESTION | {"problem": problem.text},
            total_time=99_000,
            finish_reason="found_error",
            submitted_at=now,
        )
    QueueItemFactory.create(leased_by=ada, lease_expires_at=now + timedelta(minutes=9), prm=v0)
    said = {"grader": "judge x", "outcome": "undecided", "reason": f"{HOSTILE} {'so' * 200}"}
    GradedSolutionFactory.create(
        problem=problem,
        text=f"So.\n# Answer\n\n{HOSTILE}{'9' * 300}",
        outcome="undecided",
        grade_opinions=[said],
    )
    ProblemFactory.create(answer=None, kind="code", tests=["assert f(1) == 2"])
    AnnotatorFactory.create(username="a-very-long-name-" * 6, is_active=False)
    running = {"status": "running", "done": 40, "total": 100, "message": "epoch 1 of 2", "started_at": now}
    Job.objects.create(kind="retrain", **running)
    file = {"name": f"{HOSTILE}.jsonl", "path": "uploads/x.jsonl", "size": 100}
    Job.objects.create(kind="import_problems", key="a", payload=file, **running)
    refused = [[3, f"not JSON: {HOSTILE}"], [4, "the problem is empty"]]
    found = {"added": 7000, "known": 2, "n_refused": 400, "refused": refused}
    Job.objects.create(
        kind="import_problems", key="b", payload=file, status="done", finished_at=now, result=found
    )
    Job.objects.create(kind="score", status="failed", finished_at=now, message=f"RuntimeError: {HOSTILE}")
    Worker.objects.create(name="q", queues="quick", started_at=now, seen_at=now - timedelta(hours=2))


@pytest.fixture
def at(
    page: Page, live_server: Any, mara: Person, sign_in: Callable[[Page, Person], None]
) -> Callable[[str], Page]:
    """`at("/progress/")`: the manager's browser on that page."""
    sign_in(page, mara)

    def go(path: str) -> Page:
        page.goto(f"{live_server.url}{path}")
        return page

    return go


@pytest.fixture(params=["light", "dark"])
def themed(
    request: Any, browser: Browser, mara: Person, sign_in: Callable[[Any, Person], None]
) -> Iterator[Page]:
    """A page whose console stays silent: there a Content-Security-Policy complains, and there alerts would show."""
    context = browser.new_context(color_scheme=request.param)
    sign_in(context, mara)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert [text for text in said if "404" not in text] == []  # /nowhere/ is meant to be


def test_axe_finds_nothing_and_nothing_hostile_runs(themed: Page, live_server: Any, house: None) -> None:
    for path in PAGES:
        themed.goto(f"{live_server.url}{path}")
        found = Axe().run(themed).response["violations"]
        assert [(v["id"], [node["target"] for node in v["nodes"]]) for v in found] == [], path
        assert themed.locator("img").count() == 0


def test_the_admin_keeps_to_the_policy_too(themed: Page, live_server: Any, house: None) -> None:
    label = Label.objects.latest("pk").pk
    for path in ("", "annotate/job/", "annotate/problem/?q=long", f"annotate/label/{label}/change/"):
        themed.goto(f"{live_server.url}/admin/{path}")
        assert themed.get_by_text("Plumbline").first.is_visible()
        assert themed.locator("img[src=x]").count() == 0


def test_no_page_scrolls_sideways_on_a_telephone(at: Callable[[str], Page], house: None, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for path in PAGES:
        assert at(path).evaluate("document.documentElement.scrollWidth") <= 360, path


def test_figures_follow_the_loop_without_a_reload_a_jump_or_a_lost_focus(at: Callable[[str], Page]) -> None:
    RoundProblemFactory.create_batch(5)  # as many rounds as the page shows, so that none is added later
    page = at("/progress/")
    page.evaluate("window.mark = 'same page'")
    button = page.get_by_role("button", name="Retrain now")
    button.focus()
    rounds = page.get_by_role("heading", name="Rounds")
    before = rounds.bounding_box()
    RoundProblemFactory.create_batch(12)
    Job.objects.create(kind="generate", status="running", done=1, total=8, started_at=timezone.now())
    page.locator(".stage", has_text="to generate").get_by_text("17").wait_for(timeout=10_000)
    page.get_by_role("progressbar", name="Sample solutions").wait_for()
    assert page.evaluate("window.mark") == "same page"
    assert page.evaluate("document.activeElement.id") == "retrain"
    assert rounds.bounding_box() == before


def test_polling_rests_while_nobody_looks_and_wakes_at_once(at: Callable[[str], Page], page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "seen=" in request.url else None)
    at("/progress/")
    page.wait_for_timeout(3_500)
    assert asked
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.wait_for_timeout(300)
    before = len(asked)
    page.wait_for_timeout(7_000)
    assert len(asked) == before
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(500)
    assert len(asked) == before + 1


def test_a_manager_signs_in_and_starts_a_round_by_keyboard_alone(
    page: Page, live_server: Any, mara: Person
) -> None:
    ProblemFactory.create_batch(5)
    page.goto(live_server.url)
    page.keyboard.type("mara")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="No round yet").wait_for()
    page.get_by_label("Problems", exact=True).focus()
    for number in ("4", "2", "1"):
        page.keyboard.press("Control+a")
        page.keyboard.type(number)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Round 1 has started.").wait_for()
    page.get_by_role("heading", name="Round 1").wait_for()
    new = Round.objects.get()
    assert (new.places.count(), new.samples_per_problem, new.quota) == (4, 2, 1)


def test_buttons_act_in_place_and_say_what_they_did(at: Callable[[str], Page], house: None) -> None:
    page = at("/progress/")
    page.evaluate("window.mark = 'same page'")
    page.get_by_role("button", name="Pause default").click()
    page.get_by_text("The queue default is paused").wait_for()
    page.get_by_role("button", name="Resume default").wait_for()
    page.get_by_role("button", name="Cancel Retrain").click()
    page.get_by_text("“Retrain the PRM” will stop.").wait_for()
    page.get_by_role("button", name="Roll back to v0").click()
    page.get_by_text("v0 serves again.").wait_for()
    assert page.evaluate("window.mark") == "same page"
    assert Queue.objects.get().paused_at
    serving = PRMVersion.objects.serving()
    assert serving
    assert serving.number == 0


def test_everything_works_without_javascript(
    browser: Browser, live_server: Any, mara: Person, sign_in: Callable[[Any, Person], None], tmp_path: Any
) -> None:
    ProblemFactory.create_batch(2)
    context = browser.new_context(java_script_enabled=False)
    sign_in(context, mara)
    page = context.new_page()
    page.goto(f"{live_server.url}/progress/")
    page.get_by_role("button", name="Start").click()
    page.get_by_text("Round 1 has started.").wait_for()
    page.get_by_role("button", name="Retrain now").click()
    page.get_by_text("Retraining is asked for.").wait_for()

    page.goto(f"{live_server.url}/people/")
    page.get_by_label("Name").fill("ben")
    page.get_by_role("button", name="Add").click()
    assert len(page.locator("#password").inner_text()) == 19

    file = tmp_path / "two.jsonl"
    file.write_text('{"problem": "1 + 1?", "answer": "2"}\n')
    page.goto(f"{live_server.url}/problems/upload/")
    page.get_by_label("Files of problems").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    page.get_by_text("two.jsonl has arrived").wait_for()
    context.close()
    assert set(Job.objects.values_list("kind", flat=True)) == {"generate", "snapshot", "import_problems"}


def test_a_lost_session_is_told_instead_of_swapping_the_login_page_in(at: Callable[[str], Page]) -> None:
    page = at("/progress/")
    page.context.clear_cookies()
    page.get_by_text("You are signed out.").wait_for(timeout=10_000)
    assert page.get_by_role("heading", name="No round yet").is_visible()
    assert page.get_by_label("Password").count() == 0


def test_the_labels_download(at: Callable[[str], Page], house: None) -> None:
    page = at("/queues/")
    with page.expect_download() as started:
        page.get_by_role("link", name="Download as PRM800K JSONL").click()
    assert started.value.suggested_filename.startswith("labels-")
