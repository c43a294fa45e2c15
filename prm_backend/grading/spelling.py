"""A tidied answer as math-verify reads it rightly; None where it would read past a sign that means something.

It drops what it does not know (primes, dots, words in `\\text`) and compares the rest, so "f'(x)" would be "f(x)".
"""

from __future__ import annotations

import re

from prm_backend.grading.units import LETTER_UNITS, TEXT_MACRO, is_magnitude, says_more, size_of, unit_of

_READ_PAST = re.compile(
    r"(?<=[\w)}\]])'|(?<![a-zA-Z])cis(?![a-zA-Z])|\\(?:[lcdv]?dots|ldots)(?![a-zA-Z])|\.\.\.|…|!!"
    r"|\^\s*\{?\s*(?:T|\\top|\\intercal|\\prime|\\dagger|\\ast|\*)\s*\}?(?![a-zA-Z])"
    r"|\\(?:angle|measuredangle|triangle|over(?:line|rightarrow)|underline|vec|hat|bar|tilde|widehat|arc|p?mod|bmod"
    r"|equiv|cong|sim|perp|parallel|neg|lnot|nabla|partial|propto|mapsto)(?![a-zA-Z])"
)
_JOINS = re.compile(r"\s*,?\s*(?:and|or)\s*,?\s*", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:not|no|non|least|most|more|less|fewer|greater|than|over|under|above|below|except|without|other|half|squared|"
    r"cubed|factorial|choose|times|twice|negative|minus|plus|remainder|mod|hundred|thousand|million|billion)\b",
    re.IGNORECASE,
)
_TRIG_OF_DEGREES = re.compile(
    r"(\\(?:sin|cos|tan|sec|csc|cot)(?:\^\{?\d\}?)?)\s*[({]?\s*(\d+(?:\.\d+)?)\s*\^\{\\circ\}\s*[)}]?"
)
_CIS_OF_DEGREES = re.compile(
    r"(?:\\text\s*\{\s*cis\s*\}|(?<![a-zA-Z])\\?cis(?![a-z]))\s*[({]?\s*(\d+(?:\.\d+)?)\s*\^\{\\circ\}\s*[)}]?"
)
_ODD_ROOT_OF_NEGATIVE = re.compile(r"\\sqrt\[(\d*[13579])\]\s*\{\s*-\s*([^{}+-]+)\}")
# Of constants ("x^2 C_1", "2C_1") it is none: there a letter, a bracket or a bare number stands before.
_CHOOSE = re.compile(
    r"(?<![\w)}\].\\])(?:(?:\{\})?(?:\^\s*\{?(?P<up>\d+)\}?|_\s*\{?(?P<down>\d+)\}?)"
    r"\s*(?:\\text\s*\{)?(?P<kind>[CP])\}?\s*_?\s*\{?(?P<k>\d+)\}?"
    r"|(?P<plain>\d+)(?P<kind3>[CP])(?P<k3>\d+)"
    r"|n?(?P<kind2>[CP])r?\s*\(\s*(?P<n2>\d+)\s*,\s*(?P<k2>\d+)\s*\))(?![\w.])"
)
_POINT = re.compile(r"^[A-Z]\s*(?=\([^()]*,[^()]*\)$)")
_UNIT_SYMBOL = re.compile(r"\d\s+(?:[NJWVAKC]|k[NJWV]|M[JW]|k?Pa|m[AV]|eV)$")  # or a variable's name
# A slash between numbers and then letters: (1/2)x, or 1/(2x)?
_SLASH = re.compile(
    r"(?<![\w.^}])(?P<top>\d+)\s*/\s*(?P<bottom>\d+)(?P<gap>\s*)"
    r"(?P<rest>(?:[a-zA-Z(]|\\(?:pi|sqrt|frac|theta|log|ln|sin|cos|tan|left)(?![a-zA-Z]))[^-+=<>,]*)"
)
_MIXED = re.compile(r"(?<![\w}^_.)\\,])(\d+)\s*(\\frac\{(\d{1,9})\}\{(\d{1,9})\})")
_UNIT_IN_WORDS = re.compile(
    r"(?<=[\w})\]])(?P<unit>\s+[a-zA-Z]{2,}(?:\s+[a-zA-Z]{2,}){0,3}(?:\s*\^\s*\{?[23]\}?)?)$"
)
# "4\\pi cm", "\\sqrt{3}m": behind what has no letters of its own, which would be variables, and so might these.
_UNIT_ATTACHED = re.compile(
    r"(?P<bare>(?:[^a-zA-Z\\]|\\[a-zA-Z]+)*(?:[\d})\]]|\\pi\s))(?P<unit>\s*[a-zA-Z]{1,6}(?:\s*\^\s*\{?[23]\}?)?)"
)
_UNIT_IN_TEXT = re.compile(r"(?P<unit>\s*\\text\s*\{(?P<words>[^{}]*)\}(?:\s*\^\s*\{?[23]\}?)?)$")
_MACRO_OR_LETTER = re.compile(r"\\[a-zA-Z]+|([a-zA-Z])")
_PERCENTAGE = re.compile(r"per\s?cent|pct|\\?%")
# Not of e and i, which are numbers; below, what counts.
_FUNCTION = re.compile(
    r"(?P<name>\\?[a-zA-Z]+'{0,3})\s*(?P<letter>\((?P<round>[a-df-hj-z])\)|_\s*\{?(?P<below>[i-n])\}?)"
    r"\s*=\s*(?P<value>[^=]+)"
)
_CONSTANT = re.compile(r"\+\s*([CDKck])(?:_\{?\d\}?)?\s*$")
# "days and nights", "red or blue", "of the cake": these join names, where no number or variable follows.
_BETWEEN_NAMES = re.compile(r"(?:(?<=\w)\s+(?:and|or|to)|^(?:of|per))\s+(?=\w)")
_REMARK = re.compile(r"is (?:the|a|an) (?:\w+ )?\w+|\([a-z]+\)")  # "5 is the minimum", "7 (seven)"


