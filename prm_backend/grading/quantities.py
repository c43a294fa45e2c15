"""Numbers with what belongs to them: thousands marks, percent, currency, units; exact, by fractions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from prm_backend.grading.policy import GradingPolicy
from prm_backend.grading.units import CURRENCIES, UNITS, is_magnitude, size_of, unit_of
from prm_backend.types import Outcome


@dataclass(frozen=True)
class Quantity:
    """An exact number. `digits` counts the decimals it was written with; None for others.

    `unreduced` for a fraction whose parts share a divisor, or that is a whole number. `of` is the currency of
    "5 million dollars", whose unit is the million.
    """

    value: Fraction
    digits: int | None = None
    percent: bool = False
    unit: str = ""
    unreduced: bool = False
    of: str = ""


_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[ ]\d{3})+(?!\d)|\d+)"
_TEN_TO = r"\s*(?:\\times|\\cdot|\*|x)\s*10\s*\^\s*\{?(?P<tens>[+-]?\d{1,3})\}?"
_DECIMAL = rf"(?:{_DIGITS}(?:\.\d*)?|\.\d+)"
_NUMBER = re.compile(
    rf"""(?P<sign>[+-]?)\s*(?:
      \\frac\s*\{{\s*(?P<top>-?\s*{_DECIMAL})\s*\}}\s*\{{\s*(?P<bottom>-?\s*{_DECIMAL})\s*\}}
    | (?P<whole>\d+)\s*(?:\\frac\s*\{{\s*(?P<mixed_top>\d+)\s*\}}\s*\{{\s*(?P<mixed_bottom>\d+)\s*\}}
                        |(?:\s|\s*\+\s*)(?P<mixed_top2>\d+)\s*/\s*(?P<mixed_bottom2>\d+))
    | \(?(?P<top2>{_DECIMAL})\)?\s*/\s*\(?(?P<bottom2>{_DECIMAL})\)?
    | (?P<repeat_head>{_DIGITS}?\.\d*)(?:\\(?:overline|bar|dot)\s*\{{?\s*(?P<repeat>\d+)\s*\}}?|\((?P<repeat2>\d+)\))
    | (?P<dots_head>{_DIGITS}?\.\d{{0,20}}?)(?P<repeat3>\d{{1,6}}?)(?P=repeat3){{2,20}}\d{{0,5}}(?:\.\.\.|…|\\[lc]?dots)
    | (?P<base>\d{{1,6}})\s*\^\s*\{{?(?P<power>-?\d{{1,3}})\}}?
    | (?P<mantissa>{_DECIMAL})(?:{_TEN_TO}|[eE](?P<exponent>[+-]?\d{{1,3}}))?
    )""",
    re.VERBOSE,
)
_PERCENT = re.compile(
    r"\s*(?:\\?%|\\text\s*\{\s*(?:percent|pct|\\?%)\s*\}|per\s?cent(?:age)?|pct)\s*", re.IGNORECASE
)
_COMPOUND = re.compile(
    r"(?P<much>\d[\d,.]*\s*[a-zA-Z]+\.?)\s*(?:,|and|,\s*and)?\s*(?P<more>\d[\d,.]*\s*[a-zA-Z]+\.?)"
)
NUMERALS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip


def read_quantity(text: str) -> Quantity | None:
    """Read a tidied answer that is one number, with or without percent or a unit; None for anything else."""
    if text.casefold() in NUMERALS:
        return Quantity(Fraction(NUMERALS.index(text.casefold())))
    match = _NUMBER.match(text)
    if match is None:
        return None
    try:
        value, digits = _value(match)
    except ZeroDivisionError:
        return None
    unreduced = _is_unreduced(match, value)
    rest = text[match.end() :]
    if not rest.strip():
        return Quantity(value, digits, unreduced=unreduced)
    if _PERCENT.fullmatch(rest):
        return Quantity(value, digits, percent=True, unreduced=unreduced)
    unit = unit_of(rest)
    if unit is None:
        return _compound(text)
    return Quantity(
        value, digits, unit=unit, unreduced=unreduced, of=_currency(rest) if is_magnitude(unit) else ""
    )


def _currency(words: str) -> str:
    """That of "million dollars"; "" for anything else."""
    last = words.rstrip(" }.").rpartition(" ")[2].casefold()
    return next((name for name in (last, last.removesuffix("s")) if name in CURRENCIES), "")


def _counted(quantity: Quantity) -> Quantity:
    """Of "5 million dollars" 5,000,000 dollars, of "5 million" 5,000,000."""
    if not is_magnitude(quantity.unit):
        return quantity
    return replace(quantity, value=quantity.value * UNITS[quantity.unit][1], unit=quantity.of, of="")


def _compound(text: str) -> Quantity | None:
    """Two known units of one dimension (5 feet 6 inches), in the first of them."""
    match = _COMPOUND.fullmatch(text)
    much, more = (read_quantity(match[name]) if match else None for name in ("much", "more"))
    if much is None or more is None:
        return None
    sizes = size_of(much.unit), size_of(more.unit)
    if sizes[0] is None or sizes[1] is None or sizes[0][0] != sizes[1][0] or sizes[1][1] >= sizes[0][1]:
        return None
    return Quantity(much.value + more.value * sizes[1][1] / sizes[0][1], unit=much.unit)


def _is_unreduced(match: re.Match[str], value: Fraction) -> bool:
    for name in ("bottom", "bottom2", "mixed_bottom", "mixed_bottom2"):
        if match[name] is not None:
            written = re.sub(r"[\s,]", "", match[name])
            return not written.lstrip("-").isdigit() or abs(int(written)) != value.denominator
    return False


def _value(match: re.Match[str]) -> tuple[Fraction, int | None]:
    found = {name: text for name, text in match.groupdict().items() if text is not None}
    sign = -1 if found["sign"] == "-" else 1

    def number(name: str) -> Fraction:
        return Fraction(re.sub(r"[\s,]", "", found[name]).rstrip(".") or "0")

    for top, bottom in (("top", "bottom"), ("top2", "bottom2")):
        if top in found:
            return sign * number(top) / number(bottom), None
    for top, bottom in (("mixed_top", "mixed_bottom"), ("mixed_top2", "mixed_bottom2")):
        if top in found:
            return sign * (number("whole") + number(top) / number(bottom)), None
    for head, repeat in (("repeat_head", "repeat"), ("repeat_head", "repeat2"), ("dots_head", "repeat3")):
        if repeat in found:
            decimals = len(found[head].partition(".")[2])
            nines = Fraction(int(found[repeat]), (10 ** len(found[repeat]) - 1) * 10**decimals)
            return sign * (number(head) + nines), None
    if "base" in found:
        return sign * number("base") ** int(found["power"]), None
    tens = int(found.get("tens") or found.get("exponent") or 0)
    fraction = found["mantissa"].partition(".")[2]
    return sign * number("mantissa") * Fraction(10) ** tens, (
        max(len(fraction) - tens, 0) if fraction else None
    )


def compare_quantities(answer: Quantity, gold: Quantity, policy: GradingPolicy) -> tuple[Outcome, str]:
    """Compare two numbers exactly; what is equal but for a case of the policy is what that says."""
    other_units = answer.unit != gold.unit and answer.unit and gold.unit
    if other_units or (answer.of and gold.of and answer.of != gold.of):
        answer, gold = _counted(answer), _counted(gold)
    if answer.unit != gold.unit and answer.unit and gold.unit:
        return _compare_units(answer, gold, policy)
    a, g = answer.value, gold.value
    if a == g:
        return _differently_written(answer, gold, policy)
    if answer.percent != gold.percent:
        share, other = (a, g) if answer.percent else (g, a)
        if share / 100 == other:
            return policy.percent_as_share, "a percentage on one side, the share it stands for on the other"
    if bool(answer.unit) != bool(gold.unit) and _maybe_converted(answer, gold):
        return policy.unit_guessed, f"equal if {answer.unit or gold.unit} was not the unit asked for"
    for rounded, exact in ((answer, gold), (gold, answer)):
        if rounded.digits is not None and is_rounded(rounded, exact.value):
            return policy.rounded, "equal up to rounding"
    return Outcome.WRONG, "other numbers"


def _differently_written(answer: Quantity, gold: Quantity, policy: GradingPolicy) -> tuple[Outcome, str]:
    """Two equal numbers: the least that the policy says of how they are written."""
    any_magnitude = is_magnitude(answer.unit) or is_magnitude(gold.unit)
    cases = [
        (policy.unreduced, "an unreduced fraction", answer.unreduced and not gold.unreduced),
        (policy.percent_dropped, "percent on one side only", answer.percent != gold.percent),
        (policy.unit_dropped, "a unit on one side only", answer.unit != gold.unit),
        (policy.unit_guessed, "a magnitude on one side only", answer.unit != gold.unit and any_magnitude),
    ]
    for outcome in (Outcome.WRONG, Outcome.UNDECIDED):
        for said, reason, applies in cases:
            if applies and said is outcome:
                return outcome, f"equal as numbers, but {reason}"
    return Outcome.CORRECT, "equal as numbers"


def converted(quantity: Quantity, unit: str) -> Fraction | None:
    """The quantity's value in another unit; None where the two do not convert."""
    sizes = size_of(quantity.unit), size_of(unit)
    if sizes[0] is None or sizes[1] is None or sizes[0][0] != sizes[1][0]:
        return None
    return quantity.value * sizes[0][1] / sizes[1][1]


