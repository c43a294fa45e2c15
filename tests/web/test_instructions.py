"""The rating rules: versions that only grow, read in a drawer, written by managers; and replies in My work."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from annotate.loop.label import submit
from annotate.models import Concern, Instructions, Label, Person
from tests.factories import AnnotatorFactory
from tests.loop.labelling import begin, rate_all

pytestmark = pytest.mark.django_db


def test_a_new_house_has_the_first_rules_with_examples(as_annotator: Client) -> None:
    html = as_annotator.get("/instructions/").content.decode()
    assert "<strong>great</strong>" in html
    assert "<table>" in html
    assert html.count("</math>") > 5
    assert "could not be shown" not in html
    assert "**" not in html
    drawer = as_annotator.get("/instructions/", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in drawer
    assert "<strong>great</strong>" in drawer


def test_a_manager_publishes_a_version_and_the_old_one_stays(as_manager: Client, manager: Person) -> None:
    first = Instructions.objects.current()
    shown = as_manager.post("/instructions/edit/", {"text": "Be **kind**.", "preview": "1"})
    assert "Be <strong>kind</strong>." in shown.content.decode()
    assert Instructions.objects.current() == first
    as_manager.post("/instructions/edit/", {"text": "Be **kind**."})
    new = Instructions.objects.current()
    assert (new.number, new.text, new.created_by) == (first.number + 1, "Be **kind**.", manager)
    assert "Be <strong>kind</strong>." in as_manager.get("/instructions/").content.decode()
    assert "<table>" in as_manager.get(f"/instructions/{first.number}/").content.decode()


@pytest.mark.parametrize(
    ("text", "why"), [(" ", "cannot be empty"), ("x" * 50_001, "is the most"), (None, "Nothing has changed")]
)
def test_what_is_no_new_version_is_refused_and_stays_typed(
    as_manager: Client, text: str | None, why: str
) -> None:
    text = Instructions.objects.current().text if text is None else text
    html = as_manager.post("/instructions/edit/", {"text": text}).content.decode()
    assert why in html
    assert text.strip()[:20] in html
    assert Instructions.objects.count() == 1


def test_my_work_shows_a_managers_reply_new_once_and_never_somebody_elses(
    as_annotator: Client, annotator: Person
) -> None:
    for person in (annotator, AnnotatorFactory.create()):
        work = rate_all(person, begin(person), 1)
        submit(person=person, item=work.item, finish_reason="bad_problem", comment="no figure")
        Concern.objects.filter(label__annotator=person).update(
            action="replied", reply=f"Thank you, {person.username}.", resolved_at=timezone.now()
        )
    html = as_annotator.get("/work/").content.decode()
    assert "Thank you, ada." in html
    assert html.count("Thank you") == 1
    assert "<b>New</b>" in html
    assert "<b>New</b>" not in as_annotator.get("/work/").content.decode()


def test_the_last_label_can_be_taken_back_from_my_work(as_annotator: Client, annotator: Person) -> None:
    label = submit(person=annotator, item=rate_all(annotator, begin(annotator), -1).item)
    assert f"/work/{label.pk}/take-back/" in as_annotator.get("/work/").content.decode()
    seen = as_annotator.get(f"/work/{label.pk}/").content.decode()
    assert "Made under version 1" in seen
    sent = {"submitted": label.submitted_at.isoformat()}
    assert as_annotator.post(f"/work/{label.pk}/take-back/", sent)["Location"] == "/label/"
    assert Label.objects.drafts().get() == label
    again = as_annotator.get("/label/").content.decode()
    assert 'value="0:-1" aria-checked="true"' in again


def test_what_cannot_be_taken_back_is_said(as_annotator: Client, annotator: Person) -> None:
    theirs = AnnotatorFactory.create()
    label = submit(person=theirs, item=rate_all(theirs, begin(theirs), -1).item)
    response = as_annotator.post(f"/work/{label.pk}/take-back/", {"submitted": "nonsense"}, follow=True)
    assert "There is no such label of yours." in response.content.decode()
    assert Label.objects.submitted().get() == label


def test_the_rules_we_ship_are_read_in_ones_language_and_managers_own_as_written(
    as_annotator: Client,
) -> None:
    german = {"Accept-Language": "de"}
    assert "Sie bewerten eine Lösung" in as_annotator.get("/instructions/", headers=german).content.decode()
    assert "You rate a solution" in as_annotator.get("/instructions/").content.decode()
    Instructions.objects.create(number=2, text="Be kind.")
    assert "Be kind." in as_annotator.get("/instructions/", headers=german).content.decode()
    assert "Sie bewerten" in as_annotator.get("/instructions/1/", headers=german).content.decode()
