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
# "Final answer: The final answer is $12$", "Oops, that should be 12", of a formula or a number and nothing more.
_FINAL = re.compile(
    r"(?:\bfinal\s+answer\s*+(?:is\s*+:?|:)|\banswer\s+(?:is|(?:should|must)\s+be)\s*+:?"
    r"|\b(?:wait|oops|no|actually|sorry|correction)\b[^\w\n]{1,9}(?:it|this|that)\s+(?:is|should\s+(?:be|have\s+been)))"
    r"\s*+[*_]*(?P<said>\$[^$\n]+\$|\\\([^\n]{1,500}?\\\)|-?\\?\$?\d[\d,./]*)[*_]*(?=\s*(?:[.!]?\)?\s*$|\.\s))",
    re.IGNORECASE | re.MULTILINE,
)
# An answer that the text doesn't hold itself: "A common wrong answer is 12", "One might think the answer is 12".
_DOUBTED = re.compile(
    r"(?:\b(?:incorrect|wrong|false|previous|earlier|initial|original|naive|tempting)"
    r"|\b(?:if|suppose|supposing|assume|assuming|whether"
    r"|(?:(?<!\bI )(?<!\bwe )(?:might|may|could|would)|tempting\s+to)\s+(?:think|say|guess|believe|expect|conclude))"
    r"(?:\s+that)?(?:\s+(?:the|our|my|your))?(?:\s+(?:final|correct|right))?)\s+\Z",
    re.IGNORECASE,
)
_DOUBTED_WITHIN = 60  # characters before "answer"
# "If x were 2, the answer is 12", "The digits of the answer are 12": of another answer, or another thing.
_SUPPOSED = re.compile(
    r"\b(?:if|unless|suppose|had|were)\b[^.!?\n]*\Z|\b(?:of|in)\s+(?:the|our|my|this)\s+\Z", re.IGNORECASE
)
_SUPPOSED_WITHIN = 200
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
# What is concluded is one value of several: "x = 3 or x = 8", "the base is 3 and the height is 4".
_ONE_OF_SEVERAL = re.compile(
    r"(?<![\w)}])[a-zA-Z](?:_\w)?\s*=[^=]*?(?:\bor|\band|,)\s*(?:\$|\\\()?\s*\Z|\b(?:is|are)\s+\S{1,40}\s+(?:and|or)\s[^,]*\Z"
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
MAGNITUDE = r"(?:hundred|thousand|million|billion|trillion|dozen)\b"  # of which a number in front is a part
_SENTENCE_END = re.compile(r"[.!?](?=\s|$|[*_<])(?!\s+[-=+*/×·÷]\s*[\d(\\$])")  # 5! + 1 goes on
# "By" before a number multiplies: "5 by 7".
_REASON = re.compile(
    r",\s+(?:but\s+)?not\s|\s*\((?:because|since|as)\s"
    r"|,?\s+(?:because|since|so|as|which|where|when|for|by(?!\s+\\?\$?\d)|if)\s",
    re.IGNORECASE,
)
_ELSE = re.compile(r"\b(?:otherwise|else)\b", re.IGNORECASE)  # then "5 when x is even" isn't the whole answer
# What may follow formulas that are the whole answer. Anything else may be a part of it: "$5$ million", "$5$ or 6".
_ENDS_FORMULAS = re.compile(
    r"[*_]*+(?:"
    + "|".join(
        (
            r"\s*+[)\]}>\"'”]*+[.!?,;:]*+[)\]*]*+\s*+(?:\\\\)?\s*\Z",
            r"\s*+[)\]}\"'”]*[.!?](?=[\s*_<])|\s*+<",
            rf"(?:{_REASON.pattern})(?!.*{_ELSE.pattern})",
            r"\s*+(?:∎|\$\\(?:black)?square\$|[\u2705\u2713\u2714\U0001f300-\U0001faff])",
            rf"\s+\((?!(?:in\s+)?base\b|{MAGNITUDE})(?:[a-zA-Z]{{2}}|[A-J]\))",  # "(see above)", "(B)"
            r",?\s+(?:i\.\s?e\b|that\s+is|namely|or\s+(?:about|approximately))",
            r",?\s+(?:respectively|as\s+(?:desired|required)|in\s+total|altogether|rather\s+than|instead\s+of)\b",
            r",?\s+(?:and|but)\s+(?:not|so|thus|hence|therefore|we|this|it|that|then)\b",
            r",\s+[a-z]{2,20}ing\b",
            # "in the plane", ", a prime": words and nothing that could be another value
            r"(?:\s+(?:of|in|on|from|at)\s+the\b|(?:[,;:]|\s[-–—])\s+(?!(?:or|and)\b)[a-z])[^\d$\\.!?]*(?:[.!?]|\Z)",
        )
    )
    + ")",
    re.IGNORECASE,
)
_BOLD_BEHIND = re.compile(r"(?<=[$)\]])\*\*(?=\s)")
# "A) or B)": the brackets would make one choice of it, and a text.
_CHOICES = re.compile(r"[A-J]\)(?:\s*(?:,|,?\s*\b(?:and|or)\b|[/&])\s*\(?[A-J]\)?)+")
_BRACKET = re.compile("[()]")
_JOINT = re.compile(r"\s*(?:,|,?\s*\b(?:and|or)\b)\s*(?=\$|\\[(\[])")
_LONGEST_ANSWER_IN_WORDS = 12
_LONGEST_CONCLUSION = 500  # characters


def stated_in_words(text: str) -> str | None:
    """The answer by the last "answer is", else below a heading "Answer", else in a last sentence that concludes."""
    return _by_phrase(text) or _below_heading(text) or _by_conclusion(text.rsplit("\n", 1)[-1])


def _by_phrase(text: str) -> str | None:
    for match in reversed(list(_PHRASE.finditer(text))):
        if _is_doubted(text, match):
            continue
        rest = match["rest"].strip()
        formulas, behind = _formulas_joined(rest)
        if formulas and _ENDS_FORMULAS.match(behind):
            return ", ".join(formulas)
        is_about_math = match["noun"].lower().startswith("answer") or _LOOKS_LIKE_MATH.match(rest)
        if not is_about_math or _TALKS_ABOUT_IT.match(rest):
            continue
        stated = _first_sentence(_BOLD_BEHIND.sub("", rest) if formulas else rest)
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
    """The last "answer is …" in what stands behind a box: who says it there has thought again."""
    stated = [
        match
        for match in _FINAL.finditer(text)
        if not _is_doubted(text, match)
        and not _SUPPOSED.search(text[max(0, match.start() - _SUPPOSED_WITHIN) : match.start()])
    ]
    return stated[-1]["said"] if stated else None


def _is_doubted(text: str, match: re.Match[str]) -> bool:
    return bool(_DOUBTED.search(text[max(0, match.start() - _DOUBTED_WITHIN) : match.start()]))


def _first_sentence(text: str) -> str:
    """The first sentence of what is stated, without reasons, and of "the volume is 120" the last word."""
    sentence = _SENTENCE_END.split(text, maxsplit=1)[0]
    if _ELSE.search(sentence):
        return sentence
    stated = _REASON.split(sentence, maxsplit=1)[0]
    if " is " in stated:
        stated = stated.rsplit(" is ", 1)[1]
    return _BRACKET.sub("", stated) if _CHOICES.fullmatch(stated.strip()) else stated


def _formulas_joined(text: str) -> tuple[list[str], str]:
    """The formulas a text begins with, joined by nothing but "," or "and", and what stands behind them."""
    formulas = []
    while math := MATH.match(text):
        formulas.append(next(group for group in math.groups() if group is not None))
        text = text[math.end() :]
        if not (joint := _JOINT.match(text)):
            break
        text = text[joint.end() :]
    return formulas, text


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
    said = next(name for name in ("whole", "plain", "said") if concludes[name])
    if _ONE_OF_SEVERAL.search(concludes.string, concludes.start(), concludes.start(said)):
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
