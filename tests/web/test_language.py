"""A page speaks the language a person chose, else the one their browser asks for."""

from __future__ import annotations

import pytest
from django.test import Client

from annotate.models import Person
from tests.factories import QueueItemFactory

pytestmark = pytest.mark.django_db

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


def test_the_login_page_follows_the_browser(stranger: Client) -> None:
    html = stranger.get("/login/", headers=GERMAN).content.decode()
    assert '<html lang="de">' in html
    assert "Anmelden" in html
    plain = stranger.get("/login/", headers={"Accept-Language": "tlh"})
    assert '<html lang="en">' in plain.content.decode()
    assert "Accept-Language" in plain["Vary"]


def test_a_chosen_language_goes_before_the_browsers_and_can_be_given_up(
    as_annotator: Client, annotator: Person
) -> None:
    as_annotator.post("/settings/language/", {"language": "de"})
    html = as_annotator.get("/settings/", headers={"Accept-Language": "en"}).content.decode()
    assert "Einstellungen" in html
    assert '<option value="de" lang="de" selected>' in html
    as_annotator.post("/settings/language/", {"language": "xx; drop"})
    annotator.refresh_from_db()
    assert annotator.language == ""
    assert "Settings" in as_annotator.get("/settings/", headers={"Accept-Language": "en"}).content.decode()


def test_one_persons_language_is_not_the_next_ones(as_annotator: Client, as_manager: Client) -> None:
    QueueItemFactory.create(solution__steps=["one"])
    as_annotator.post("/settings/language/", {"language": "de"})
    assert "sehr gut" in as_annotator.get("/label/").content.decode()
    assert "Your role" not in as_annotator.get("/label/").content.decode()
    assert "Personen" not in as_manager.get("/people/").content.decode()


def test_refusals_speak_it_too(as_annotator: Client, annotator: Person) -> None:
    annotator.language = "de"
    annotator.save()
    html = as_annotator.post("/settings/keys/", {"undo": "j"}).content.decode()
    assert "„J“ kann nicht zugleich" in html
