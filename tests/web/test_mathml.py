"""Text with formulas in it: shown as MathML, never as somebody else's HTML, and never slowly."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.web import mathml
from annotate.web.mathml import OPENING, answer, maths, opening


@pytest.mark.parametrize(
    "text", [r"$x^2$", r"\(x^2\)", r"a $$x^2$$", r"\[x^2\]", r"\begin{align*}x^2\end{align*}"]
)
def test_every_delimiter_makes_mathml(text: str) -> None:
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in maths(text)
    assert "x^2" not in maths(text)


@pytest.mark.parametrize("text", [r"$$x$$", r"\[x\]", r"\begin{align*}x\end{align*}"])
def test_display_formulas_are_blocks(text: str) -> None:
    assert '<math display="block">' in maths(text)


def test_a_box_needs_no_dollars() -> None:
    assert maths(r"So \boxed{\frac{1}{2}}.") == (
        'So <math><menclose notation="box"><mfrac><mn>1</mn><mn>2</mn></mfrac></menclose></math>.'
    )


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $7.",
        "$5, then $7",
        "$5-$7 a head",
        "$5 + $7 = $12",
        "$5/$7",
        "costs $5 each ($10 in all)",
        "She pays $.50 and he $.75",
        "He has 5$ and she has 7$ more",
        "$ 5 and $ 7",
        "just $5",
        "$$",
        "$ $",
    ],
)
def test_money_is_no_mathematics(text: str) -> None:
    assert maths(text) == text


def test_an_escaped_dollar_is_a_dollar_in_text_and_in_formulas() -> None:
    assert maths(r"It costs \$5 and \$7.") == "It costs $5 and $7."
    assert maths(r"$\$5$") == "<math><mi>$</mi><mn>5</mn></math>"


def test_money_before_a_formula_leaves_the_formula_alone() -> None:
    assert maths("At $5 each, $n$ cost") == "At $5 each, <math><mi>n</mi></math> cost"


def test_thousands_are_set_tight() -> None:
    assert '<mn>1</mn><mo rspace="0">,</mo><mn>000</mn>' in maths("$1,000$")


def test_text_is_escaped_everywhere() -> None:
    hostile = "<script>alert(1)</script>"
    assert maths(hostile) == "&lt;script&gt;alert(1)&lt;/script&gt;"
    for text in (f"${hostile}$", rf"$\foo {hostile}$", rf"$\text{{{hostile}}}$", f"[asy]{hostile}[/asy]"):
        assert "<script" not in maths(text)
        assert "<script" not in answer(text)


def test_a_formula_that_cannot_be_shown_shows_its_source_and_the_rest_stays() -> None:
    html = maths(r"Since $\nosuch{x}$ and $y$ hold")
    assert r">$\nosuch{x}$</code>" in html
    assert html.startswith('Since <code class="tex" title=')
    assert html.endswith("and <math><mi>y</mi></math> hold")


def test_what_nothing_closes_is_text() -> None:
    for text in (r"\(x", r"\[x", r"\boxed{x", r"\begin{align*}x", "[asy]x"):
        assert maths(text) == text


def test_no_style_attribute_is_left_for_the_security_policy_to_drop() -> None:
    html = maths(
        r"$\begin{array}{l|r}1&2\\\hline 3&4\end{array} \color{red}x \! \begin{cases}a&b\end{cases}$"
    )
    assert "style" not in html.replace("displaystyle", "")
    assert 'class="l br"' in html
    assert 'mathcolor="#FF0000"' in html


def test_drawings_are_shown_as_code() -> None:
    assert maths("[asy]\ndraw((0,0)--(1,1));\n[/asy]") == "<pre><code>draw((0,0)--(1,1));</code></pre>"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("12", "<math><mn>12</mn></math>"),
        (r"\frac{3}{5}", "<math><mfrac><mn>3</mn><mn>5</mn></mfrac></math>"),
        ("Friday", "Friday"),
        ("$5", "$5"),
        ("$x$", "<math><mi>x</mi></math>"),
        ("", ""),
        (None, ""),
        (
            r"\nosuch",
            '<code class="tex" title="This formula could not be shown; here is its source.">\\nosuch</code>',
        ),
    ],
)
def test_answers_need_no_delimiters(text: str | None, html: str) -> None:
    assert answer(text) == html


@pytest.mark.parametrize(
    "bomb",
    [
        "$" + "{" * 900 + "}" * 900 + "$",
        "$" + r"\frac{1}{" * 150 + "}" * 150 + "$",
        "$" + r"\left(" * 150 + r"\right)" * 150 + "$",
        "$" + r"\begin{array}{" + "|" * 900 + "c}" + r"\\" * 400 + r"\end{array}$",
        "$" + r"\begin{matrix}" + "&" * 1900 + r"\end{matrix}$",
        r"$\newcommand{\a}{\a\a}\a$",
        r"\(" * 200_000,
        "$" * 200_000,
        "[asy]" * 100_000,
        r"\boxed{" * 50_000,
        r"\begin{align*}" * 20_000,
        "$x$" * 100_000,
        "$" + "x" * 1_000_000 + "$",
    ],
    ids=lambda bomb: bomb[:14],
)
def test_a_formula_bomb_is_defused(bomb: str) -> None:
    mathml.formula.cache_clear()
    begin = time.perf_counter()
    html = maths(bomb)
    assert time.perf_counter() - begin < 0.5
    assert len(html) < 6 * len(bomb) + 20_000 + mathml.MOST_OPENINGS * 100


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


_PIECES = st.sampled_from(
    [r"\frac", "{", "}", "$", "$$", r"\(", r"\)", r"\text{", "<b>", '"', "'", "&", r"\\", r"\color{", "red",
     "x", "1", " ", "^", "_", r"\begin{matrix}", r"\end{matrix}", "<script>", " onload=", r"\href{", "style=",
     r"\operatorname{", r"\sqrt[", "]", r"\left<", r"\right>", "\n", r"\boxed{", r"\%", "%", "#", "~", "é"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_whatever_the_text_the_html_is_whole_and_harmless(text: str) -> None:
    tags = _Tags()
    tags.feed(maths(text))
    assert not tags.open
    assert tags.seen <= mathml._ELEMENTS | {"code", "pre"}
    assert tags.attributes <= mathml._ATTRIBUTES | {"class", "title"}
    assert not re.search(r"<[^>]*\son\w+=", maths(text))


def test_a_list_shows_how_a_text_begins_and_cuts_no_formula() -> None:
    long = "How much is $\\frac{1}{2}$ of it, if " + "nobody told " * 20
    shown = opening(long)
    assert "<mfrac>" in shown
    assert "frac{" not in shown
    assert shown.endswith("told …") or shown.endswith("nobody …")
    assert len(re.sub("<math.*</math>", "", shown)) <= OPENING
    assert opening("a " * 69 + "$" + "x + " * 30 + "x$ and more").endswith("</math> …")
    assert opening("x" * 300) == "x" * OPENING + " …"
    assert opening("<b> $x$") == f"&lt;b&gt; {maths('$x$')}"
