"""Where a solution or a step ends, whatever a model goes on to write."""

from __future__ import annotations

import pytest

from prm_backend.generators.finish import distinct, is_step_finished, make_step
from prm_backend.text.steps import ends_solution


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("We add.", False),
        ("We add.\n", False),  # an answer block may follow
        ("We add.\n\n#", False),
        ("We add.\n\n# Ans", False),
        ("We add.\n\n# Answer\n\n1", False),
        ("We add.\n\n# Answer\n\n12\n", True),
        ("We add.\n#hash", True),
        ("We add.\nT", True),
        ("\n\nWe add.\n\nThen", True),
        ("# Answer\n\n1", False),
        ("# Answer\n\n1\n", True),
        ("", False),
    ],
)
def test_a_step_is_finished_once_what_follows_is_no_part_of_it(text: str, finished: bool) -> None:
    assert is_step_finished(text) is finished


@pytest.mark.parametrize(
    ("text", "truncated", "step"),
    [
        ("We add.\nThen we", False, "We add."),
        ("We add.\nThen we", True, "We add."),
        ("We ad", True, None),
        ("We add.\n", True, None),  # whether an answer follows is not known
        ("So 5.\n\n# Answer\n\n5\n\nAnd more", False, "So 5.\n\n# Answer\n\n5"),
        ("One.\nTwo.\n\n# Answer\n\n5\n", False, "One."),
        ("So 5.\n\n# Answer", False, None),
        ("  \n ", False, None),
    ],
)
def test_a_step_is_the_first_line_with_the_answer_that_belongs_to_it(
    text: str, truncated: bool, step: str | None
) -> None:
    assert make_step(text, truncated=truncated) == step


def test_steps_that_read_alike_are_one() -> None:
    assert distinct(["a  b", None, "a b", "ab", "c", "d"], 2) == ["a  b", "c"]


@pytest.mark.parametrize(
    ("step", "ends"),
    [
        ("So 5.\n\n# Answer\n\n5", True),
        ("So 5.\n\n# Answer\n\n", False),
        ("The answer is 5.", False),
        ("# Answer: 5", True),
    ],
)
def test_only_a_step_with_an_answer_block_ends_a_solution(step: str, ends: bool) -> None:
    assert ends_solution(step) is ends
