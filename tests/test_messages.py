"""Every language is complete, fits what it translates, and is compiled from what is in the .po."""

from __future__ import annotations

import re
from pathlib import Path

import polib
import pytest

from tests.messages import catalogues, compiled, texts

UPDATE = "run `python -m tests.messages`, translate what is empty, and run it again"


def test_texts_are_found_in_templates_partials_and_code() -> None:
    found = {singular for singular, _plural in texts()}
    assert {"Rate the steps", "after the error", "Rate step %(number)s", "Your keys are saved."} <= found
    assert len(found) > 300


@pytest.mark.parametrize("path", catalogues(), ids=lambda path: path.parts[-3])
def test_no_text_lacks_a_translation(path: Path) -> None:
    translated = {(entry.msgid, entry.msgid_plural): entry for entry in polib.pofile(str(path))}
    missing = [
        text
        for text in texts()
        if text not in translated
        or not (all(translated[text].msgstr_plural.values()) if text[1] else translated[text].msgstr)
        or "fuzzy" in translated[text].flags
    ]
    assert not missing, UPDATE
    assert set(translated) == set(texts()), UPDATE


@pytest.mark.parametrize("path", catalogues(), ids=lambda path: path.parts[-3])
def test_a_translation_has_the_same_places_for_figures(path: Path) -> None:
    def places(text: str) -> list[str]:
        return sorted(re.findall(r"%\(\w+\)s|<[^>]*>", text))

    for entry in polib.pofile(str(path)):
        for said in entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]:
            assert places(said) == places(entry.msgid), entry.msgid


@pytest.mark.parametrize("path", catalogues(), ids=lambda path: path.parts[-3])
def test_the_compiled_file_is_fresh(path: Path) -> None:
    assert path.with_suffix(".mo").read_bytes() == compiled(path), UPDATE
