"""Light markdown in what models write: shown where it is clearly meant, never at the price of a character."""

from __future__ import annotations

import time
from html import escape

import pytest

from annotate.web.prose import parts, prose


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("So **x is 3**, done.", "So <strong>x is 3</strong>, done."),
        ("Use `x**2`.", "Use <code>x**2</code>."),
        ("- one\n- two", "<ul><li>one</li><li>two</li></ul>"),
        ("First:\n1. one\n2) two\nEnd.", 'First:<ol><li value="1">one</li><li value="2">two</li></ol>End.'),
        ("1. one\n3. three", '<ol><li value="1">one</li><li value="3">three</li></ol>'),
        ("```python\nx = '<b>'\n```", "<pre><code>x = &#x27;&lt;b&gt;&#x27;</code></pre>"),
        ("## Case 1\nSo.", '<strong class="heading">Case 1</strong>So.'),
        ("**$x$** is 2", "<strong><math><mi>x</mi></math></strong> is 2"),
        (
            "| a | b |\n|---|---|\n| $x$ | **2** |",
            '<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>'
            "<tbody><tr><td><math><mi>x</mi></math></td><td><strong>2</strong></td></tr></tbody></table>",
        ),
        ("[asy]draw((0,0)--(1,1));[/asy]", "<pre><code>draw((0,0)--(1,1));</code></pre>"),
    ],
)
def test_what_is_clearly_markdown_is_shown_as_such(text: str, html: str) -> None:
    assert prose(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "2**3 and 4**5",
        "2 ** 3 ** 4",
        "a*b*c = d",
        "10\n- 3\n- 2",  # a subtraction, written out
        "1. A lone number.",
        "- A lone dash.",
        "|x| = 3\n|y| = 4",
        "10 pens\n- 3 pens\n- two pens\n- a pen",  # half of it as a list would hide what the other half is
        "#1 is first",
        "a ``quoted'' word",
        "**",
    ],
)
def test_what_may_be_mathematics_is_left_alone(text: str) -> None:
    assert prose(text).replace("&#x27;", "'") == text


def test_a_program_keeps_its_indentation_and_its_signs() -> None:
    program = (
        "from typing import List\n\n\ndef f(x: List[int]):\n"
        '    """Cost in $ of x**2 and y**2.\n\n    # half\n    """\n    return x'
    )
    assert prose(f"Write it.\n\n{program}") == f"Write it.\n\n<pre><code>{escape(program)}</code></pre>"
    assert prose("```\nif x:\n    y\n```") == "<pre><code>if x:\n    y</code></pre>"


def test_a_step_of_a_program_keeps_its_indentation() -> None:
    assert prose("    return x") == "    return x"
    assert parts("\t\treturn x\n\n# Answer\n\nx") == {"text": "\t\treturn x", "answer": "x"}


@pytest.mark.parametrize(
    "text",
    ["def is short for definition\n  of x", "class A meets at 9:\nThen **it** ends.", "import $x$\n y"],
)
def test_words_of_python_in_prose_are_no_program(text: str) -> None:
    assert "<pre>" not in prose(text)


def test_a_program_bomb_is_read_in_no_time() -> None:
    started = time.monotonic()
    for piece in ("import x\n", "\n", "def f(\n", "@a\n\n"):
        prose(piece * (45_000 // len(piece)))
    assert time.monotonic() - started < 20


def test_a_formula_that_cannot_be_shown_shows_its_source_and_the_rest_stays() -> None:
    html = prose(r"So **yes**: $\nosuch{x}$ and $y$.")
    assert r"$\nosuch{x}$</code>" in html
    assert "<strong>yes</strong>" in html
    assert "<mi>y</mi>" in html


@pytest.mark.parametrize(
    "hostile",
    [
        "<img src=x onerror=alert(1)>",
        "**<script>alert(1)</script>**",
        "`<script>`",
        '| <b> | b |\n|--|--|\n| <i> | " onclick=x |',
        "- <b>\n- <i>",
        "# <b>",
        "\ue000\ue001 \uf8ff `a`",  # the characters that stand for what is taken out
        "```\n</code></pre><script>\n```",
        "$a`<b>`c$",
    ],
)
def test_nothing_in_it_becomes_html(hostile: str) -> None:
    html = prose(hostile)
    for tag in ("<img", "<script", "<b>", "<i>", "\ue000", "\uf8ff"):
        assert tag not in html.replace("<b></b>", "")


def test_a_very_long_text_is_shown_without_markdown() -> None:
    assert prose("**a** <" + "x" * 50_000).startswith("**a** &lt;xxx")


def test_a_table_bomb_stays_text() -> None:
    text = "|" * 3_000 + "\n|-|-|\n" + "|\n" * 2_000
    assert "<table" not in prose(text)
    started = time.process_time()
    rules = "|--|--|\n" * 6_000  # each of its lines could begin a table of all that follow
    assert prose(f"before\n{rules}\nafter") == f"before\n{rules}\nafter"
    assert time.process_time() - started < 5
