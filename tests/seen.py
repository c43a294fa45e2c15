"""What of a page no catalogue was asked for: a language in which every letter of a translated text is a dot.

Where a page is read in it, letters are left only of data, which here is Greek, and of texts that forgot to ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.utils import translation
from django.utils.translation import trans_real

from annotate.models import Person, Problem, QueueItem
from annotate.web import steps
from tests.factories import GradedSolutionFactory, ProblemFactory, QueueItemFactory

_KEPT = re.compile(r"(%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^>]*>|&\w+;|`[^`]*`)")  # places, tags, names of keys
_SPOKEN = ("aria-label", "title", "placeholder", "alt", "data-label", "summary")
_SILENT = {"script", "style", "code", "kbd", "math"}
# Names of things, and units; of no language or of every one.
OF_ALL = (
    r"https?://\S+|\bv\d+\b|\b[A-J]\b|\b(Plumbline|PRM|PRM800K|AUC|API|OpenAPI|JSONL?|CSV|quick|model)\b"
    r"|\b(Enter|Space|Backspace|Delete|Home|End|PageUp|PageDown)\b|\b(s|min|h|p|kB|MB|[kM])\b"
)
TEXT = "Πόσο είναι $2 + 3$ ή $\\nosuch{2}$;"
STEPS = ["Προσθέτω.", "Άρα 4.", "Το ελέγχω.", "Είναι 5.\n\n# Answer\n\n5"]
_counter = count(1)
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


def dotted(text: str) -> str:
    pieces = _KEPT.split(text)
    return "".join(p if i % 2 else re.sub(r"[^\W\d_]", "·", p) for i, p in enumerate(pieces))


class Dots(trans_real.DjangoTranslation):
    """Translates whatever it is asked for, Django's own texts too."""

    def gettext(self, message: str) -> str:
        return dotted(message) if message else ""

    def ngettext(self, singular: str, plural: str, n: int) -> str:
        return dotted(singular if n == 1 else plural)


class _Reader(HTMLParser):
    """Collects what people see or hear; identifiers in <code> and keys in <kbd> are of no language."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._open: list[tuple[str, bool]] = []

    @property
    def _silent(self) -> bool:
        return any(silent for _tag, silent in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        silent = tag in _SILENT or (given.get("lang") in ("en", "de") and tag != "html")
        if not (self._silent or ("lang" in given and silent)):
            self.said += [value for name in _SPOKEN if (value := given.get(name))]
        if tag not in _VOID:
            self._open.append((tag, silent))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.said.append(data)


def untranslated(html: str) -> Iterator[str]:
    """Each text of a page that has Latin letters left, as it stands there."""
    reader = _Reader()
    reader.feed(html)
    for text in reader.said:
        if re.search(r"[A-Za-z]", re.sub(r"`[^`]*`|\{\w+\}", "", text)):
            yield " ".join(text.split())


def speak_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let German be that language until the test is over."""
    with translation.override("de"):
        dots = Dots("de")
    monkeypatch.setitem(trans_real._translations, "de", dots)
    # What is kept of steps is kept by language, and this one takes the place of another.
    monkeypatch.setattr(steps, "_frame", lru_cache(steps._frame.__wrapped__))


def left(html: str) -> list[str]:
    """The texts of a page that still have letters once the names of things are out."""
    bare = [re.sub(OF_ALL, "", text) for text in untranslated(html)]
    return [text for text in bare if re.search("[A-Za-z]", text)]


def visitor(person: Person | None) -> Client:
    client = Client(headers={"Accept-Language": "de"})
    if person is not None:
        client.force_login(person)
    return client


def problem(**more: Any) -> Problem:
    return ProblemFactory.create(text=f"{TEXT} {next(_counter)}", **more)


def item(**more: Any) -> QueueItem:
    solution = GradedSolutionFactory.create(problem=problem(), steps=STEPS, text="\n".join(STEPS))
    return QueueItemFactory.create(solution=solution, **more)


def look(page: Client, path: str = "/label/", **data: Any) -> None:
    """Read a page, or what it answers to an act and the page after."""
    answer = page.post(path, data, follow=True) if data else page.get(path)
    texts = left(answer.content.decode())
    assert not texts, f"{path} {data}: {texts}"
