"""Boxes in a solution: the last ones, which together are its answer, with what of a formula belongs to them."""

from __future__ import annotations

import re
from typing import NamedTuple

from prm_backend.text.phrases import MAGNITUDE


class Box(NamedTuple):
    """A closed box; `start` and `end` are those of the whole macro in the text."""

    start: int
    content: str
    end: int


_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{|[^\s{a-zA-Z])")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)  # an escaped brace opens nothing
# Between two boxes that together are one answer ("\boxed{1} \text{ and } \boxed{2}") stand only these.
_BETWEEN_BOXES = re.compile(
    r"(?:[\s,;&$]|\\[,;:!()\[\]]|\\q?quad|\\(?:text|mbox)\s*\{\s*(?:and|or)\s*,?\s*\}|and|or|[a-zA-Z](?:_\{?\w\}?)?\s*=)*"
)
_JOINED = re.compile(r"[a-zA-Z,;&]")
_SPACE = r"(?:\s|\\[,;:! ]|~)*+"
# "\boxed{2} hours and \boxed{30} minutes" is one quantity: the first of these units has smaller ones.
_LARGER_UNIT = re.compile(
    rf"{_SPACE}(?:\$|\\\)|\\text\s*\{{)?\s*(?P<unit>(?:year|month|week|day|hour|hr|minute|min|yard|pound|lb|meter|degree)s?"
    r"|feet|foot|ft|dollars)\s*+,?+\s*+(?:and\b\s*+)?(?:\}\s*+)?(?:\$|\\\()?\s*"
)
_UNIT_BEHIND = re.compile(rf"{_SPACE}(?:\$|\\\)|\\text\s*\{{)?\s*([a-zA-Z]+)")
_MAGNITUDE = re.compile(rf"{_SPACE}(?:\\?%|(?:\$|\\\)|\\text\s*\{{)?\s*(?P<word>{MAGNITUDE}))")
_REACH = 300  # characters on either side of a box in which its formula begins and ends
_FORMULA_MARK = re.compile(r"(?<!\\)(?:\$\$?|\\[()\[\]])")
_FORMULA_MARKS = {("$", "$"), ("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]")}
_RELATION = re.compile(r"\s*(?:[=<>≤≥≈]|\\(?:[lg]eq?|[lg]t|approx)(?![a-zA-Z]))")
# What a term does not go beyond: relations, commas, rows, arrows, words; but for those in brackets of its own.
_TERM_ENDS = re.compile(
    r"[=<>≤≥≈≠,;&$\n]|\\\\|(?<!\\)\\[()\[\]]|\\(?:text\w*|mbox|begin|end|tag)\s*(?:\{[^{}]*\})?"
    r"|\\(?:q?quad|[lg]eq?|[lg]eqslant|[lg]t|neq?|approx|to|implies|iff|(?:[Ll]ong)?[Rr]ightarrow|therefore|because)"
    r"(?![a-zA-Z])|(?<![\\a-zA-Z])[a-zA-Z]{2,}[-:–—]?"
)
_BRACKETED = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}|\([^()]*\)|\[[^\[\]]*\]")
_ARGUMENT_OF = re.compile(
    r"(?:\\(?:[dt]?frac|[dt]?binom)\s*(?:\{(?:[^{}]|\{[^{}]*\})*\}\s*|\w\s*)?|\\sqrt\s*(?:\[\w+\]\s*)?|[\^_])$"
)
_CHANGED_BEFORE = re.compile(
    r"(?:[-−+*^√×·÷±∓]|(?<=[\w)}\]])\s*/|(?:\}|\\boxed\s*\w)\s*:|\\(?:times|cdot|div|pm|mp|sqrt|cup|cap))"
    + rf"{_SPACE}$"
)
_CHANGED_BEHIND = re.compile(
    rf"{_SPACE}(?:\^(?!\s*\{{?\s*\\circ)|_(?=[\w{{])|√|[-−+*/:×·÷±](?=\s*[\w\\({{√])"
    r"|\\(?:sqrt|[dt]?frac(?!\s*\{\\(?:text|mathrm))|times|cdot|div|pm|mp|pi|cup|cap)(?![a-zA-Z])|[a-zA-Z](?![a-zA-Z]))"
)
_SUM = re.compile(r"[\w)}\]]\s*[-−+±∓]")
_SEVERAL = re.compile(r"[=<>]|^[^(\[{\\]+,", re.DOTALL)
_GROUP = re.compile(r"\{[^{}]*\}|\([^()]*\)")
# Behind these a box may be a blank that is filled in: "2^{\boxed{10}}", "5 \times \boxed{6}".
_BLANK_BEHIND = re.compile(r"(?:[\^_]\s*\{?|[\w)}\]]\s*(?:[*/×·÷]|\\(?:times|cdot|div|pm|mp)))\s*$")


def boxes(text: str) -> list[Box]:
    """Each closed box, in order; `\\boxed 5` boxes one character."""
    closed = _closing_braces(text)
    found = []
    for macro in _BOXED.finditer(text):
        start = macro.end()
        if text[start] != "{":
            found.append(Box(macro.start(), text[start], start + 1))
        elif start in closed:
            found.append(Box(macro.start(), text[start + 1 : closed[start]], closed[start] + 1))
    return found


def content_of_box(text: str) -> str | None:
    """What stands in a text that is one box; None for any other text."""
    found = boxes(text) if _BOXED.match(text) else []
    return found[0].content if found and (found[0].start, found[0].end) == (0, len(text)) else None


