"""The quality programme in a real browser: for every eye, on a telephone, and its main paths from end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone

from annotate.loop.agreement import measure
from annotate.loop.overlap import spread
from annotate.models import Concern, Gold, Job, Label, Person, QualityPolicy, StepRating
from tests.factories import AnnotatorFactory, GoldFactory, ManagerFactory, QueueFactory, QueueItemFactory
from tests.loop.labelling import labelled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Any, Person], None]

HOSTILE = "<img src=x onerror=alert(1)>"
STEPS = [f"Call it $x$. {HOSTILE}", r"So $\frac{x}{2} = 3$, " + "and so on, " * 30, "So 6.\n\n# Answer\n\n6"]


@pytest.fixture
def mara(broker: str) -> Person:
    return ManagerFactory.create(username="mara")


@pytest.fixture
def house(mara: Person) -> Label:
    """Gold, a dispute, a decision, concerns, a measurement, hints, somebody paused and somebody not admitted."""
    ada, ben = AnnotatorFactory.create(username="ada"), AnnotatorFactory.create(username="ben")
    queue = QueueFactory.create(overlap=2)
    for _ in range(11):
        QueueItemFactory.create(queue=queue, solution__steps=STEPS, solution__problem__answer="6")
    spread(queue=queue)
    label = labelled(ada, 1, -1)
    labelled(ben, 1, 1, 1)
    for _ in range(10):
        labelled(ada, 1, -1)
        labelled(ben, 1, -1)
    Label.objects.filter(annotator=ada).update(hinted=True, hint=1)
    Label.objects.filter(pk=label.pk).update(
        progress=2, critique=f"It halves $x$ twice. {HOSTILE} " + "long" * 40
    )
    StepRating.objects.create(label=label, step_index=1, source="critique", text="It is no half.", rating=0)
    for option, text in enumerate((STEPS[1], f"{HOSTILE} So 6.\n\n# Answer\n\n6"), start=1):
        StepRating.objects.create(label=label, step_index=1, option=option, text=text, rating=1)
    Label.objects.filter(annotator=ben).update(hinted=False, hint=1)
    GoldFactory.create(explanation=HOSTILE)
    GoldFactory.create(screens=True, retired_at=timezone.now())
    for kind, step in (("answer", None), ("problem", None), ("unsure", 0)):
        Concern.objects.create(
            kind=kind, label=label, problem=label.problem, step_index=step, text=f"{HOSTILE} " + "long" * 40
        )
    Job.objects.create(kind="agreement", status="done", finished_at=timezone.now(), result=measure())
    QualityPolicy(screening=True, gold_every=10).save()
    Person.objects.filter(pk=ben.pk).update(suspended_at=timezone.now(), suspension="agreed with 0 of 3")
    return label


def pages(label: Label) -> list[str]:
    concerns = Concern.objects.values_list("pk", flat=True)
    fixed = ["", "agreement/", "hints/", "gold/", "disputes/", "policy/"]
    return [
        *(f"/quality/{name}" for name in fixed),
        f"/quality/gold/of-label/{label.pk}/",
        *(f"/quality/gold/{pk}/" for pk in Gold.objects.values_list("pk", flat=True)[:1]),
        "/queues/add/",
        f"/quality/disputes/{label.solution_id}/",
        "/inbox/",
        *(f"/inbox/{pk}/" for pk in concerns),
        "/queues/",
        "/people/",
        f"/people/{label.annotator_id}/",
        f"/labels/{label.pk}/",
        "/problems/?q=a",
        f"/problems/{label.problem_id}/",
        "/instructions/",
    ]


def complaints(page: Page) -> list[Any]:
    found = Axe().run(page).response["violations"]
    return [(v["id"], [node["target"] for node in v["nodes"]]) for v in found]


@pytest.fixture(params=["light", "dark"])
def themed(request: Any, browser: Browser) -> Iterator[Page]:
    """A page whose console stays silent: there a Content-Security-Policy complains, and there alerts would show."""
    context = browser.new_context(color_scheme=request.param)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: (said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert said == []


def test_axe_finds_nothing_and_nothing_hostile_runs(
    themed: Page, live_server: Any, house: Label, mara: Person, sign_in: SignIn
) -> None:
    sign_in(themed, mara)
    for path in pages(house):
        themed.goto(f"{live_server.url}{path}")
        assert complaints(themed) == [], path
        assert themed.locator("img").count() == 0
        themed.set_viewport_size({"width": 360, "height": 740})
        assert themed.evaluate("document.documentElement.scrollWidth") <= 360, path
        themed.set_viewport_size({"width": 1200, "height": 800})


def test_a_screening_from_its_first_question_to_its_result(
    themed: Page, live_server: Any, mara: Person, sign_in: SignIn
) -> None:
    QueueFactory.create()
    QualityPolicy(screening=True, screening_items=2, screening_attempts=1).save()
    GoldFactory.create_batch(2, screens=True, solution__steps=STEPS, explanation="Half of six is three.")
    sign_in(themed, AnnotatorFactory.create(username="ada"))
    themed.goto(f"{live_server.url}/label/")
    for number in (1, 2):
        themed.get_by_text(f"Screening: solution {number} of 2.").wait_for()
        assert complaints(themed) == []
        themed.keyboard.press("1")
        themed.locator("#state", has_text="First error: step 1").wait_for()
        themed.keyboard.press("Enter")
    themed.get_by_role("heading", name="The screening is over").wait_for()
    assert complaints(themed) == []
    themed.get_by_role("link", name="See how it went").first.click()
    themed.get_by_text("0 of 2 agree").wait_for()
    assert themed.get_by_text("Half of six is three.").count() == 2
    assert complaints(themed) == []


@pytest.fixture
def at(page: Page, live_server: Any, mara: Person, sign_in: SignIn) -> Callable[[str], Page]:
    sign_in(page, mara)

    def go(path: str) -> Page:
        page.goto(f"{live_server.url}{path}")
        return page

    return go


def test_gold_in_two_clicks_and_who_is_paused_goes_on(at: Callable[[str], Page], house: Label) -> None:
    page = at("/quality/gold/")
    page.get_by_role("link", name="Make gold of label").first.click()
    page.get_by_role("button", name="Make gold").click()
    page.get_by_text("is made.").wait_for()
    assert Gold.objects.exclude(source=None).get().accepted in ([1], [-1])
    page.get_by_role("link", name="Annotators").click()
    page.get_by_role("button", name="Lift the pause of ben").click()
    page.get_by_text("ben may label again").wait_for()


def test_a_dispute_is_decided_step_by_step(at: Callable[[str], Page], house: Label, mara: Person) -> None:
    page = at("/quality/disputes/")
    page.get_by_role("link", name="Decide about solution").click()
    page.get_by_role("group", name="Decision on step 2").get_by_label("okay").check()
    page.get_by_role("group", name="Decision on step 3").get_by_label("bad").check()
    page.get_by_role("button", name="As marked").click()
    page.get_by_text("Decided.").wait_for()
    decision = Label.objects.get(adjudicates=True)
    assert list(decision.ratings.values_list("rating", flat=True)) == [1, 0, -1]
    assert decision.annotator == mara


def test_a_disputed_answer_is_corrected_and_its_annotator_sees_the_reply(
    at: Callable[[str], Page], house: Label, browser: Browser, live_server: Any, sign_in: SignIn
) -> None:
    concern = Concern.objects.get(kind="answer")
    page = at(f"/inbox/{concern.pk}/")
    page.get_by_label("The right answer").fill("7")
    page.get_by_label("To ada").fill("You were right.")
    page.get_by_role("button", name="Correct the answer").click()
    page.get_by_text("will be graded anew").wait_for()
    house.problem.refresh_from_db()
    assert house.problem.answer == "7"
    context = browser.new_context()
    sign_in(context, house.annotator)
    mine = context.new_page()
    mine.goto(f"{live_server.url}/work/")
    mine.get_by_text("You were right.").wait_for()
    context.close()


def test_a_measurement_is_asked_for_and_the_policy_changed(at: Callable[[str], Page], house: Label) -> None:
    page = at("/quality/agreement/")
    page.get_by_role("button", name="Measure now").click()
    page.get_by_text("A worker measures it").first.wait_for()
    page.get_by_role("link", name="Policy").click()
    page.get_by_label("One gold item in every").fill("7")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The policy is changed.").wait_for()
    assert QualityPolicy.current().gold_every == 7
