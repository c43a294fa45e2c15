"""Model-written text as safe HTML: everything escaped, formulas as MathML Core. Trusts nothing, keeps no rows.

A formula that math-core cannot convert, or that is too big to be one, shows its source, marked; the text around it
stays. The result carries no style attribute, because the Content-Security-Policy would drop it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from math_core import LatexError, LatexToMathML

register = template.Library()

# A converter recurses and multiplies; these stop a formula bomb before it is lit. The longest formula among
# 45,000 of MATH and GSM8K solutions has 418 characters.
LONGEST_FORMULA = 2_000
DEEPEST_NESTING = 40
MOST_CELLS = 2_000
LARGEST_MATHML = 32_000
LONGEST_TEXT = 20_000  # what follows is shown without mathematics
OPENING = 140  # characters of a text in a list
_WIDTH_OF_A_FORMULA = 12  # in characters, give or take
MOST_OPENINGS = 300  # formulas and what looks like the beginning of one

_CONVERTER = LatexToMathML(
    macros={
        "dotsb": r"\cdots",
        "dotsm": r"\cdots",
        "dotsi": r"\cdots",
        "dotsc": r"\ldots",
        "dotso": r"\ldots",
        "widetilde": r"\tilde{#1}",
        "mbox": r"\text{#1}",
        "textnormal": r"\text{#1}",
        "allowbreak": "{}",
    }
)
_OPENING = re.compile(
    r"\\\$|\$\$|\$|\\\(|\\\[|\[asy\]|\\boxed\s*(?=\{)"
    r"|\\begin\{(?P<environment>(?:align|gather|equation|multline|alignat)\*?"
    r"|aligned|gathered|cases|array|(?:[pbvBV]|small)?matrix)\}"
)
_CLOSING = {"$$": "$$", "\\(": "\\)", "\\[": "\\]", "[asy]": "[/asy]"}
_DOLLAR = re.compile(r"(?<!\\)\$")
_COMMANDS = re.compile(r"\\(?:text|mbox|textbf|mathrm|operatorname)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_WORD = re.compile(r"(?<![A-Za-z{])[A-Za-z]{2,}(?![A-Za-z}])")  # {array} is no prose
_NESTING = re.compile(r"\\[{}]|\\left\b|\\right\b|\\begin\b|\\end\b|[{}]")
_COLUMNS = re.compile(r"\\begin\{\w+\*?\}\s*\{([^}]*)\}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TEX_IN_ANSWER = re.compile(r"[\\^_{}]|^[-+]?[a-zA-Z]?$|^[\d\s+\-*/=().,:<>]*$")


@register.filter
def maths(text: str) -> SafeString:
    """Escaped HTML of a text, with `$…$`, `$$…$$`, `\\(…\\)`, `\\[…\\]`, environments and `\\boxed{…}` as MathML."""
    return mark_safe("".join(escape(piece) if is_text else piece for piece, is_text in pieces(text)))


@register.filter
def opening(text: str) -> SafeString:
    """How a text begins, for a list: about `OPENING` characters, cut between words and never within a formula."""
    shown, room = [], OPENING
    for piece, is_text in pieces(text):
        if piece and (room <= 0 or (is_text and len(piece) > room)):
            head = piece[: room + 1].rpartition(" ")[0] or piece[:room] if is_text and room > 0 else ""
            shown.append(f"{escape(head.rstrip())} …")
            break
        shown.append(escape(piece) if is_text else piece)
        room -= len(piece) if is_text else _WIDTH_OF_A_FORMULA
    return mark_safe("".join(shown))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text cut into (raw text, True), still to be escaped, and (HTML of a formula or a figure's source, False)."""
    position = openings = 0
    readable = text[:LONGEST_TEXT]
    while (opening := _OPENING.search(readable, position)) and openings < MOST_OPENINGS:
        openings += 1
        yield readable[position : opening.start()], True
        if opening[0] == "\\$":
            yield "$", True
            position = opening.end()
            continue
        found = _enclosed(readable, opening)
        if found is None:  # a dollar of money, or an opening that nothing closes
            yield opening[0], True
            position = opening.end()
            continue
        source, position = found
        whole = readable[opening.start() : position]
        if opening[0] == "[asy]":
            yield f"<pre><code>{escape(source.strip())}</code></pre>", False
        else:
            shown = opening[0] in ("$$", "\\[") or opening["environment"] is not None
            yield formula(source, display=shown) or _source(whole), False
    yield text[position:], True


@register.filter
def answer(text: str | None) -> SafeString:
    """A final answer, which mostly comes without delimiters: LaTeX as MathML, a word as a word."""
    bare = (text or "").strip()
    if not bare:
        return mark_safe("")
    if not _DOLLAR.search(bare) and "\\(" not in bare and _TEX_IN_ANSWER.search(bare):
        return mark_safe(formula(bare) or _source(bare))
    return maths(bare)


@lru_cache(maxsize=2048)
def formula(source: str, *, display: bool = False) -> str | None:
    """MathML for LaTeX without its delimiters, or None where there is none to be had."""
    source = source.strip()
    if not source or len(source) > LONGEST_FORMULA or not _is_modest(source):
        return None
    try:
        raw = _CONVERTER.convert_with_local_state(_THOUSANDS.sub("{,}", source), displaystyle=display)
    except LatexError:
        return None
    return _harmless(raw) if len(raw) <= LARGEST_MATHML else None