def without_unit(answer: str) -> tuple[str, str]:
    """A tidied expression and the unit behind it, "" where there is none that is known or stands in `\\text`."""
    if match := _UNIT_IN_TEXT.search(answer):
        before = answer[: match.start("unit")]
        unit = "" if _changes(match["words"], before) else unit_of(match["unit"]) or match["unit"].strip()
    elif match := _UNIT_IN_WORDS.search(answer) or _UNIT_ATTACHED.fullmatch(answer):
        unit = unit_of(f" {match['unit'].strip()}") or ""
        unit = unit if size_of(unit) and not _known_letter(match["unit"]) else ""
    else:
        return answer, ""
    before = answer[: match.start("unit")].strip()
    return (before, unit) if unit and before else (answer, "")


def without_letter(answer: str) -> str:
    """A tidied expression without a last letter that may be a unit or a variable; else as it is."""
    match = _UNIT_ATTACHED.fullmatch(answer)
    return match["bare"].strip() if match and _known_letter(match["unit"]) else answer


def in_letters_of(answer: str, gold: str) -> str:
    """A tidied answer with the gold one's letter for the argument of its function: f(t) = t^2 beside f(x) = x^2."""
    ours, theirs = _FUNCTION.fullmatch(answer), _FUNCTION.fullmatch(gold)
    if ours is None or theirs is None or ours["name"] != theirs["name"]:
        return answer
    old, new = (match["round"] or match["below"] for match in (ours, theirs))
    letters = _letters(TEXT_MACRO.sub("", ours["value"]))
    if old == new or old not in letters or new in letters or bool(ours["round"]) != bool(theirs["round"]):
        return answer
    return (
        answer[: ours.start("letter")]
        + theirs["letter"]
        + answer[ours.end("letter") : ours.start("value")]
        + re.sub(
            rf"\\text\s*\{{[^{{}}]*\}}|\\[a-zA-Z]+|{old}",
            lambda found: new if found[0] == old else found[0],
            ours["value"],
        )
    )


