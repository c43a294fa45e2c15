"""Our own grader, in the spirit of PRM800K's: numbers, units, words, choices, lists; else it says so.

It says "correct" or "wrong" only of what it has read whole; expressions it leaves to computer algebra.
Source of the idea: openai/prm800k, grading/grader.py (normalise, then compare; tuples item by item).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from prm_backend.grading.latex import tidy
from prm_backend.grading.quantities import Quantity, compare_quantities, read_quantity
from prm_backend.types import GraderOpinion, Outcome

NAME = "normaliser"
_CORRECT, _WRONG, _UNDECIDED = Outcome.CORRECT, Outcome.WRONG, Outcome.UNDECIDED
Judgement = tuple[Outcome, str]


@dataclass(frozen=True)
class Words:
    """An answer in words, without case and punctuation. `sure` where it cannot be a product of variables."""

    text: str
    sure: bool


@dataclass(frozen=True)
class Choice:
    letter: str


@dataclass(frozen=True)
class Based:
    """A numeral in a named base; its digits, unread."""

    digits: str
    base: int


@dataclass(frozen=True)
class Ratio:
    """Numbers between colons: a ratio, or (`time`, minutes such as :05) surely a time of day."""

    parts: tuple[Fraction, ...]
    time: bool


@dataclass(frozen=True)
class Several:
    """A list, set, tuple, point or interval: its brackets ("" for none) and its items."""

    opening: str
    closing: str
    items: tuple[Answer, ...]


@dataclass(frozen=True)
class Named:
    """`x = …`, `x \\in …`: a value and the name it is given."""

    name: str
    value: Answer


@dataclass(frozen=True)
class Expression:
    """Anything else, by its spelling without blanks."""

    text: str


Answer = Quantity | Words | Choice | Based | Ratio | Several | Named | Expression


def normaliser_opinion(answer: str, gold: str) -> tuple[GraderOpinion, bool]:
    """Compare two bare answers; undecided, with the reason, for whatever is not read whole.

    The second value tells whether the opinion is final: both sides are plain (numbers, words, lists of
    them) or they are the same, so that no computer algebra could know better.
    """
    read_answer, read_gold = read(tidy(answer)), read(tidy(gold))
    outcome, reason = _compare(read_answer, read_gold)
    final = outcome is _CORRECT or (_is_plain(read_answer) and _is_plain(read_gold))
    return GraderOpinion(NAME, outcome, reason), final


# --- reading

_CHOICE = re.compile(r"(?:\\text\s*)?[({]*\s*(?:\\text\s*)?[({]*\s*([A-J])\s*[)}]*\s*[.:]?\s*[)}]*")
_BASED = re.compile(
    r"([0-9A-Za-z]+(?:\.[0-9A-Za-z]+)?)\s*_\s*\{?\s*(?:\\text\s*\{)?(?:base\s*)?(\d{1,2})\s*\}{0,2}"
)
_RATIO = re.compile(r"-?\d+(?:\.\d+)?(?:\s*:\s*-?\d+(?:\.\d+)?)+")
_MINUTES = re.compile(r"0\d")
_NAME = re.compile(
    r"\s*((?:\\?[a-zA-Z]+|\([a-zA-Z](?:\s*,\s*[a-zA-Z])*\)|[a-zA-Z]+\([a-zA-Z]\))(?:\s*_\s*(?:\{\w+\}|\w))?"
    r"(?:\s*[:,]\s*[a-zA-Z](?:\s*_\s*(?:\{\w+\}|\w))?)*)\s*(?:=|\\in(?![a-zA-Z]))(?!=)\s*(?=\S)"
)
_TEXT_MACRO = re.compile(r"\\text\s*\{([^{}]*)\}")
_WORDS = re.compile(r"[^\W\d_]+(?:[ '\-]+[^\W\d_]+)*")
_AND = re.compile(r"\s*(?:,\s*)?(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z]))\s*")
_BRACKETS = {"(": ")]", "[": "])", "\\{": ("\\}",)}


def read(text: str) -> Answer:
    """Read a tidied answer as what it is."""
    text = _unwrapped(text.strip())
    if quantity := read_quantity(text):
        return quantity
    if text == "\\emptyset":
        return Several("\\{", "\\}", ())
    if match := _CHOICE.fullmatch(text):
        return Choice(match[1])
    if (match := _BASED.fullmatch(text)) and any(character.isdigit() for character in match[1]):
        return Based(match[1].upper(), int(match[2]))
    if _RATIO.fullmatch(text):
        parts = [part.strip() for part in text.split(":")]
        return Ratio(tuple(map(Fraction, parts)), time=bool(_MINUTES.fullmatch(parts[-1])))
    match = _NAME.match(text)
    if match and text.count("=") + text.count("\\in ") <= 1:
        return Named(_squeezed(match[1]), read(text[match.end() :]))
    return _read_several(text) or _read_words(text) or Expression(_squeezed(text))


def _unwrapped(text: str) -> str:
    """The text without braces around the whole of it, and a number out of its `\\text{…}`."""
    while text.startswith("{") and text.endswith("}") and _closes_at_the_end(text, "{", "}"):
        text = text[1:-1].strip()
    whole = _TEXT_MACRO.fullmatch(text)
    return whole[1].strip() if whole and read_quantity(whole[1].strip()) else text


def _read_several(text: str) -> Several | None:
    opening = next((bracket for bracket in _BRACKETS if text.startswith(bracket)), "")
    closing = next((end for end in _BRACKETS.get(opening, "") if text.endswith(end)), "") if opening else ""
    if opening and closing and _closes_at_the_end(text, opening, closing):
        inner = text[len(opening) : -len(closing)]
        items = _split(inner)
        if len(items) < 2 and opening != "\\{":
            return None
    else:
        opening = closing = ""
        items = _split(_AND.sub(",", text))
        if len(items) < 2:
            return None
    if not all(items) and items != [""]:
        return None
    return Several(opening, closing, tuple(read(item) for item in items if item))


def _closes_at_the_end(text: str, opening: str, closing: str) -> bool:
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
    plain = _TEXT_MACRO.sub(r"\1", text).strip().strip(".!?\"'`")
    if not _WORDS.fullmatch(plain):
        return None
    words = " ".join(re.split(r"[ '\-]+", plain.casefold()))
    return Words(
        words.removeprefix("the ").removeprefix("a "), sure="\\text" in text or " " in plain or len(plain) > 3
    )


def _squeezed(text: str) -> str:
    text = re.sub(r"\s+", "", re.sub(r"\\text\s*\{\s*([^{}]*?)\s*\}", r"\1", text))
    text = re.sub(r"\\(?:cdot|times)(?![a-zA-Z])|\*", "*", text)
    return re.sub(r"(?<=[\^_])\{(\w)\}", r"\1", text).rstrip(".")


# --- comparing


def _compare(answer: Answer, gold: Answer) -> Judgement:
    if isinstance(answer, Named) or isinstance(gold, Named):
        return _compare_named(answer, gold)
    if answer == gold:
        return _CORRECT, "equal once normalised"
    if isinstance(answer, Quantity) and isinstance(gold, Quantity):
        return compare_quantities(answer, gold)
    if isinstance(answer, Several) and isinstance(gold, Several):
        return _compare_several(answer, gold)
    if isinstance(answer, Choice) and isinstance(gold, Choice):
        return _WRONG, f"choice {answer.letter}, not {gold.letter}"
    if isinstance(answer, Based) and isinstance(gold, Based):
        return _compare_based(answer, gold)
    if isinstance(answer, Ratio) and isinstance(gold, Ratio):
        return _compare_ratios(answer, gold)
    if isinstance(answer, Words) and isinstance(gold, Words):
        if answer.text == gold.text:
            return _CORRECT, "the same words"
        if answer.sure or gold.sure:
            return _WRONG, "other words"
    kinds = [type(side).__name__.lower() for side in (answer, gold)]
    if kinds[0] == kinds[1]:
        return _UNDECIDED, f"cannot compare one {kinds[0]} with another"
    return _UNDECIDED, f"cannot compare {kinds[0]} with {kinds[1]}"


def _compare_named(answer: Answer, gold: Answer) -> Judgement:
    if isinstance(answer, Named) and isinstance(gold, Named):
        if answer.name != gold.name:
            return _UNDECIDED, f"{answer.name} may not be {gold.name}"
        return _compare(answer.value, gold.value)
    unnamed = [side.value if isinstance(side, Named) else side for side in (answer, gold)]
    return _compare(*unnamed)


def _compare_several(answer: Several, gold: Several) -> Judgement:
    unordered = {("", ""), ("\\{", "\\}")}
    brackets = {(answer.opening, answer.closing), (gold.opening, gold.closing)}
    if len(answer.items) != len(gold.items):
        whole = all(_is_plain(item) for item in (*answer.items, *gold.items))
        reason = f"{len(answer.items)} items, not {len(gold.items)}"
        return (_WRONG if whole else _UNDECIDED), reason
    pairs = [_compare(a, g) for a, g in zip(answer.items, gold.items, strict=True)]
    if brackets <= unordered:
        return _compare_unordered(answer.items, gold.items, pairs)
    if len(brackets) > 1:
        if ("", "") in brackets or ("\\{", "\\}") in brackets:
            return _UNDECIDED, "one is ordered by its brackets, the other not"
        return _WRONG, f"{answer.opening}…{answer.closing}, not {gold.opening}…{gold.closing}"
    return _all_of(pairs)


def _compare_unordered(answer: Sequence[Answer], gold: Sequence[Answer], pairs: list[Judgement]) -> Judgement:
    if all(outcome is _CORRECT for outcome, _ in pairs):
        return _CORRECT, "the same items"
    named = [isinstance(item, Named) for item in (*answer, *gold)]
    unmatched = list(gold)
    for item in answer:
        match = next((other for other in unmatched if _compare(item, other)[0] is _CORRECT), None)
        if match is None:
            plain = all(_is_plain(other) for other in (*answer, *gold))
            return (
                (_WRONG, "other items") if plain and not any(named) else (_UNDECIDED, "items without a match")
            )
        unmatched.remove(match)
    # "p=5, q=2" against "2, 5": which is which is told by one side alone.
    if any(named[: len(answer)]) != any(named[len(answer) :]):
        return _UNDECIDED, "the same items in another order, named on one side only"
    return _CORRECT, "the same items"


def _all_of(pairs: list[Judgement]) -> Judgement:
    for wanted in (_WRONG, _UNDECIDED):
        for number, (outcome, reason) in enumerate(pairs, start=1):
            if outcome is wanted:
                return outcome, f"item {number}: {reason}"
    return _CORRECT, "equal item by item"


def _is_plain(item: Answer) -> bool:
    """Whether the item is understood whole, so that unequal to another plain item means different from it."""
    if isinstance(item, Several):
        return all(_is_plain(inner) for inner in item.items)
    if isinstance(item, Named):
        return _is_plain(item.value)
    return isinstance(item, Quantity | Choice | Based | Ratio) or (isinstance(item, Words) and item.sure)


def _compare_based(answer: Based, gold: Based) -> Judgement:
    try:
        equal = int(answer.digits, answer.base) == int(gold.digits, gold.base)
    except ValueError:
        return _UNDECIDED, "not a numeral of its base"
    if equal and answer.base != gold.base:
        return _UNDECIDED, f"the same number, but in base {answer.base} instead of {gold.base}"
    return (_CORRECT if equal else _WRONG), "as numbers of their bases"


def _compare_ratios(answer: Ratio, gold: Ratio) -> Judgement:
    if len(answer.parts) == len(gold.parts):
        cross = zip(answer.parts, gold.parts, strict=True)
        if answer.parts == gold.parts:
            return _CORRECT, "equal part by part"
        first = next(((a, g) for a, g in zip(answer.parts, gold.parts, strict=True) if g and a), None)
        maybe_ratios = not (answer.time or gold.time)
        if maybe_ratios and first and all(a * first[1] == g * first[0] for a, g in cross):
            return _UNDECIDED, "equal as ratios, not as times of day"
    return _WRONG, "other parts"