def _source(whole: str) -> str:
    title = _("This formula could not be shown; here is its source.")
    return f'<code class="tex" title="{escape(title)}">{escape(whole)}</code>'


def _enclosed(text: str, opening: re.Match[str]) -> tuple[str, int] | None:
    """The LaTeX that an opening delimiter encloses and where the text goes on; None where it encloses none."""
    start = opening.end()
    limit = start + LONGEST_FORMULA
    if opening["environment"] is not None:
        closing = rf"\end{{{opening['environment']}}}"
        end = text.find(closing, start, limit)
        end += len(closing)
        return (text[opening.start() : end], end) if end >= start + len(closing) else None
    if opening[0].startswith("\\boxed"):
        after = _after_group(text, start, limit)
        return None if after is None else (text[opening.start() : after], after)
    if opening[0] == "$":
        closer = _DOLLAR.search(text, start, limit)
        if closer is None or not _is_inline(
            text[start : closer.start()], text[closer.end() : closer.end() + 2]
        ):
            return None
        return text[start : closer.start()], closer.end()
    closing = _CLOSING[opening[0]]
    end = text.find(closing, start, limit)
    return (text[start:end], end + len(closing)) if end > start else None


def _after_group(text: str, start: int, limit: int) -> int | None:
    depth = 0
    for brace in re.compile(r"\\.|[{}]").finditer(text, start, limit):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and brace[0] == "}":
            return brace.end()
    return None


def _is_inline(content: str, after: str) -> bool:
    """Whether what stands between two single dollars is mathematics rather than prose between two prices."""
    if not content.strip() or "\n\n" in content:
        return False
    if re.match(r"\.?\d", after):  # the second dollar opens a price
        return False
    words = len(_WORD.findall(_COMMANDS.sub(" ", content)))
    at_an_edge = content[0].isspace() or content[-1].isspace()
    return words < 4 and not (words and at_an_edge)


def _is_modest(source: str) -> bool:
    """Whether a formula is small enough for the converter: its nesting, and its rows times its columns."""
    depth = 0
    for token in _NESTING.findall(source):
        depth += 1 if token in ("{", "\\left", "\\begin") else -1 if token in ("}", "\\right", "\\end") else 0
        if depth > DEEPEST_NESTING:
            return False
    columns = max([source.count("&"), *(len(spec) for spec in _COLUMNS.findall(source))])
    return (1 + source.count("\\\\")) * (1 + columns) <= MOST_CELLS


# Only what MathML Core (and math-core's text mode) knows comes through; anything else and the source is shown.
_TAG = re.compile(r"<(/?)([A-Za-z]+)((?:\s+[A-Za-z-]+=\"[^\"<>]*\")*)\s*(/?)>")
_ATTRIBUTE = re.compile(r"([A-Za-z-]+)=\"([^\"<>]*)\"")
_ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        """math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msup msub msubsup mover munder munderover mtable mtr
        mtd mpadded mphantom mmultiscripts mprescripts merror menclose b i em span""",
    )
)
_ATTRIBUTES = frozenset(
    re.findall(
        r"\w+",
        """display displaystyle scriptlevel stretchy symmetric form fence separator largeop movablelimits lspace rspace
        minsize maxsize accent accentunder linethickness mathvariant mathcolor width height depth voffset columnspan
        rowspan notation""",
    )
)
_CLASS_OF_STYLE = {
    "text-align:left": "l",
    "text-align:right": "r",
    "padding-left:0": "pl0",
    "padding-right:0": "pr0",
    "width:100%": "wide",
    "width:50%": "half",
    "border-top:0.05emsolidcurrentcolor": "bt",
    "border-bottom:0.05emsolidcurrentcolor": "bb",
    "border-left:0.05emsolidcurrentcolor": "bl",
    "border-right:0.05emsolidcurrentcolor": "br",
}
_COLOUR = re.compile(r"color:(#[0-9A-Fa-f]{3,8})")


def _harmless(mathml: str) -> str | None:
    """The MathML with its styles turned into classes, or None if anything in it is not known to be harmless."""
    out: list[str] = []
    position = 0
    for tag in _TAG.finditer(mathml):
        text = mathml[position : tag.start()]
        position = tag.end()
        closes, name, attributes, empty = tag.groups()
        if "<" in text or ">" in text or name not in _ELEMENTS:
            return None
        kept = "" if closes else _kept_attributes(attributes)
        out += [text, f"<{closes}{name}{kept}{'></' + name if empty else ''}>"]
    rest = mathml[position:]
    return None if "<" in rest or ">" in rest else "".join(out)


def _kept_attributes(attributes: str) -> str:
    kept: dict[str, str] = {}
    classes: list[str] = []
    for name, value in _ATTRIBUTE.findall(attributes):
        if name == "style":
            for declaration in value.replace(" ", "").split(";"):
                if declaration in _CLASS_OF_STYLE:
                    classes.append(_CLASS_OF_STYLE[declaration])
                elif colour := _COLOUR.fullmatch(declaration):
                    kept["mathcolor"] = colour[1]
        elif name == "class":
            classes.append(value)
        elif name in _ATTRIBUTES:
            kept[name] = value
    if classes:
        kept["class"] = " ".join(classes)
    return "".join(f' {name}="{value}"' for name, value in kept.items())
