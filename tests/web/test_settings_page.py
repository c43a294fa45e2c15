"""`/settings/`: each key of the labelling page can be chosen; what cannot be is refused with words."""

from __future__ import annotations

import pytest
from django.test import Client

from annotate.loop.keymap import DEFAULTS, BadKeys, choose_keys, keys_of
from annotate.models import Person
from tests.factories import QueueItemFactory

pytestmark = pytest.mark.django_db


def test_nobody_has_chosen_and_the_defaults_do_not_clash(annotator: Person) -> None:
    assert keys_of(annotator) == DEFAULTS
    assert len(set(DEFAULTS.values())) == len(DEFAULTS)


def test_a_chosen_key_is_kept_shown_and_lost_by_what_had_it(as_annotator: Client, annotator: Person) -> None:
    assert as_annotator.post("/settings/keys/", {"undo": "X", "submit": " ", "great": "é"}).status_code == 302
    annotator.refresh_from_db()
    assert annotator.keymap == {"undo": "x", "submit": "Space", "great": "é"}
    QueueItemFactory.create(solution__steps=["one"])
    html = as_annotator.get("/label/").content.decode()
    assert 'Undo <kbd aria-hidden="true">X</kbd>' in html
    assert "&quot;x&quot;: &quot;undo&quot;" in html
    assert "&quot;u&quot;" not in html


def test_two_actions_on_one_key_are_refused_with_words_and_stay_typed(
    as_annotator: Client, annotator: Person
) -> None:
    response = as_annotator.post("/settings/keys/", {"undo": "j"})
    html = response.content.decode()
    assert response.status_code == 400
    assert "“J” cannot be both “next step” and “undo”." in html
    assert 'id="key-undo" name="undo" value="J"' in html
    annotator.refresh_from_db()
    assert annotator.keymap == {}


@pytest.mark.parametrize("key", ["ab", "\u0000", "F1"])
def test_what_is_no_key_is_refused(annotator: Person, key: str) -> None:
    with pytest.raises(BadKeys, match="is no key"):
        choose_keys(person=annotator, keys={"undo": key})


def test_the_defaults_come_back_with_one_button(as_annotator: Client, annotator: Person) -> None:
    choose_keys(person=annotator, keys={"undo": "x", "keys": "h"})
    as_annotator.post("/settings/keys/", {"undo": "x", "defaults": "1"})
    annotator.refresh_from_db()
    assert annotator.keymap == {}


def test_a_manager_has_settings_without_keys(as_manager: Client) -> None:
    html = as_manager.get("/settings/").content.decode()
    assert "Change your password" in html
    assert "keys-form" not in html
