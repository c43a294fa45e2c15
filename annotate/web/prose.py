"""Model-written text with a light markdown: bold, lists, tables, code, and mathematics. All else is shown as is.

Code and formulas are taken out first and put back last, so no rule sees inside them. Nothing here trusts the text: it
is escaped piece by piece, and only tags written here, or by `mathml`, come out. A rule that could hide a character that
means something (a minus, a power, a number) does not apply.
"""

from __future__ import annotations

import re
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from prm_backend.text.steps import ANSWER_HEADER, indented

from .mathml import pieces

register = template.Library()

LONGEST_TEXT = 50_000  # what is longer is shown without markdown
MOST_CELLS = 2_000

# A private-use character stands for a piece taken out; the text's own ones are replaced.
_FIRST, _LAST = 0xE000, 0xF8FF
_PRIVATE = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
# A function or class of Python with what is indented below it, and the imports and comments right before it.
_PYTHON = (
    r"(?:(?:from|import|@|\#)[^\n]*\n{1,3}){0,20}"
    r"(?:(?:async[ ])?def[ ]\w+[ ]?\(|class[ ]\w+[^\n]*:[ \t]*$)[^\n]*"
    r"(?:\n[ \t]+\S[^\n]*|\n[ \t]*(?=\n)|\n(?:(?:async[ ])?def[ ]|class[ ]|@|\))[^\n]*)+"
)
_CODE = re.compile(
    r"^[ ]{0,3}```[^\n`]*\n(?P<block>.*?)\n?^[ ]{0,3}```[ \t]*$"
    rf"|^(?P<python>{_PYTHON})"
    r"|(?<!`)`(?P<inline>[^`\n]+)`(?!`)",
    re.MULTILINE | re.DOTALL,
)
# What ends a line anyway needs nothing more to end it.
_AFTER_BLOCK = re.compile(
    r"(</pre>|<math[^>]* display=\"block\"[^>]*>(?:(?!</math>).)*</math>)[ \t]*\n?", re.DOTALL
)
_BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?![\w*])")
_ITEM = re.compile(r"[ \t]*(?:[-*•](?![ \t]+[\d.])|(?P<number>\d{1,3})[.)])[ \t]+(?P<text>\S.*)")
_DASHED = re.compile(r"[ \t]*[-*•][ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+)")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*")


@register.filter
def parts(step: str) -> dict[str, str]:
    """A step's `text` and, apart from it, the final `answer` that the last one carries."""
    text, header, answer = step.partition(ANSWER_HEADER)
    return {"text": indented(text), "answer": answer.strip()} if header else {"text": step, "answer": ""}


@register.filter
def prose(text: str) -> SafeString:
    """Escaped HTML of a text: what `maths` shows, and **bold**, lists, tables, headings, `code`.

    And programs, with their indentation: between ```, or unmarked a function or class of Python.
    """
    if len(text) > LONGEST_TEXT:
        return mark_safe(escape(text))
    taken = _Taken()
    bare = _CODE.sub(taken.code, _PRIVATE.sub("\ufffd", text))
    bare = "".join(piece if is_text else taken.keep(piece) for piece, is_text in pieces(bare))
    return mark_safe(_AFTER_BLOCK.sub(r"\1", taken.put_back(_blocks(bare.split("\n")))))


class _Taken:
    """What was taken out of a text, each piece behind a private-use character; past 6,400 pieces it stays text."""

    def __init__(self) -> None:
        self.html: list[str] = []

    def keep(self, html: str) -> str:
        if len(self.html) > _LAST - _FIRST:
            return "\ufffd"
        self.html.append(html)
        return chr(_FIRST + len(self.html) - 1)

    def code(self, found: re.Match[str]) -> str:
        block = found["python"] if found["block"] is None else found["block"]
        if block is not None:
            return self.keep(f"<pre><code>{escape(block.rstrip())}</code></pre>")
        return self.keep(f"<code>{escape(found['inline'])}</code>")

    def put_back(self, html: str) -> str:
        # Twice: a formula's source may hold code.
        for _ in range(2):
            html = _PRIVATE.sub(self._piece, html)
        return html

    def _piece(self, found: re.Match[str]) -> str:
        index = ord(found[0]) - _FIRST
        return self.html[index] if index < len(self.html) else "\ufffd"


def _blocks(lines: list[str]) -> str:
    out: list[str] = []
    plain: list[str] = []

    def flush() -> None:
        if plain:
            out.append(_inline("\n".join(plain)))
            plain.clear()

    position = 0
    while position < len(lines):
        for block in (_table, _list, _heading):
            html, taken = block(lines, position)
            if taken:
                if html:
                    flush()
                    out.append(html)
                else:
                    plain += lines[position : position + taken]
                position += taken
                break
        else:
            plain.append(lines[position])
            position += 1
    flush()
    return "".join(out)


def _table(lines: list[str], start: int) -> tuple[str, int]:
    """A table that begins on this line, and how many lines it has: 0 where none does, "" for what is too large."""
    if start + 1 >= len(lines) or "|" not in lines[start] or not _RULE.fullmatch(lines[start + 1]):
        return "", 0
    end = start + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    width = len(_cells(lines[start]))
    if width * (end - start - 1) > MOST_CELLS:
        # All of it, else each of its lines would be taken for the first of another one.
        return "", end - start
    rows = [_cells(lines[i]) for i in (start, *range(start + 2, end))]
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in [*row, *[""] * width][:width]) + "</tr>"
        for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", end - start


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _list(lines: list[str], start: int) -> tuple[str, int]:
    """A list of two items or more; one line that begins with a dash or a number is prose as often as not."""
    if start and _DASHED.match(lines[start - 1]):
        return "", 0  # a line above it that may be a subtraction is not to be told apart from it
    end, items = start, []
    first = _ITEM.fullmatch(lines[start])
    while end < len(lines) and (found := _ITEM.fullmatch(lines[end])):
        if (found["number"] is None) != (first is not None and first["number"] is None):
            break
        items.append(found)
        end += 1
    if len(items) < 2:
        return "", 0
    if items[0]["number"] is None:
        inner = "".join(f"<li>{_inline(i['text'])}</li>" for i in items)
        return f"<ul>{inner}</ul>", end - start
    # Its own numbers, whatever they are: a solution that miscounts is shown miscounting.
    inner = "".join(f'<li value="{int(i["number"])}">{_inline(i["text"])}</li>' for i in items)
    return f"<ol>{inner}</ol>", end - start


def _heading(lines: list[str], start: int) -> tuple[str, int]:
    found = _HEADING.fullmatch(lines[start])
    return (f'<strong class="heading">{_inline(found[1])}</strong>', 1) if found else ("", 0)


def _inline(text: str) -> str:
    return _BOLD.sub(r"<strong>\1</strong>", escape(text))
