"""How a solution is cut into steps: named, versioned policies. A PRM reads only text cut as it was in training.

Each policy keeps all ink, in order, and the indentation of each step's first line; cutting what it joined gives the
same steps again. But for Python, a final
`# Answer` block belongs to the last step, as in PRM800K.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from prm_backend.text.steps import indented, join_steps, split_steps, storable, take_answer
from prm_backend.types import NEWLINE

_LONGEST_PROGRAM = 100_000  # characters; longer ones are one step, since parsing them may take for ever


@dataclass(frozen=True)
class Segmentation:
    """`name` ends in a version, which rises when `split` cuts elsewhere; `split` takes text, `join` steps it made."""

    name: str
    split: Callable[[str], tuple[str, ...]]
    join: Callable[[Sequence[str]], str]


class OtherSegmentation(ValueError):
    """Text was cut by another policy than the PRM was trained on; the message names both."""


def segmentation(name: str) -> Segmentation:
    """The policy of that name. ValueError names those there are."""
    if name not in SEGMENTATIONS:
        raise ValueError(f"there is no segmentation {name!r}; there are {', '.join(SEGMENTATIONS)}")
    return SEGMENTATIONS[name]


def require_same(own: str, given: str) -> None:
    """Raise OtherSegmentation unless text cut by `given` is what a PRM trained on `own` reads."""
    if own != given:
        raise OtherSegmentation(
            f"this PRM was trained on steps cut by {own!r}, these were cut by {given!r}: its scores would mean "
            f"nothing. Cut the text with prm_backend.text.segmentation.segmentation({own!r}).split and pass "
            f"segmentation={own!r}"
        )


def _blank_lines(text: str) -> tuple[str, ...]:
    return _before_answer(text, lambda body: _paragraphs(body, []))


def _latex_paragraphs(text: str) -> tuple[str, ...]:
    return _before_answer(text, lambda body: _paragraphs(body, _formulas(body)))


def _numbered(text: str) -> tuple[str, ...]:
    return _before_answer(text, lambda body: _pieces(body, [m.start() for m in _STEP_HEADER.finditer(body)]))


def _sentences(text: str) -> tuple[str, ...]:
    return _before_answer(text, lambda body: _pieces(body, list(_sentence_starts(body))))


def _python(text: str) -> tuple[str, ...]:
    """Top-level statements, each with the comments above it; a text that is no Python is one step."""
    text = _normal(text).strip("\n")
    lines = text.split("\n")
    try:
        body = ast.parse(text).body if len(text) <= _LONGEST_PROGRAM else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    # Statements that share a line stay together; comments after the last one are its.
    ends = [node.end_lineno or 0 for node, after in pairwise(body) if after.lineno > (node.end_lineno or 0)]
    pieces = ["\n".join(lines[a:b]).strip("\n") for a, b in pairwise([0, *ends, len(lines)])]
    return tuple(piece for piece in pieces if piece.strip())


_STEP_HEADER = re.compile(r"^[ \t]*(?:[*_#]+[ \t]*)?step[ \t]+\d+\b", re.IGNORECASE | re.MULTILINE)
_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*\n)+")
# Pandoc's rule for one dollar: ink right after the first and right before the second, no digit after that.
_OPENS = re.compile(r"\$\$|\\\[|\\\(|\\begin\{(?P<env>[^{}\n]{1,40})\}|(?<![\\$])\$(?![\s$])")
_CLOSES_DOLLAR = re.compile(r"(?:\\.|[^$\n\\])*+(?<=[^\s\\])\$(?!\d)")
_CLOSED_BY = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_MOST_UNCLOSED = (
    50  # kinds of formula that are opened and never closed; then it is no LaTeX, and looking costs time
)
# Each run of marks is looked at once, however long: a text of nothing but dots is no trap.
_SENTENCE_END = re.compile(
    r"(?<![.!?])[.!?]++[\"')\]*_]*+(?P<gap>[^\S\n]++)(?=[^\W_a-z]|[$\\\"'(\[*_])|(?P<line>\n)"
)
_LAST_WORD = re.compile(r"\S*\Z")
_NO_END = re.compile(
    r"(?:e\.g|i\.e|etc|cf|vs|approx|dr|mr|mrs|ms|prof|st|no|fig|eq|sec|resp|[a-z]|\d+)", re.IGNORECASE
)


def _before_answer(text: str, cut: Callable[[str], list[str]]) -> tuple[str, ...]:
    body, block = take_answer(_normal(text))
    steps = cut(body)
    if block and steps:
        return (*steps[:-1], f"{steps[-1]}\n\n{block}")
    return (block,) if block else tuple(steps)


def _normal(text: str) -> str:
    return re.sub(r"\r\n?", "\n", storable(text))


def _paragraphs(body: str, whole: list[tuple[int, int]]) -> list[str]:
    return _pieces(body, [m.end() for m in _BLANK_LINE.finditer(body) if not _inside(m.start(), whole)])


def _sentence_starts(body: str) -> Iterator[int]:
    whole = _formulas(body)
    for end in _SENTENCE_END.finditer(body):
        if end["line"]:
            is_end = not _inside(end.start(), whole)
        else:
            word = _LAST_WORD.search(body[max(0, end.start() - 10) : end.start()])
            is_end = not _inside(end.start("gap"), whole) and not (word and _NO_END.fullmatch(word[0]))
        if is_end:
            yield end.end()


def _formulas(body: str) -> list[tuple[int, int]]:
    """From where to where each piece of LaTeX goes, in order."""
    spans: list[tuple[int, int]] = []
    unclosed: set[str] = set()
    at = 0
    while (opens := _OPENS.search(body, at)) and len(unclosed) <= _MOST_UNCLOSED:
        at = opens.end()
        if opens[0] == "$":
            if closes := _CLOSES_DOLLAR.match(body, at):
                at = closes.end()
                spans.append((opens.start(), at))
            continue
        mark = f"\\end{{{opens['env']}}}" if opens["env"] else _CLOSED_BY[opens[0]]
        end = -1 if mark in unclosed else body.find(mark, at)
        if end < 0:
            unclosed.add(mark)
        else:
            at = end + len(mark)
            spans.append((opens.start(), at))
    return spans


def _inside(at: int, spans: list[tuple[int, int]]) -> bool:
    before = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return before >= 0 and at < spans[before][1]


def _pieces(body: str, starts: list[int]) -> list[str]:
    """The text from each start to the next, `indented`; what has no ink is dropped."""
    borders = [0, *starts, len(body)]
    return [piece for a, b in pairwise(borders) if (piece := indented(body[a:b]))]


SEGMENTATIONS = {
    policy.name: policy
    for policy in (
        Segmentation(NEWLINE, split_steps, join_steps),
        Segmentation("blank-line-1", _blank_lines, "\n\n".join),
        Segmentation("numbered-1", _numbered, "\n".join),
        Segmentation("sentences-1", _sentences, "\n".join),
        Segmentation("python-1", _python, "\n".join),
        Segmentation("latex-paragraphs-1", _latex_paragraphs, "\n\n".join),
    )
}