def is_rounded(rounded: Quantity, exact: Fraction) -> bool:
    """Whether a decimal with at least three significant digits is what the exact value rounds to."""
    assert rounded.digits is not None
    scale = Fraction(10) ** rounded.digits
    significant = abs(rounded.value) * scale >= 100
    return significant and abs(rounded.value - exact) * scale * 2 <= 1


def _compare_units(answer: Quantity, gold: Quantity, policy: GradingPolicy) -> tuple[Outcome, str]:
    units = [answer.unit, gold.unit]
    if set(units) == {"euro", "cent"}:  # of which there are a hundred, too
        units = [unit.replace("euro", "dollar") for unit in units]
    sizes = [size_of(unit) for unit in units]
    if sizes[0] is None or sizes[1] is None:
        outcome = Outcome.UNDECIDED if answer.value == gold.value else Outcome.WRONG
        return outcome, f"{answer.unit} may not be {gold.unit}"
    (a_dimension, a_size), (g_dimension, g_size) = sizes[0], sizes[1]
    equal = a_dimension == g_dimension and answer.value * a_size == gold.value * g_size
    return (policy.unit_converted if equal else Outcome.WRONG), f"in {answer.unit} and in {gold.unit}"


def _maybe_converted(answer: Quantity, gold: Quantity) -> bool:
    """Whether the side without a unit may give the other's quantity in another unit of its dimension."""
    given, bare = (answer, gold) if answer.unit else (gold, answer)
    if (found := size_of(given.unit)) is None:
        return False
    power = given.unit.partition("^")[2] or "1"
    sizes = (size_of(f"{name}^{power}") for name in UNITS)
    return any(u and u[0] == found[0] and given.value * found[1] == bare.value * u[1] for u in sizes)