def with_constant_of(answer: str, gold: str) -> str:
    """A tidied answer with the gold one's letter for the constant added last: x^2 + K beside x^2 + C."""
    ours, theirs = _CONSTANT.search(answer), _CONSTANT.search(gold)
    if ours is None or theirs is None or theirs[1] in _letters(answer[: ours.start()]):
        return answer
    return answer[: ours.start()] + theirs[0]


def _letters(answer: str) -> set[str]:
    """The letters that are no part of a macro's name."""
    return set(_MACRO_OR_LETTER.findall(answer)) - {""}


def _known_letter(unit: str) -> bool:
    name = unit.strip().partition("^")[0].strip()
    return len(name) == 1 and size_of(name) is not None


def spelt(answer: str, beside: str) -> list[str] | None:
    """The ways to read a tidied answer `beside` another, mostly one."""
    answer = _CIS_OF_DEGREES.sub(
        r"(\\cos\\left(\\frac{\1\\pi}{180}\\right)+i\\sin\\left(\\frac{\1\\pi}{180}\\right))", answer
    )
    if _UNIT_SYMBOL.search(answer) or _READ_PAST.search(answer) or not _texts_are_names_or_units(answer):
        return None
    answer = _TRIG_OF_DEGREES.sub(r"\1\\left(\\frac{\2\\pi}{180}\\right)", answer)
    answer = _ODD_ROOT_OF_NEGATIVE.sub(r"-\\sqrt[\1]{\2}", answer)
    answer = _POINT.sub("", answer) if beside.startswith("(") else _CHOOSE.sub(_chosen, answer)
    answer = _MIXED.sub(_added, answer)
    match = _SLASH.search(answer)
    if match is None:
        return [answer]
    before, after = answer[: match.start()], answer[match.end() :]
    apart = f"{before}\\frac{{{match['top']}}}{{{match['bottom']}}} {match['rest']}{after}"
    if match["gap"]:
        return [apart]
    return [apart, f"{before}\\frac{{{match['top']}}}{{{match['bottom']} {match['rest']}}}{after}"]


def _texts_are_names_or_units(answer: str) -> bool:
    """Whether what stands in `\\text` may be left out: "and" and "or", a name before "=", a unit at the end."""
    for match in TEXT_MACRO.finditer(answer):
        words, after = match[1], answer[match.end() :].strip()
        if _JOINS.fullmatch(words):
            continue
        before = answer[: match.start()].strip()
        if len(words.strip()) == 1 and not before and not after:
            continue
        named = not before and after.startswith("=") and not _CHANGES.search(words)
        behind = before and re.fullmatch(r"[\s^{}23.)\]/]*(?:\\text\s*\{[^{}]*\}[\s^{}23.]*)?", after)
        if words.strip() and not (named or (behind and not _changes(words, before))):
            return False
    return True


def _changes(words: str, before: str) -> bool:
    """Whether words in `\\text` behind an expression may change it: no unit, and no remark about it."""
    if len(letter := words.strip(" .")) == 1:
        known = letter in LETTER_UNITS or size_of(letter) is not None
        return not known or (words[0] != " " and bool(_letters(TEXT_MACRO.sub("", before))))
    words = words.strip().casefold()
    if _CHANGES.search(words) or is_magnitude(words.removesuffix("s")) or words == "dozen":
        return True
    if _PERCENTAGE.fullmatch(words) or _REMARK.fullmatch(words):
        return False
    joined = _BETWEEN_NAMES.sub(" ", words)
    letters = joined != words and any(len(word) == 1 and word != "a" for word in joined.split())
    return letters or says_more(joined)


def _added(match: re.Match[str]) -> str:
    """A mixed number as the sum it is, where the fraction is less than one; else the product it must be."""
    return f"({match[1]}+{match[2]})" if int(match[3]) < int(match[4]) else match[0]


def _chosen(match: re.Match[str]) -> str:
    n = match["up"] or match["down"] or match["plain"] or match["n2"]
    k = match["k"] or match["k2"] or match["k3"]
    if "C" in (match["kind"], match["kind2"], match["kind3"]):
        return f"\\binom{{{n}}}{{{k}}}"
    return f"\\frac{{{n}!}}{{({n}-{k})!}}"
