"""Which generator a MODEL setting opens, and where a solution ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prm_backend.generators import CHAT_PROMPT, default_prompt_template, open_generator
from prm_backend.generators.finish import is_finished, make_sample
from prm_backend.types import Sampling
from tests.tiny import tiny_model_dir


def test_a_model_directory_opens_as_a_generator(tmp_path: Path) -> None:
    generator = open_generator(str(tiny_model_dir(tmp_path / "tiny")))
    [[sample]] = generator.sample(["What is 1 + 1?"], n=1, sampling=Sampling(max_new_tokens=5), seed=0)
    assert generator.name == "tiny"
    assert sample.n_tokens <= 5


def test_a_server_opens_without_a_request() -> None:
    generator = open_generator("openai:http://127.0.0.1:9/v1#some/model")
    assert generator.name == "openai:http://127.0.0.1:9/v1#some/model"


@pytest.mark.parametrize(
    ("spec", "mends"),
    [
        ("openai:http://localhost:8000/v1", "#model-name"),
        ("openai:localhost:8000#model", r"openai:http://host:8000/v1#model-name"),
        ("openai:", "openai:http://host"),
        ("", "hub id"),
        ("/nowhere/at/all", "no such directory"),
        ("./nowhere", "no such directory"),
        ("a/b/c", "no such directory"),
        (__file__, "is a file"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused_saying_what_would_do(spec: str, mends: str) -> None:
    with pytest.raises(ValueError, match=mends):
        open_generator(spec)


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"config\.json"):
        open_generator(str(tmp_path))


def test_pickled_weights_are_refused_unopened(tmp_path: Path) -> None:
    model = tiny_model_dir(tmp_path / "tiny")
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"\*\.safetensors"):
        open_generator(str(model))


def test_importing_the_package_costs_no_torch() -> None:
    code = "import sys, prm_backend.generators; sys.exit('torch' in sys.modules or 'openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0


def test_a_chat_server_is_told_the_format_and_the_starter_is_not() -> None:
    assert default_prompt_template("openai:http://host/v1#m") == CHAT_PROMPT
    assert default_prompt_template("var/models/smollm2") == "{problem}\n"
    assert Sampling(prompt_template=CHAT_PROMPT).prompt("Why?").endswith("Why?")


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("So.\n\n# Answer\n\n12\n", True),
        ("So.\n# Answer\n12\n", True),
        ("So.\n\n# Answer: 12\n", True),
        ("# Answer\n\n12\n", True),
        ("So.\n\n# Answer\n\n12", False),  # the next token may be another digit
        ("So.\n\n# Answer\n\n", False),
        ("So.\n\n# Answer\n\n\\frac{1}{\n", False),  # braces still open
        ("The # Answer is 12\n", False),
        ("So.\n", False),
        ("\n", False),
    ],
)
def test_a_solution_is_finished_when_the_line_after_its_answer_header_is(text: str, finished: bool) -> None:
    assert is_finished(text) is finished


def test_what_follows_the_answer_is_dropped_and_nul_never_stays() -> None:
    sample = make_sample("A\0b.\n\n# Answer\n\n12\n\nQuestion: next", truncated=False, n_tokens=9)
    assert sample.text == "A\ufffdb.\n\n# Answer\n\n12"
    assert sample.answer == "12"


def test_a_solution_without_an_answer_is_kept_without_one() -> None:
    sample = make_sample("I think.\nI still think.", truncated=True, n_tokens=9)
    assert sample.answer is None
    assert sample.steps == ("I think.", "I still think.")
