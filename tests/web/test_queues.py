"""The page of queues: counts by arm, who holds what, pause and resume, and the labels as a file."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotate.loop import label as verbs
from annotate.models import Person, Queue
from prm_backend.types import Arm
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
)
from tests.loop.labelling import holds


def test_items_are_counted_by_the_arm_that_chose_them(as_manager: Client, annotator: Person) -> None:
    QueueItemFactory.create_batch(2)
    QueueItemFactory.create(leased_by=annotator, lease_expires_at=timezone.now() + timedelta(minutes=5))
    QueueItemFactory.create(arm=Arm.CONTROL, done_at=timezone.now())
    html = re.sub(r">\s+<", "><", as_manager.get("/queues/").content.decode())
    row = '<th scope="row">{}</th><td class="r">{}</td><td class="r">{}</td><td class="r">{}</td>'
    assert row.format("convincing wrong", 2, 1, 0) in html
    assert row.format("control", 0, 0, 1) in html
    assert row.format("all", 2, 1, 1) in html


def test_a_lease_names_its_holder_and_what_they_rate(as_manager: Client, annotator: Person) -> None:
    problem = ProblemFactory.create(text="What is <b>$\\frac12$</b> of 4?")
    QueueItemFactory.create(
        solution=GradedSolutionFactory.create(problem=problem),
        leased_by=annotator,
        lease_expires_at=timezone.now() + timedelta(minutes=5, seconds=30),
    )
    html = as_manager.get("/queues/").content.decode()
    assert "ada</th>" in html
    assert "<mfrac>" in html
    assert "&lt;b&gt;" in html
    assert "for another 5" in html
    assert "comes next" not in html
    QueueItemFactory.create(leased_by=annotator, lease_expires_at=timezone.now(), ahead=True)
    assert as_manager.get("/queues/").content.decode().count("comes next") == 1


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(as_manager: Client, annotator: Person) -> None:
    item = QueueItemFactory.create()
    as_manager.post(f"/queues/{item.queue_id}/pause/")
    assert verbs.claim(person=annotator) is None
    assert "paused for" in as_manager.get("/queues/").content.decode()
    as_manager.post(f"/queues/{item.queue_id}/resume/")
    assert verbs.claim(person=annotator) is not None


def test_a_queue_that_is_gone_is_not_found(as_manager: Client) -> None:
    assert as_manager.post("/queues/99/pause/").status_code == 404
    assert not Queue.objects.exists()


def test_the_labels_download_as_prm800k_rows(as_manager: Client, annotator: Person) -> None:
    QueueFactory.create()
    solution = GradedSolutionFactory.create(text="One.\nTwo is three.\n# Answer\n\n3")
    QueueItemFactory.create(solution=solution)
    work = verbs.claim(person=annotator)
    assert work
    verbs.rate(person=annotator, item=work.item, step_index=0, rating=1)
    verbs.rate(person=annotator, item=work.item, step_index=1, rating=-1)
    verbs.submit(person=annotator, item=work.item, finish_reason="found_error", active_ms=5000)

    response = as_manager.get("/labels.jsonl")
    assert response.streaming
    assert response["Content-Disposition"].startswith('attachment; filename="labels-')
    (line,) = b"".join(response.streaming_content).splitlines()  # type: ignore[arg-type]
    row = json.loads(line)
    assert row["labeler"] == str(annotator.labeler)
    assert [step["completions"][0]["rating"] for step in row["label"]["steps"]] == [1, -1]
    assert row["label"]["finish_reason"] == "found_error"


FORM = {
    "name": "hard",
    "way": "first_error",
    "options": 3,
    "overlap": 2,
    "overlap_share": 0.5,
    "blind_share": 0.2,
}


def test_a_manager_makes_a_queue_and_changes_it(as_manager: Client) -> None:
    empty = as_manager.get("/queues/add/").content.decode()
    assert "Make it" in empty
    assert re.findall(r'name="(\w+_share)" value="([\d.]+)"', empty) == [
        ("overlap_share", "1"),
        ("blind_share", "0.2"),
    ]
    assert as_manager.post("/queues/add/", FORM | {"asks_further": "on"})["Location"] == "/queues/"
    queue = Queue.objects.get()
    assert (queue.way, queue.asks_further, queue.options, queue.overlap) == ("first_error", True, 3, 2)
    as_manager.post(f"/queues/{queue.pk}/", FORM | {"way": "every_step", "name": "harder"})
    queue.refresh_from_db()
    assert (queue.name, queue.way, queue.asks_further) == ("harder", "every_step", False)


def test_a_refused_form_says_why_and_keeps_what_was_filled_in(as_manager: Client) -> None:
    for change, reason in (
        ({"options": 10}, "less than or equal to 9"),
        ({"overlap_share": 2}, "less than or equal to 1"),
        ({"overlap": 0}, "greater than or equal to 1"),
        ({"way": "every_step", "asks_further": "on"}, "Only where rating ends at the first error"),
        ({"name": ""}, "This field is required"),
    ):
        response = as_manager.post("/queues/add/", FORM | change)
        assert response.status_code == 400
        assert reason in response.content.decode()
    assert 'value="2"' in response.content.decode()
    assert not Queue.objects.exists()


def test_rounds_are_turned_to_another_queue(as_manager: Client) -> None:
    old, new = QueueFactory.create(takes_rounds=True), QueueFactory.create(name="hard")
    as_manager.post(f"/queues/{new.pk}/rounds/")
    assert Queue.objects.get(takes_rounds=True) == new
    assert f"Let rounds fill {old.name}" in as_manager.get("/queues/").content.decode()


def test_problems_are_put_into_a_step_by_step_queue(as_manager: Client) -> None:
    ProblemFactory.create_batch(3)
    queue = QueueFactory.create(name="grown", way="step_by_step")
    assert "3 untouched problems left" in as_manager.get("/queues/").content.decode()
    response = as_manager.post(f"/queues/{queue.pk}/problems/", {"problems": 2}, follow=True)
    assert "2 untouched problems are put into the queue grown." in response.content.decode()
    assert queue.items.count() == 2
    response = as_manager.post(f"/queues/{queue.pk}/problems/", {"problems": "many"}, follow=True)
    assert "Enter a whole number" in response.content.decode()


def test_a_manager_reassigns_what_somebody_holds(
    as_manager: Client, as_annotator: Client, annotator: Person
) -> None:
    ben = AnnotatorFactory.create(username="ben")
    item = QueueItemFactory.create()
    verbs.claim(person=annotator)
    path = f"/queues/items/{item.pk}/reassign/"
    assert path in as_manager.get("/queues/").content.decode()
    assert as_annotator.post(path, {"to": "ben"}).status_code == 403
    as_manager.post(path, {"to": "ben"})
    item.refresh_from_db()
    assert holds(ben, item)
    as_manager.post(path, {"to": ""})
    item.refresh_from_db()
    assert item.leased_by is None
    assert as_manager.post(path, {"to": "nobody"}).status_code == 404


@pytest.mark.parametrize(("model", "says"), [("starter", False), ("openai:http://127.0.0.1:9/v1#m", True)])
def test_a_new_queue_has_a_served_model_say_what_is_wrong_and_not_the_small_one(
    as_manager: Client, settings: Any, model: str, says: bool
) -> None:
    def ticked(path: str) -> bool:
        box = re.search(r'<input[^>]*name="critiques"[^>]*>', as_manager.get(path).content.decode())
        return box is not None and "checked" in box[0]

    settings.MODEL = model
    assert ticked("/queues/add/") is says
    for critiques in ({"critiques": "on"}, {}):
        as_manager.post("/queues/add/", FORM | critiques | {"name": f"queue{len(critiques)}"})
        kept = Queue.objects.get(name=f"queue{len(critiques)}")
        assert kept.critiques is ticked(f"/queues/{kept.pk}/") is bool(critiques)
