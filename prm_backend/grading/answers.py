"""What a bare answer is: a number, words, a choice, a list … or an expression nobody here understands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from prm_backend.grading.quantities import Quantity, read_quantity
from prm_backend.grading.units import TEXT_MACRO


@dataclass(frozen=True)
class Words:
    """An answer in words, without case and punctuation. `sure` where it cannot be a product of variables."""

    text: str
    sure: bool


@dataclass(frozen=True)
class Choice:
    """One of A to J, perhaps with the `text` it stands for."""

    letter: str
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Based:
    """A numeral in a named base. `value` is None where a digit is none of its base's."""

    digits: str
    base: int

    @property
    def value(self) -> int | None:
        try:
            return int(self.digits, self.base)
        except ValueError:
            return None


@dataclass(frozen=True)
class Time:
    """A time of day, said with AM or PM, in minutes after midnight."""

    minutes: int


@dataclass(frozen=True)
class Ratio:
    """Numbers between colons: a ratio, or (`time`, minutes such as :05) surely a time of day."""

    parts: tuple[Fraction, ...]
    time: bool


@dataclass(frozen=True)
class Several:
    """A list, set, tuple, point or interval: its brackets ("" for none), its items and the word that joins them.

    `number` is what it would be as one, as other countries write it: "12,34,567", "1.234,5", "4 and 1/2"; and then
    `decimal_comma` where it is as likely a list, as "1000,99" is.
    """

    opening: str
    closing: str
    items: tuple[Answer, ...]
    joint: str = ""  # "and" or "or"; "" where neither is said, or both
    number: Quantity | None = field(default=None, compare=False)
    decimal_comma: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Named:
    """`x = …`, `x \\in …`: a value and the name it is given."""

    name: str
    value: Answer


@dataclass(frozen=True)
class Expression:
    """Anything else, by its spelling without blanks."""

    text: str


Answer = Quantity | Words | Choice | Based | Ratio | Time | Several | Named | Expression