def last_boxed(text: str, found: list[Box]) -> str:
    """The answer of the last of a text's boxes and of those joined to it.

    "" where one may be what fills a blank: in a sum or a power. Empty boxes are none.
    """
    found = [box for box in found if box.content.strip()]
    last = _term(text, found[-1])
    parts, start = [last.content], last.start
    for box in reversed(found[:-1]):
        if box.end > start:  # the box around the last one, or one in its term
            continue
        if start == last.start and (larger := _LARGER_UNIT.fullmatch(text, box.end, start)):
            smaller = _UNIT_BEHIND.match(text, last.end)
            return f"{box.content} {larger['unit']} and {last.content} {smaller[1] if smaller else ''}"
        earlier = _term(text, box)
        if not _BETWEEN_BOXES.fullmatch(text, earlier.end, start):
            break
        said_again = earlier.content == parts[-1] and not _JOINED.search(text, earlier.end, start)
        if not said_again:
            parts.append(earlier.content)
        start = earlier.start
    return ", ".join(reversed(parts)) if all(parts) else ""


def _term(text: str, box: Box) -> Box:
    """The box with what changes its value: "-\\boxed{5}", "\\boxed{3}\\sqrt2", "\\boxed{5} million"."""
    left, right = _formula_around(text, box)
    begun = list(_TERM_ENDS.finditer(_masked(left)))
    ended = _TERM_ENDS.search(_masked(right))
    left, arguments = _behind_opened(left[begun[-1].end() :] if begun else left)
    left = left.lstrip()
    right = _before_closed(right[: ended.start()] if ended else right, arguments).rstrip(" .:!?")
    changed = arguments or _CHANGED_BEFORE.search(left) or _CHANGED_BEHIND.match(right)
    whole = f"{left}{text[box.start : box.end]}{right}"
    is_equated = ended and _RELATION.match(ended[0])  # "2 + \boxed{3} = 5" has a blank filled in
    if not changed or is_equated or _SEVERAL.search(box.content) or whole.count("{") != whole.count("}"):
        return _with_magnitude(text, box)
    while inner := boxes(whole):
        start, content, end = inner[-1]
        operand = f"({content})" if re.search("[-−+]", content) else content
        whole = f"{whole[:start]}{operand}{whole[end:]}"
    is_blank = "\\boxed" not in left and _BLANK_BEHIND.search(left)
    doubtful = is_blank or _SUM.search(_GROUP.sub("{}", whole))
    term = Box(box.start - len(left), "" if doubtful else whole, box.end + len(right))
    return _with_magnitude(text, term)


def _masked(text: str) -> str:
    """The text, as long as before, with nothing that ends a term in its brackets."""
    return _BRACKETED.sub(lambda match: f"{match[0][0]}{'0' * (len(match[0]) - 2)}{match[0][-1]}", text)


def _with_magnitude(text: str, box: Box) -> Box:
    match = _MAGNITUDE.match(text, box.end) if box.content else None
    if match is None:
        return box
    magnitude = f" {match['word']}" if match["word"] else "" if "%" in box.content else "\\%"
    return Box(box.start, box.content + magnitude, match.end())


def _formula_around(text: str, box: Box) -> tuple[str, str]:
    """What stands before and behind the box in its `$…$`; outside of any, what is attached to it, without markdown."""
    before, behind = text[max(0, box.start - _REACH) : box.start], text[box.end : box.end + _REACH]
    opening = list(_FORMULA_MARK.finditer(before))
    closing = _FORMULA_MARK.search(behind)
    if opening and closing and (opening[-1][0], closing[0]) in _FORMULA_MARKS:
        line_begins = before.rfind("\n") + 1
        dollars = sum(mark[0] == "$" and mark.start() >= line_begins for mark in opening)
        if opening[-1][0] != "$" or dollars % 2:
            return before[opening[-1].end() :], behind[: closing.start()]
    return re.split(r"[\s*_`]", before)[-1], re.split(r"[\s*`]", behind, maxsplit=1)[0]


def _behind_opened(left: str) -> tuple[str, int]:
    """What stands behind the last bracket left open, and in how many arguments of a fraction or a root that is."""
    closings: list[int] = []
    arguments = 0
    for i in range(len(left) - 1, -1, -1):
        if left[i] in ")]}":
            closings.append(i)
        elif left[i] in "([{":
            if closings:
                closings.pop()
            elif left[i] == "{" and _ARGUMENT_OF.search(left[:i]):
                arguments += 1
            else:
                return left[i + 1 :], arguments
    return (left[closings[0] + 1 :], 0) if closings else (left, arguments)


def _before_closed(right: str, arguments: int) -> str:
    """What stands before the first bracket that closes none of its own and none of so many arguments."""
    depth = 0
    for i, character in enumerate(right):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            if depth:
                depth -= 1
            elif character == "}" and arguments:
                arguments -= 1
            else:
                return right[:i]
    return right


def _closing_braces(text: str) -> dict[int, int]:
    """Where each brace that opens is closed; one pass, so a text of nothing but `{` is no trap."""
    closed, still_open = {}, []
    for brace in _BRACES.finditer(text):
        if brace[0] == "{":
            still_open.append(brace.start())
        elif brace[0] == "}" and still_open:
            closed[still_open.pop()] = brace.start()
    return closed
