"""Each policy cuts where it says, loses no ink, and cuts what it joined into the same steps again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.text.segmentation import (
    NEWLINE,
    SEGMENTATIONS,
    OtherSegmentation,
    require_same,
    segmentation,
)
from prm_backend.text.steps import split_steps

# Pieces that policies look at, so that random texts are made of what could go wrong.
TOKENS = [
    "We add. ", "So $x = 2$. ", "e.g. ", "Step 1: ", "**Step 2:** ", "step 3\n", "\n", "\n\n", "\r\n", " \n\t\n",
    "$", "$$", "$$\na\n\nb\n$$", "\\[", "\\]", "\\begin{align}", "\\end{align}", "It costs $5. He has $6. ",
    "x = 1\n", "def f():\n", "    return 1\n", "# a remark\n", "'''\n\n", "; y = 2", "(", "\\", "# Answer",
    "\n# Answer\n\n42", "42", "! ", "? ", "3.5 ", "1. ", "\u2028", "\x0c", "\ud800", "\0", "é", " ", "@d\n", "A. ",
    "  a\n", "\n\t b", "\n c",
]  # fmt: skip
texts = st.lists(st.sampled_from(TOKENS) | st.text(max_size=5), max_size=12).map("".join)


def ink(text: str) -> str:
    """What a step can hold: no blanks, and no broken characters."""
    return "".join(text.replace("\0", "\ufffd").replace("\ud800", "\ufffd").split())


@pytest.mark.parametrize("name", SEGMENTATIONS)
@given(text=texts)
def test_what_a_policy_joined_it_cuts_into_the_same_steps(name: str, text: str) -> None:
    policy = segmentation(name)
    steps = policy.split(text)
    assert policy.split(policy.join(steps)) == steps


@pytest.mark.parametrize("name", sorted(SEGMENTATIONS.keys() - {NEWLINE}))
@given(text=texts.filter(lambda text: "nswer" not in text))
def test_no_ink_is_lost_and_its_order_is_kept(name: str, text: str) -> None:
    steps = segmentation(name).split(text)
    assert ink("".join(steps)) == ink(text)
    assert all(step.strip() for step in steps)


SOLUTION = """Step 1: We add. So $2 + 2 = 4$. It costs $5. He has $6 left, e.g. in coins.

**Step 2:** Then
$$
a = 4.  B = 5

b = 3
$$
is it. Done!

# Answer

4"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "numbered-1",
            (
                "Step 1: We add. So $2 + 2 = 4$. It costs $5. He has $6 left, e.g. in coins.",
                "**Step 2:** Then\n$$\na = 4.  B = 5\n\nb = 3\n$$\nis it. Done!\n\n# Answer\n\n4",
            ),
        ),
        (
            "sentences-1",
            (
                "Step 1: We add.",
                "So $2 + 2 = 4$.",
                "It costs $5.",
                "He has $6 left, e.g. in coins.",
                "**Step 2:** Then",
                "$$\na = 4.  B = 5\n\nb = 3\n$$",
                "is it.",
                "Done!\n\n# Answer\n\n4",
            ),
        ),
        (
            "latex-paragraphs-1",
            (
                "Step 1: We add. So $2 + 2 = 4$. It costs $5. He has $6 left, e.g. in coins.",
                "**Step 2:** Then\n$$\na = 4.  B = 5\n\nb = 3\n$$\nis it. Done!\n\n# Answer\n\n4",
            ),
        ),
        (
            "blank-line-1",
            (
                "Step 1: We add. So $2 + 2 = 4$. It costs $5. He has $6 left, e.g. in coins.",
                "**Step 2:** Then\n$$\na = 4.  B = 5",
                "b = 3\n$$\nis it. Done!\n\n# Answer\n\n4",
            ),
        ),
    ],
)
def test_a_policy_cuts_where_it_says(name: str, expected: tuple[str, ...]) -> None:
    assert segmentation(name).split(SOLUTION) == expected


def test_python_is_cut_into_its_top_level_statements_with_the_remarks_above() -> None:
    program = '''import math

# The area.
def area(r):
    """Of a circle.

    With a radius.
    """
    return math.pi * r**2


@cache
def twice(x): return 2 * x
a = 1; b = 2
print(area(a))
# the end
'''
    assert segmentation("python-1").split(program) == (
        "import math",
        '# The area.\ndef area(r):\n    """Of a circle.\n\n    With a radius.\n    """\n    return math.pi * r**2',
        "@cache\ndef twice(x): return 2 * x",
        "a = 1; b = 2",
        "print(area(a))\n# the end",
    )


@pytest.mark.parametrize("name", ["blank-line-1", "latex-paragraphs-1", "sentences-1", "numbered-1"])
def test_a_step_of_code_keeps_its_first_lines_indentation(name: str) -> None:
    program = "def f(x):\n    y = x\n\n    return y"
    policy = segmentation(name)
    assert "    return y" in policy.join(policy.split(program)).split("\n")


@pytest.mark.parametrize("text", ["this is no python", "x = (", "(" * 5000, "-" * 50_000 + "1"])
def test_a_text_that_is_no_python_is_one_step(text: str) -> None:
    assert segmentation("python-1").split(text) == (text,)


@pytest.mark.parametrize("name", SEGMENTATIONS)
@pytest.mark.parametrize(
    "piece", ["\\[", "$", "$$ ", ". ", "...", "a", "\\begin{a}", "(", "\n \n", "Step 1", "$a"]
)
def test_a_text_made_to_be_slow_is_none(name: str, piece: str) -> None:
    segmentation(name).split(piece * 60_000)  # the suite's limit would end it


def test_the_default_is_what_solutions_were_always_cut_by() -> None:
    assert segmentation(NEWLINE).split is split_steps


def test_an_unknown_policy_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no segmentation 'lines-9'; there are newline-1, blank-line-1"):
        segmentation("lines-9")


def test_text_cut_by_another_policy_is_refused_with_what_to_do() -> None:
    require_same("newline-1", "newline-1")
    with pytest.raises(
        OtherSegmentation, match=r"cut by 'sentences-1', these were cut by 'newline-1'.*\.split"
    ):
        require_same("sentences-1", "newline-1")
