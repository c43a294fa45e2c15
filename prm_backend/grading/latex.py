"""An answer's spelling made uniform: LaTeX macros, Unicode, plain-text operators. Compares nothing."""

from __future__ import annotations

import re

from prm_backend.grading.wording import phrased
from prm_backend.text.steps import bare_answer, storable

_UNICODE = str.maketrans(
    {
        **dict.fromkeys("−–—‐‑", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2007\u3000", " "),
        "×": "\\times ",
        "·": "\\cdot ",
        "⋅": "\\cdot ",
        "÷": "/",
        "±": "\\pm ",
        "∓": "\\mp ",
        "π": "\\pi ",
        "∞": "\\infty ",
        "≤": "\\le ",
        "⩽": "\\le ",
        "≥": "\\ge ",
        "⩾": "\\ge ",
        "≠": "\\ne ",
        "≈": "\\approx ",
        "∪": "\\cup ",
        "∩": "\\cap ",
        "∈": "\\in ",
        "∅": "\\emptyset ",
        "∖": "\\setminus ",
        "∑": "\\sum ",
        "∏": "\\prod ",
        "⁄": "/",
        "⌊": "\\lfloor ",
        "⌋": "\\rfloor ",
        "⌈": "\\lceil ",
        "⌉": "\\rceil ",
        "⟨": "(",
        "⟩": ")",
        "°": "^{\\circ}",
        "√": "\\sqrt ",
        "∛": "\\sqrt[3]",
        **{
            sign: f"\\frac{{{parts[0]}}}{{{parts[1]}}}"
            for sign, parts in zip(
                "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", zip("112131234151357", "233445555668888", strict=True), strict=True
            )
        },
        "¢": " cents",
        "ℝ": "\\mathbb{R}",
        "’": "'",
        "，": ",",
        "：": ":",
        "（": "(",
        "）": ")",
    }
)
_RAISED, _LOWERED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "₀₁₂₃₄₅₆₇₈₉"
_SCRIPT = re.compile(f"[{_RAISED}]+|[{_LOWERED}]+")
_SET_PLAIN = str.maketrans(_RAISED + _LOWERED, "0123456789+-n0123456789")
# A sign for a root is over all of the number that follows, and over a bracket.
_ROOT_OVER = re.compile(r"(√|∛|(?<![\\a-zA-Z])(?:sqrt|cbrt))\s*(?:(\d+(?:\.\d+)?)|\(([^()]*)\))")
_CURRENCIES = [
    (r"\\?\$|USD|US\s*\\?\$", "dollars"),
    (r"€|EUR|\\euro(?:\{\})?", "euros"),
    (r"£|GBP|\\pounds", "pounds"),
    (r"¥|JPY", "yen"),
    (r"CNY|RMB", "yuan"),
    (r"₹|INR|Rs\.?", "rupees"),
]
_SUM = (
    r"(?P<amount>(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d+)(?:\.\d+)?)"
    r"(?:\s*(?:\\text\s*\{\s*)?(?P<magnitude>thousand|million|billion|trillion)\s*\}?)?"
)
_MONEY = [
    (re.compile(rf"(?P<sign>-?)\s*(?:{mark})\s*(?P<inner>-?)\s*{_SUM}"), name) for mark, name in _CURRENCIES
] + [(re.compile(rf"(?P<sign>-?)(?P<inner>){_SUM}\s*(?:{mark})"), name) for mark, name in _CURRENCIES[1:]]
_ABOUT = re.compile(
    r"^(?:\\text\s*\{\s*)?(?:approximately|approx\.?|about|around|roughly|\\approx(?![a-zA-Z])|≈)"
    r"(?:\s*\})?\s*(?=[-+]?[\d.\\])"
    r"|\s*\((?:approximately|approx\.?|rounded)\)\s*$",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?:negative|minus)\s+(?=\d)", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:so|thus|therefore|hence),?\s+)?(?:the\s+|my\s+|our\s+)?(?:final\s+)?answer\b(?:\s+is\b)?\s*[:=]?\s*(?=[\s\\$\d(\[{-])",
    re.IGNORECASE,
)
_SIZES = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits)(?![a-zA-Z])\s*\.?"
)
_NO_SPACE = re.compile(r"\s*(?<!\\)\\!\s*|\{\\!\}")
_ESCAPED_TWICE = re.compile(r"\\\\(?=[a-zA-Z]{2})")
_SPACES = re.compile(
    r"(?<!\\)\\(?:[,;: ]|q?quad(?![a-zA-Z])|hspace\*?\{[^{}]*\}|hfill(?![a-zA-Z]))|~|(?<=\\\\)\[\d+\w\w\]"
)
_MATH_MARKS = re.compile(r"\\?\$|(?<!\\)\\[()\[\]]|[€£¥₹]")
_TEXT = re.compile(
    r"\\(?:textbf|textit|textrm|textsf|textup|textnormal|mbox|mathrm|mathbf|mathsf|mathit|bf|rm|operatorname)\s*(?=\{)"
)
_DOTTED_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3}){2,}")
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:(?:'\d{3})+|(?:_\d{3})+)(?:\.\d+)?")  # Swiss, and programs'
_ROWS = re.compile(r"\[\s*(\[[^\[\]]*\](?:\s*,\s*\[[^\[\]]*\])*)\s*\]")
_BRACKETED = re.compile(r"(?:\^|\\sqrt(?:\[\d+\])?)\s*\(")
_FUNCTIONS = "sqrt|arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|sec|csc|cot|log|ln|exp"
_SYNONYMS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"\\(?:[dtcs]|nice)frac(?![a-zA-Z])", r"\\frac"),
        (r"\\(?:text)?color\s*\{[^{}]*\}|\\(?:underline|ensuremath)\s*(?=\{)", ""),
        # Upright, they are constants and functions, no words.
        (r"\\text\s*\{\s*([ei])\s*\}(?=\s*(?:\^|$|[-+=,)}]))", r"\1"),
        (rf"(?<!\d)\\text\s*\{{\s*({_FUNCTIONS})\s*\}}(?=\s*[\^({{\\\da-z])", r"\\\1 "),
        (r"(?<![\\a-zA-Z])abs\s*\(([^()]*)\)", r"|\1|"),
        (r"\\text\s*\{\s*pi\s*\}", r"\\pi "),
        (r"\\num\s*(?=\{)", ""),
        (r"(?<![\w}])\\text\s*\{\s*(-?\d[\d,.]*)\s*\}", r"\1 "),
        (r"\\mathbb\s*([A-Z])", r"\\mathbb{\1}"),
        (r"(?<![\d/.}])(\d+) and (?:a|one) half(?![a-zA-Z])", r"\1\\frac{1}{2}"),
        (r"(?<![\d/.}])(\d+)\s*\\text\{ ?and (?:a|one) half\}", r"\1\\frac{1}{2}"),
        (r"\\langle(?![a-zA-Z])", "("),
        (r"\\rangle(?![a-zA-Z])", ")"),
        (r"\+\s*/\s*-", r"\\pm "),
        (r"\\dot\s*\{?(\d)\}?(\d*)\\dot\s*\{?(\d)\}?", r"\\overline{\1\2\3}"),
        (r"\\(?:leqslant|leq)(?![a-zA-Z])|<=", r"\\le "),
        (r"\\(?:geqslant|geq)(?![a-zA-Z])|>=", r"\\ge "),
        (r"\\neq(?![a-zA-Z])|!=", r"\\ne "),
        (r"\\lt(?![a-zA-Z])", "<"),
        (r"\\gt(?![a-zA-Z])", ">"),
        (r"\\varnothing(?![a-zA-Z])", r"\\emptyset "),
        (r"\\land(?![a-zA-Z])|∧", r"\\text{ and }"),
        (r"\\lor(?![a-zA-Z])|∨", r"\\text{ or }"),
        (r"\\lbrace(?![a-zA-Z])", r"\\{"),
        (r"\\rbrace(?![a-zA-Z])", r"\\}"),
        (r"\\(?:l|r)vert(?![a-zA-Z])", "|"),
        (r"\\begin\{[bB]?matrix\}|\\begin\{smallmatrix\}", r"\\begin{pmatrix}"),
        (r"\\end\{[bB]?matrix\}|\\end\{smallmatrix\}", r"\\end{pmatrix}"),
        (r"\{,\}", ","),
        (r"\*\*", "^"),
        (r"\^\s*\{?\s*\\circ\s*\}?|\\degree(?![a-zA-Z])", r"^{\\circ}"),
        (r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\frac\s*(\d)\s*\{", r"\\frac{\1}{"),
        (r"(\\frac\s*\{[^{}]*\})\s*([\da-zA-Z])", r"\1{\2}"),
        (r"\\sqrt\s*([\da-zA-Z])", r"\\sqrt{\1}"),
        (r"\^\s*(-?\d{2,}|-\d)", r"^{\1}"),
        (r"(?<![\\a-zA-Z])(pi|infty)(?![a-zA-Z])", r"\\\1 "),
        # Followed by what they are applied to: "5 sec" is a time.
        (rf"(?<![\\a-zA-Z])({_FUNCTIONS})(?=\s*[\^({{\\\d]|\s+[a-z]\b)", r"\\\1 "),
        (r"(?<![\\a-zA-Z])(?:infinity|oo)(?![a-zA-Z])", r"\\infty "),
        (r"\s+", " "),
    ]
]


def tidy(answer: str) -> str:
    """The answer in one spelling of LaTeX, its meaning untouched: unwrapped, no `$`, sizes or spacing macros.

    `\\text{…}` (and `\\mbox`, `\\mathrm` …) stay, as `\\text{…}`, since what stands in them is a word.
    """
    text = storable(answer)
    text = bare_answer(_LABEL.sub("", bare_answer(text), count=1))
    text = _ABOUT.sub("", _MINUS.sub("-", _money(text)))
    text = _SCRIPT.sub(_script, text)
    text = _ROOT_OVER.sub(_root, text).translate(_UNICODE)
    if "\\begin" not in text:  # there, two backslashes end a row
        text = _ESCAPED_TWICE.sub(r"\\", text)
    text = _NO_SPACE.sub("", _SIZES.sub("", _MATH_MARKS.sub(" ", text)))
    text = _TEXT.sub(r"\\text", _SPACES.sub(" ", text))
    for pattern, replacement in _SYNONYMS:
        text = pattern.sub(replacement, text)
    text = _braced(text)
    text = bare_answer(text.strip().removesuffix("\\\\").rstrip(",;: "))
    text = phrased(text)
    if _GROUPED.fullmatch(text):
        return re.sub("[_']", "", text)
    if _DOTTED_THOUSANDS.fullmatch(text):
        return text.replace(".", "")
    if rows := _ROWS.fullmatch(text):  # [[1, 2], [3, 4]]
        cells = (row.replace(",", "&") for row in re.findall(r"\[([^\[\]]*)\]", rows[1]))
        return "\\begin{pmatrix}" + "\\\\".join(cells) + "\\end{pmatrix}"
    return text


def _money(text: str) -> str:
    """An amount of money with its currency in words, since its sign would be dropped with those around formulas."""
    for pattern, name in _MONEY:
        if match := pattern.fullmatch(text):
            unit = f"{match['magnitude']} {name}" if match["magnitude"] else name
            return f"{match['sign'] or match['inner']}{match['amount']}\\text{{ {unit}}}"
    return text


def _script(match: re.Match[str]) -> str:
    """A run of raised or lowered signs as one power or one index."""
    mark = "^" if match[0][0] in _RAISED else "_"
    return f"{mark}{{{match[0].translate(_SET_PLAIN)}}}"


def _braced(text: str) -> str:
    """The text with braces for the brackets behind `^` and a root: what they hold may have brackets, too."""
    for opened in reversed([match.end() - 1 for match in _BRACKETED.finditer(text)]):
        depth = 0
        for i in range(opened, len(text)):
            depth += (text[i] == "(") - (text[i] == ")")
            if depth == 0:
                text = f"{text[:opened]}{{{text[opened + 1 : i]}}}{text[i + 1 :]}"
                break
    return text


def _root(match: re.Match[str]) -> str:
    degree = "[3]" if match[1] in ("∛", "cbrt") else ""
    return f"\\sqrt{degree}{{{match[2] or match[3]}}}"
