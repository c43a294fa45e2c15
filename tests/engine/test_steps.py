"""How a solution's text becomes steps, and where its final answer is found."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prm_backend.text.steps import (
    extract_answer,
    is_storable,
    join_steps,
    split_steps,
    storable,
    text_hash,
)

any_text = st.text(alphabet=st.characters(exclude_categories=()))
lines_and_headers = st.lists(
    st.sampled_from(
        [
            "",
            " ",
            "a = 1",
            "  b",
            "# Answer",
            "# answer: 7",
            "42",
            "# Answers vary",
            "\x00",
            "\ud83d",
        ]
    )
).map("\n".join)


def test_a_step_is_a_line_and_blank_lines_are_none():
    assert split_steps("First.\n\n Second. \r\nThird.\n") == (
        "First.",
        "Second.",
        "Third.",
    )


PROGRAM = """```python
def f(numbers):
    for x in numbers:
\t\tif x:
  \t\treturn x
    return 0
```"""


def test_a_program_cut_into_steps_is_the_same_program_when_they_are_joined():
    steps = split_steps(f"So:\n{PROGRAM}\nThat is it.  \n")
    assert steps == ("So:", *PROGRAM.split("\n"), "That is it.")
    assert join_steps(split_steps(PROGRAM)) == PROGRAM
    assert join_steps(split_steps(PROGRAM.replace("    return 0", "\n  \n    return 0  "))) == PROGRAM


def test_a_program_in_the_answer_block_keeps_its_indentation():
    text = "So.\n# Answer\n\n   def f(x):\n    return x\n\n"
    assert split_steps(text) == ("So.\n\n# Answer\n\ndef f(x):\n    return x",)


def test_the_answer_block_stays_with_the_last_step():
    assert split_steps("So it is 42.\n# Answer\n42\n") == ("So it is 42.\n\n# Answer\n\n42",)
    assert split_steps("a\nSo it is 42.\n\n# Answer\n\n42") == (
        "a",
        "So it is 42.\n\n# Answer\n\n42",
    )


def test_an_answer_block_alone_is_a_step_as_in_prm800k():
    assert split_steps("# Answer\n\n7200") == ("# Answer\n\n7200",)


def test_an_answer_on_the_header_line_moves_below_it():
    assert split_steps("So.\n# Answer: 42") == ("So.\n\n# Answer\n\n42",)


def test_a_heading_that_only_begins_like_the_answer_header_is_a_step():
    assert split_steps("So.\n# Answers vary") == ("So.", "# Answers vary")


def test_a_text_without_ink_has_no_steps():
    assert split_steps(" \n\t\r\n") == ()


@given(any_text | lines_and_headers)
def test_joining_is_undone_by_splitting(text):
    steps = split_steps(text)
    assert split_steps(join_steps(steps)) == steps


@given(any_text | lines_and_headers)
def test_every_step_can_be_stored_and_has_ink(text):
    for step in split_steps(text):
        step.encode()
        assert step.strip()
        assert is_storable(step)


def test_lone_surrogates_and_nul_become_the_replacement_character():
    assert storable("a\ud83d\x00b") == "a\ufffd\ufffdb"
    assert storable("\U0001f600") == "\U0001f600"


@given(any_text)
def test_a_hash_never_raises_and_forgets_only_whitespace_and_composition(text):
    assert text_hash(text) == text_hash(f"  {text}\n")
    assert len(text_hash(text)) == 64


def test_texts_that_read_alike_hash_alike_and_others_do_not():
    assert text_hash("e\u0301te\u0301  x") == text_hash("\u00e9t\u00e9\nx")
    assert text_hash("ab") != text_hash("a b")
    assert text_hash("\ud800") != text_hash("\ud801")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So it is 42.\n\n# Answer\n\n42", "42"),
        ("# Answer\n\n$\\frac{1}{2}$.", "\\frac{1}{2}"),
        ("# Answer\n\n\\boxed{7}", "7"),
        ("# Answer\n\nThe answer is 7.", "7"),
        ("# Answer: 7", "7"),
        ("# Answer\n\n1\n\n# Answer\n\n2", "2"),
        ("# Answer\n\n320,000\nI hope this helps!", "320,000"),
        (
            "# Answer\n\n\\begin{pmatrix} 1 \\\\\n2 \\end{pmatrix}",
            "\\begin{pmatrix} 1 \\\\\n2 \\end{pmatrix}",
        ),
        ("\\boxed{1} is wrong, so \\boxed{2}.", "2"),
        ("thus $x = \\boxed{\\frac{1}{\\sqrt{2}}}$.", "\\frac{1}{\\sqrt{2}}"),
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"),
        (
            "$\\boxed{(98, 2)} \\quad \\text{and} \\quad \\boxed{(99, 503)}$",
            "(98, 2), (99, 503)",
        ),
        ("\\boxed{\\boxed{5}}", "5"),
        ("\\boxed 5 apples", "5"),
        ("16 - 3 = 13\n13 * 2 = 26\n#### 26", "26"),
        ("Step 4: #### 2.8", "2.8"),
        ("The answer is 26.", "26"),
        ("The final answer is $\\frac{3}{4}$. I hope it is correct.", "\\frac{3}{4}"),
        ("**Answer:** 3.5", "3.5"),
        ("Therefore the answer is 26 because 13 * 2 = 26.", "26"),
        ("The answer is (B).", "(B)"),
        ("The answer is \\$3.50.", "\\$3.50"),
        ("Therefore $x \\geq 5$ is the solution.", "x \\geq 5"),
        ("Final Answer: The volume of $ABCD$ is 120. I hope it is correct.", "120"),
    ],
)
def test_one_answer_is_taken_out_and_never_the_text_around_it(text, answer):
    assert extract_answer(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A: 26",
        "So we have 26",
        "26",
        "#### Step 3: multiply\n13 * 2 = 26",
        "\\boxed{",
        "\\boxed{}",
        "# Answer",
        "# Answer\n\n",
        "The solution is to multiply both sides by 2.",
        "The answer is not obvious.",
        "The answer choices are A and B",
    ],
)
def test_a_text_that_states_no_answer_has_none(text):
    assert extract_answer(text) is None


@given(any_text | st.text(alphabet="\\boxed{}$#. Answeris\n1"))
def test_extraction_never_raises_and_gives_a_storable_answer(text):
    answer = extract_answer(text)
    assert answer is None or (answer.strip() == answer and answer and is_storable(answer))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    [
        "\\boxed{",
        "{",
        "answer is ",
        "$",
        "# Answer\n",
        "answer to x ",
        "\\boxed{1} and ",
        "a ",
    ],
)
def test_extraction_stays_fast_on_hostile_repetition(piece):
    extract_answer(piece * 20_000)


@pytest.mark.parametrize(
    "text",
    ["%\n" * 60_000, f"answer{' ' * 60_000}x", "\\(" * 60_000, "answer (" * 20_000],
    ids=["lines without a word", "blanks", "openings", "answers"],
)
def test_a_model_in_a_loop_is_looked_through_in_no_time(text: str) -> None:
    started = time.process_time()
    assert extract_answer(text) is None
    assert time.process_time() - started < 5
