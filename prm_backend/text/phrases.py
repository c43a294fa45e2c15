"""Where a solution states its answer in words: "The answer is …" and its kin. Knows neither boxes nor marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Quantifiers that give nothing back, or are bounded: a text of nothing but blanks, marks or openings is no trap.
_PHRASE = re.compile(
    r"\b(?P<noun>answers?|solutions?)\b(?:\s+set\b)?(?:\s+(?:to|of|for)\s[^.\n]{1,80}?|\s+\([^)\n]{0,200}\))?"
    r"\s*+[*_]*+\s*+(?::|=|\b(?:is|was|equals|are|(?:should|must|would|will|has to)\s+be)\b)\s*[*_]*\s*:?"
    r"\s*(?:therefore|thus|then|given by|simply|just|indeed|equal to)?\s*(?=(?P<rest>\S[^\n]{0,2000}))",
    re.IGNORECASE,
)
_SHORT = re.compile(
    r"^[^\w\n]*ans(?:wer)?\s*(?:[.:=-]\s*|(?=\$|\\\())(?P<rest>\S[^\n]*)", re.IGNORECASE | re.MULTILINE
)
# "Final answer: The final answer is $12$", of a formula or a number and nothing more.
_FINAL = re.compile(
    r"\bfinal\s+answer\s*(?:is\s*:?|:)\s*[*_]*(?P<said>\$[^$\n]+\$|\\\([^\n]{1,500}?\\\)|-?\\?\$?\d[\d,./]*)[*_]*"
    r"(?=\s*(?:[.!]?\s*$|\.\s))",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"[#*_\s]*(?:final\s+|the\s+)?answer\s*:?[*_:\s]*", re.IGNORECASE)
# A last sentence that concludes: "Therefore, the area is $12$."
_CONCLUDES = re.compile(
    r"(?<![a-zA-Z])(?:therefore|thus|hence|the result|in conclusion|consequently|we (?:find|conclude) that)\b"
    r"[^.!?\n]{0,200}?"
    r"(?:\b(?:is|are|equals)\s+(?P<said>\$[^$]+\$|\\\([^\n]+?\\\)|[-−]?\\?\$?[\d][\d,./]*%?)"
    r"|(?P<plain>\b[a-zA-Z]\s*=\s*-?\d[\d,./]*)|(?P<whole>\$[^$=<>]+(?:[=<>]|\\(?:[lg][et]q?|neq?)(?![a-zA-Z]))[^$=<>]+\$"
    r"|\\\([^=<>\n]+?=[^=<>\n]+?\\\)))"
    r"(?P<unit>[ ]?[a-zA-Z]+(?:[ ][a-zA-Z]+){0,2})?\s*[.!]?\s*\Z",
    re.IGNORECASE,
)
_TALKS_ABOUT_IT = re.compile(r"(?:not|to|that|obtained|found|in|as|when|what|how)\b", re.IGNORECASE)
_LOOKS_LIKE_MATH = re.compile(r"[$\\\d({\[+.-]|[a-zA-Z](?:_\w+)?\s*(?:[=<>≤≥≠]|!=)")
_PHRASE_AFTER = re.compile(
    r"(?P<math>\$[^$\n]+\$|\\\([^\n]{1,500}?\\\))\s+is\s+(?:the|our)\s+(?:final\s+)?(?:answer|solution)",
    re.IGNORECASE,
)
# "The correct option is (B)", "so option B is correct".
_CHOICE_PHRASE = re.compile(
    r"\b(?i:(?:correct|right|best|final)\s+(?:option|choice)\s+(?:is|:))\s*[*_$]*\(?([A-J])\b"
    r"|\b(?i:option|choice|answer)\s+[*_$]*\(?([A-J])\)?[*_$]*\s+(?i:is\s+(?:the\s+)?(?:correct|right|best|answer))\b"
)
MATH = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$((?:\\.|[^$\\])+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$|[*_<])")
_REASON = re.compile(
    r",\s+(?:but\s+)?not\s|\s*\((?:because|since|as)\s|,?\s+(?:because|since|so|as|which|where|when|for|by|if)\s",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*(?:,|,?\s*\b(?:and|or)\b)\s*(?=\$|\\[(\[])")
_LONGEST_ANSWER_IN_WORDS = 12
_LONGEST_CONCLUSION = 500  # characters


def stated_in_words(text: str) -> str | None:
    """The answer by the last "answer is", else below a heading "Answer", else in a last sentence that concludes."""
    return _by_phrase(text) or _below_heading(text) or _by_conclusion(text.rsplit("\n", 1)[-1])


def _by_phrase(text: str) -> str | None:
    for match in reversed(list(_PHRASE.finditer(text))):
        rest = match["rest"].strip()
        if formulas := _formulas_joined(rest):
            return ", ".join(formulas)
        is_about_math = match["noun"].lower().startswith("answer") or _LOOKS_LIKE_MATH.match(rest)
        if not is_about_math or _TALKS_ABOUT_IT.match(rest):
            continue
        sentence = _SENTENCE_END.split(rest, maxsplit=1)[0]
        stated = _REASON.split(sentence, maxsplit=1)[0]
        if " is " in stated:  # "Final answer: the volume is 120"
            stated = stated.rsplit(" is ", 1)[1]
        if len(stated.split()) <= _LONGEST_ANSWER_IN_WORDS:
            return stated
    if short := list(_SHORT.finditer(text)):
        return _SENTENCE_END.split(short[-1]["rest"], maxsplit=1)[0]
    after = list(_PHRASE_AFTER.finditer(text))
    if after:
        return after[-1]["math"]
    choices = list(_CHOICE_PHRASE.finditer(text))
    return choices[-1][1] or choices[-1][2] if choices else None


def final_behind(text: str) -> str | None:
    """The last "final answer is …" in what stands behind a box: who says it there has thought again."""
    stated = list(_FINAL.finditer(text))
    return stated[-1]["said"] if stated else None


def _formulas_joined(text: str) -> list[str]:
    """The formula a text begins with, and those that follow it with nothing but "," or "and" between."""
    formulas = []
    while math := MATH.match(text):
        formulas.append(next(group for group in math.groups() if group is not None))
        if not (joint := _JOINT.match(text, math.end())):
            break
        text = text[joint.end() :]
    return formulas


def _below_heading(text: str) -> str | None:
    """The first line below a last heading "Answer"."""
    lines = text.split("\n")
    for i in range(len(lines) - 2, -1, -1):
        if _HEADING.fullmatch(lines[i]):
            stated = first_whole_line(lines[i + 1 :])
            return stated if len(stated.split()) <= _LONGEST_ANSWER_IN_WORDS else None
    return None


def _by_conclusion(line: str) -> str | None:
    concludes = _CONCLUDES.search(line[-_LONGEST_CONCLUSION:])
    if concludes is None:
        return None
    return concludes["whole"] or concludes["plain"] or f"{concludes['said']}{concludes['unit'] or ''}"


def first_whole_line(lines: Sequence[str]) -> str:
    """The first line, with those below that it needs to close its braces and environments."""
    taken = ""
    for line in lines:
        taken = f"{taken}\n{line}" if taken else line
        if taken.count("{") <= taken.count("}") and taken.count("\\begin") <= taken.count("\\end"):
            return taken
    return lines[0] if lines else ""
