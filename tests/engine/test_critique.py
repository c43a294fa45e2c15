"""What a model says is wrong with a step: its first paragraph, of whatever it goes on to write."""

from __future__ import annotations

import pytest

from prm_backend.generators.critique import critique
from tests.fakes import ScriptedGenerator


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (" Two and two is four. \n", "Two and two is four."),
        ("It is four,\nnot five.\n\nTherefore …", "It is four,\nnot five."),
        ("It is four.\n\n# Answer\n\n4", "It is four."),
        ("# Answer\n\n4", ""),
        ("a\0b\ud800", "a\ufffdb\ufffd"),
        ("x" * 5000, "x" * 1000),
    ],
)
def test_only_what_it_says_of_the_step_is_kept(written: str, said: str) -> None:
    assert critique(ScriptedGenerator(lambda problem, index: written), "2+2?", ["Five."], seed=1) == said


def test_it_is_asked_about_the_last_step_with_the_problem_as_it_stands() -> None:
    generator = ScriptedGenerator(lambda problem, index: "wrong")
    critique(generator, "{steps} of {x}?", ["One.", "{problem}"], seed=7)
    [[[asked], seed]] = generator.calls
    assert asked.startswith("{steps} of {x}?\n\nA student wrote:\nOne.\n{problem}\n\n")
    assert seed == 7
