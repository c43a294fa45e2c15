"""Refusals go through the translators, and what workers wrote down is told in any language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from annotate import errors
from annotate.web import records
from tests.seen import speak_dots

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _dots(monkeypatch: pytest.MonkeyPatch) -> None:
    speak_dots(monkeypatch)


def literals(node: ast.AST) -> Iterator[str]:
    """The texts of an expression, each place of an f-string as a 7."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "7" for v in node.values)
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def calls(*folders: str) -> Iterator[tuple[str, ast.Call]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield path.name, node


def test_no_refusal_is_spoken_past_the_translators() -> None:
    refusals = {one.__name__ for one in subclasses(errors.PlumblineError)} | {"PlumblineError"}
    spoken = {
        f"{where}: {text}"
        for where, call in calls("annotate/loop", "annotate/web", "annotate/api")
        if (getattr(call.func, "id", "") or getattr(call.func, "attr", "")) in refusals
        for argument in call.args
        for text in literals(argument)
        if "retrain.py" not in where  # ends a job, and is told as its message
    }
    assert not spoken


def subclasses(of: type) -> Iterator[type]:
    for one in of.__subclasses__():
        yield one
        yield from subclasses(one)


def test_every_sign_of_progress_can_be_told_in_another_language() -> None:
    said = [
        text
        for _where, call in calls("annotate/loop", "prm_backend")
        if getattr(call.func, "id", "") == "Progress" and len(call.args) == 3
        for text in literals(call.args[2])
        if not text.startswith("loss 7")  # a script's own
    ]
    assert len(said) > 12
    with translation.override("de"):
        assert [text for text in said if re.search("[A-Za-z]", records.told(text))] == []


@pytest.mark.parametrize(
    ("words", "dots"),
    [
        ("tried 3 times: OSError: no answer", "····· 3 ·····: OSError: ·· ······"),
        ("Μάρα: promoted by hand", "Μάρα: ········ ·· ····"),
        ("RuntimeError: what nobody foresaw", "RuntimeError: what nobody foresaw"),
        ("v3 is trained", "v3 ·· ·······"),
        ("scoring 5 solutions with v0 (no human labels)", "······· 5 ········· ···· v0 (·· ····· ······)"),
    ],
)
def test_what_a_worker_wrote_is_told_and_what_nobody_knows_stands(words: str, dots: str) -> None:
    with translation.override("de"):
        assert records.told(words) == dots
    with translation.override("en"):
        assert records.told(words) == words
