"""The labelling page at every turn, in a language of dots (tests/seen.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.loop.queues import put_problems
from annotate.models import Gold, Job, Label, Person, QualityPolicy, Queue, QueueItem, Way, Worker
from tests.factories import (
    PASSWORD,
    AnnotatorFactory,
    GoldFactory,
    GradedSolutionFactory,
    QueueFactory,
    RoundProblemFactory,
)
from tests.fakes import ScriptedGenerator
from tests.loop.labelling import labelled
from tests.loop.proposing import a_model_worker, work_off
from tests.seen import STEPS, TEXT, item, left, look, problem, speak_dots, visitor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _dots(monkeypatch: pytest.MonkeyPatch) -> None:
    speak_dots(monkeypatch)


@pytest.fixture
def ada(broker: str) -> Person:
    a_model_worker()
    return AnnotatorFactory.create(username="Άντα")


def act(page: Client, name: str, item: int, **data: Any) -> None:
    """With htmx and without it."""
    path = reverse(name, args=[item])
    answer = page.post(path, data, headers={"HX-Request": "true"})
    texts = left(answer.content.decode())
    assert not texts, f"{path} {data}: {texts}"
    look(page, path, **data, again="1")


@pytest.mark.parametrize("way", [Way.FIRST_ERROR, Way.EVERY_STEP])
def test_rating_says_nothing_of_its_own(way: Way, ada: Person) -> None:
    further = way == Way.FIRST_ERROR
    queue = QueueFactory.create(name="Ουρά", way=way, asks_further=further, critiques=further, options=2)
    only, page = item(queue=queue).pk, visitor(ada)
    look(page)
    act(page, "label_submit", only)  # refused: nothing is rated yet
    act(page, "label_rate", only, rating="0:1")
    act(page, "label_rate", only, rating="9:1")
    act(page, "label_rate", only, rating="0:7")
    act(page, "label_flag", only, unsure="0:1")
    act(page, "label_dispute", only, text="")
    act(page, "label_dispute", only, text="Όχι.")
    act(page, "label_rate", only, rating="1:-1")
    look(page)
    work_off(ScriptedGenerator(lambda _problem, n: f"Ένα {n}.\nΔύο {n}.\nΤρία {n}."))
    look(page)
    look(page, reverse("label_proposed", args=[only]))
    act(page, "label_submit", only, finish_reason="give_up", comment="")
    act(page, "label_further", only, progress="9")
    act(page, "label_undo", only, step="1")
    act(page, "label_skip", only)
    look(page, "/label/unskip/", go="1")
    act(page, "label_submit", only, finish_reason="found_error")  # refused: nothing is said further
    act(page, "label_submit", only, finish_reason="bad_problem", comment="Τίποτα.")
    look(page, reverse("work_label", args=[Label.objects.get().pk]))
    act(page, "label_rate", only, rating="0:1")  # too late
    look(page, reverse("work_take_back", args=[Label.objects.get().pk]), go="1")
    act(page, "label_rate", 999, rating="0:1")


def test_step_by_step_says_nothing_of_its_own(ada: Person) -> None:
    problem(answer="3")
    put_problems(queue=QueueFactory.create(name="Ουρά", way=Way.STEP_BY_STEP, options=2), problems=1)
    only, page = QueueItem.objects.get().pk, visitor(ada)
    look(page)
    for more in ({"status": "running", "done": 1, "total": 2}, {"status": "failed", "message": "no answer"}):
        Job.objects.filter(kind="propose").update(**more)
        look(page)
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    act(page, "label_again", only)
    look(page)
    act(page, "label_write", only, step="0", text="")
    act(page, "label_write", only, step="0", text="Αρχίζω.")
    act(page, "label_write", only, step="7", text="Αρχίζω.")
    act(page, "label_choose", only, step="1", option="0")
    act(page, "label_undo", only)
    look(page)


def test_waiting_says_nothing_of_its_own(ada: Person) -> None:
    page, queue = visitor(ada), QueueFactory.create(name="Ουρά")
    look(page)
    RoundProblemFactory.create(problem=problem(), generated_at=None)
    GradedSolutionFactory.create(problem=problem(), outcome=None, graded_at=None)
    look(page)
    Queue.objects.update(paused_at=timezone.now())
    look(page)
    QualityPolicy.objects.update_or_create(pk=1, defaults={"screening": True, "screening_items": 1})
    look(page)
    look(page, "/screening/")
    gold = GoldFactory.create(solution=item(queue=queue).solution, screens=True, explanation="Το δύο.")
    Gold.objects.update(question={"problem": TEXT, "ground_truth_answer": "5", "pre_generated_steps": STEPS})
    look(page)
    Queue.objects.update(paused_at=None)
    look(page)
    labelled(ada, 1, 1, 1, 1)
    look(page, "/screening/")
    look(page)
    Person.objects.update(suspended_at=timezone.now(), suspension="no answer")
    look(page)
    assert not gold.retired_at


def test_practice_and_settings_say_nothing_of_their_own(ada: Person) -> None:
    Person.objects.update(practised_at=None)
    page = visitor(ada)
    look(page, "/practice/")
    for rating in ("0:1", "1:1", "2:0", "3:-1"):
        look(page, "/practice/rate/", rating=rating)
    look(page, "/settings/keys/", undo="ξ", redo="ξ")
    look(page, "/settings/keys/", undo="ξξ")
    look(page, "/settings/keys/", defaults="1")
    wrong = {"old_password": "x", "new_password1": "1", "new_password2": "2"}
    look(page, "/password/", **wrong)
    look(page, "/password/", old_password=PASSWORD, new_password1="12345678", new_password2="12345678")
    look(visitor(None), "/login/", username="Άντα", password="x")