_CHOICE = re.compile(
    r"(?:\\text\s*\{\s*)?(?:(?:option|choice|answer choice)\s+)?(?:\\text\s*)?[({]*\s*(?:\\text\s*)?[({]*"
    r"\s*([A-J])\s*[)}]*\s*[.:]?\s*[)}]*",
    re.IGNORECASE,
)
# "(B) 12", "B. 12": the letter, marked as one, and what it stands for.
_CHOICE_AND_TEXT = re.compile(
    r"(?:\\text\s*\{\s*)?(?:\(\s*([A-J])\s*\)|([A-J])(?:\s*[):]|\.(?!\d)))\s*\}?[\s:.]*"
    r"(?P<text>(?:[\w-]|\\(?:text|frac|sqrt|pi)(?![a-zA-Z])).*)",
    re.DOTALL,
)
_TIME = re.compile(
    r"(?P<hour>1[0-2]|0?[1-9])(?:\s*:\s*(?P<minute>[0-5]\d))?\s*(?:\\text\s*\{\s*)?(?P<half>[ap])\.?\s?m\.?\s*\}?",
    re.IGNORECASE,
)
_PREFIXED = re.compile(r"0(?:[xX](?P<x>[\da-fA-F]+)|[bB](?P<b>[01]+)|[oO](?P<o>[0-7]+))")
_BASED = re.compile(
    r"([0-9A-Za-z]+(?:\.[0-9A-Za-z]+)?)\s*_\s*\{?\s*(?:\\text\s*\{)?(?:base\s*)?([1-9]\d?)\s*\}{0,2}"
)
_RATIO = re.compile(r"-?\d+(?:\.\d+)?(?:\s*:\s*-?\d+(?:\.\d+)?)+")
_TO = re.compile(r"(\d+)\s+(?:\\text\s*\{\s*)?to(?:\s*\})?\s+(\d+)")
_BASE_IN_WORDS = re.compile(
    r"\(?(?P<digits>[0-9A-Za-z]+(?: [0-9A-Za-z]{3,4})*)\)?\s*"
    r"(?:_\s*\{?\s*(?:\\text\s*\{\s*)?(?P<below>\w+)\s*\}{0,2}"
    r"|(?:\\text\s*\{\s*)?\(?(?:in\s+)?base[ -](?P<behind>\w+)\)?\s*\}?)"
)
_BASES = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "sixteen": 16,
}  # fmt: skip
_REVERSED = re.compile(r"(?P<value>[^=]+?)\s*=\s*(?P<name>[a-zA-Z])")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+(?:\s*\\?%)?")
_INDIAN = re.compile(r"-?\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_EUROPEAN = re.compile(r"-?\d{1,3}(?:\.\d{3})+,\d+")
_MIXED = re.compile(r"(-?\d+)\s+and\s+(\d+/\d+|\\frac\{\d+\}\{\d+\})")
_MINUTES = re.compile(r"0\d")
_NAME = re.compile(
    r"\s*((?:m?\s*\\(?:angle|triangle|overline|measuredangle)\s*\{?[A-Z]{1,4}\}?|\|[A-Z]{2}\||\\?[a-zA-Z]+"
    r"|\([a-zA-Z](?:\s*,\s*[a-zA-Z])*\)|[a-zA-Z]+'{0,3}\([a-zA-Z]\)|[a-zA-Z]'{1,3})(?:\s*_\s*(?:\{\w+\}|\w))?"
    r"(?:\s*[:,]\s*[a-zA-Z](?:\s*_\s*(?:\{\w+\}|\w))?)*)\s*(?:=|\\(?:in|approx)(?![a-zA-Z]))(?!=)\s*(?=\S)"
)
_WORDS = re.compile(r"[^\W\d_]+(?:[ '\-]+[^\W\d_]+)*")
_EXCLAIMED = re.compile(r"(?:.*\w{4}|[A-Z][a-z]+)!+")  # while n! is a factorial
_JOINT = re.compile(
    r"\s*(?:,\s*)?(?:\\text\s*\{\s*(?P<text>and|or)\s*\}|(?<![a-zA-Z\\])(?P<word>and|or)(?![a-zA-Z]))\s*"
)
_INEQUALITY = re.compile(r"[<>]|\\(?:[lg]e|ne)")  # blanks behind macros may be gone
_BRACKETS = {"(": ")]", "[": "])", "\\{": ("\\}",)}


def read(text: str) -> Answer:
    """Read a tidied answer as what it is."""
    text = _unwrapped(text.strip())
    if quantity := read_quantity(text):
        return quantity
    if text == "\\emptyset":
        return Several("\\{", "\\}", ())
    if (match := _CHOICE.fullmatch(text)) and (match[1].isupper() or len(text) > 1):
        return Choice(match[1].upper())
    if match := _CHOICE_AND_TEXT.fullmatch(text):
        return Choice(match[1] or match[2], match["text"])
    if match := _TIME.fullmatch(text):
        noon = 12 if match["half"] in "pP" else 0
        return Time((int(match["hour"]) % 12 + noon) * 60 + int(match["minute"] or 0))
    if match := _PREFIXED.fullmatch(text):
        digits = next(filter(None, match.groups()))
        return Based(digits.upper(), 16 if match["x"] else 2 if match["b"] else 8)
    if (match := _BASED.fullmatch(text)) and any(character.isdigit() for character in match[1]):
        return Based(match[1].upper(), int(match[2]))
    if based := _in_words(text):
        return based
    text = _TO.sub(r"\1:\2", text) if _TO.fullmatch(text) else text
    if _RATIO.fullmatch(text):
        parts = [part.strip() for part in text.split(":")]
        return Ratio(tuple(map(Fraction, parts)), time=bool(_MINUTES.fullmatch(parts[-1])))
    match = _NAME.match(text)
    if match and text.count("=") + text.count("\\in ") <= 1:
        return Named(_squeezed(match[1]), read(text[match.end() :]))
    if (match := _REVERSED.fullmatch(text)) and (quantity := read_quantity(match["value"])):
        return Named(match["name"], quantity)
    return _read_several(text) or _read_words(text) or Expression(_squeezed(text))


def _unwrapped(text: str) -> str:
    """The text without braces around the whole of it, and a number out of its `\\text{…}`."""
    while text.startswith("{") and text.endswith("}") and _closes_at_the_end(text, "{"):
        text = text[1:-1].strip()
    whole = TEXT_MACRO.fullmatch(text)
    inner = whole[1].strip() if whole else ""
    return inner if read_quantity(inner) or inner[:1].isdigit() else text


def _in_words(text: str) -> Based | None:
    """ "101 base two", "(101)_2": a numeral whose base is said otherwise than by a bare subscript."""
    match = _BASE_IN_WORDS.fullmatch(text)
    if match is None or not any(character.isdigit() for character in match["digits"]):
        return None
    said = (match["below"] or match["behind"]).lower()
    base = _BASES.get(said) or (int(said) if said.isdecimal() and len(said) <= 2 else 0)
    return Based(match["digits"].replace(" ", "").upper(), base) if 2 <= base <= 36 else None


def _read_several(text: str) -> Several | None:
    opening = next((bracket for bracket in _BRACKETS if text.startswith(bracket)), "")
    closing = next((end for end in _BRACKETS.get(opening, "") if text.endswith(end)), "") if opening else ""
    if opening and closing and _closes_at_the_end(text, opening):
        inner = text[len(opening) : -len(closing)]
        items = _split(inner)
        if len(items) < 2 and opening != "\\{":
            return None
    else:
        opening = closing = ""
        items = _split(_JOINT.sub(",", text))
        if len(items) < 2:
            return None
    if not all(items) and items != [""]:
        return None
    doubtful = bool(_DECIMAL_COMMA.fullmatch(text))
    items_read = tuple(read(item) for item in items if item)
    return Several(opening, closing, items_read, joint_of(text), _as_one_number(text), doubtful)


def joint_of(text: str) -> str:
    """ "and" or "or", whichever is the one that a tidied answer says between its parts; else ""."""
    said = {match["text"] or match["word"] for match in _JOINT.finditer(text)}
    return said.pop() if len(said) == 1 else ""


def _as_one_number(text: str) -> Quantity | None:
    if _INDIAN.fullmatch(text):
        return read_quantity(text.replace(",", ""))
    if _EUROPEAN.fullmatch(text) or _DECIMAL_COMMA.fullmatch(text):
        return read_quantity(text.replace(".", "").replace(",", "."))
    match = _MIXED.fullmatch(text)
    return read_quantity(f"{match[1]} {match[2]}") if match else None


def _closes_at_the_end(text: str, opening: str) -> bool:
    """Whether the last bracket closes the first, whichever kinds they are (an interval mixes them)."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and i >= len(opening) - 1:
            return i == len(text) - 1
    return False


def _split(text: str) -> list[str]:
    """The parts between the commas or semicolons that stand outside of all brackets."""
    depth, marks = 0, []
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character in ",;":
            marks.append(i)
    if any(text[i] == ";" for i in marks):
        marks = [i for i in marks if text[i] == ";"]
    starts, ends = [0, *(i + 1 for i in marks)], [*marks, len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def _read_words(text: str) -> Words | None:
    plain = TEXT_MACRO.sub(r"\1", text).strip().strip('.?"`')
    if _EXCLAIMED.fullmatch(plain):
        plain = plain.rstrip("!")
    if plain[:1] == "'" == plain[-1:]:
        plain = plain[1:-1]
    if not _WORDS.fullmatch(plain):
        return None
    words = " ".join(re.split(r"[ '\-]+", plain.casefold()))
    return Words(re.sub("^(?:the |an? )", "", words), sure="\\text" in text or " " in plain or len(plain) > 3)


def _squeezed(text: str) -> str:
    text = re.sub(r"\s+", "", re.sub(r"\\text\s*\{\s*([^{}]*?)\s*\}", r"\1", text))
    text = re.sub(r"\\(?:cdot|times)(?![a-zA-Z])|\*", "*", text)
    return re.sub(r"(?<=[\^_])\{(\w)\}", r"\1", text).rstrip(".")


def is_condition(text: str) -> bool:
    """Whether a tidied expression is an inequality."""
    return bool(_INEQUALITY.search(text))


def is_plain(item: Answer) -> bool:
    """Whether the item is understood whole, so that unequal to another plain item means different from it."""
    if isinstance(item, Several):
        return all(is_plain(inner) for inner in item.items)
    if isinstance(item, Named):
        return is_plain(item.value)
    return isinstance(item, Quantity | Choice | Based | Ratio | Time) or (
        isinstance(item, Words) and item.sure
    )
