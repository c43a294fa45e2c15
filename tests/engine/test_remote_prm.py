"""A PRM on a vLLM server: a real HTTP server in another process; its version and settings show in its answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from prm_backend.reward import load_scorer
from prm_backend.reward.remote import RemoteFailed
from prm_backend.types import StepProbs, Unscorable
from tests.json_server import requests_of, running
from tests.pooling_server import logits, softmax
from tests.tiny import tiny_tokenizer

PROBLEM, STEPS = "1+1?", ("It is 2.", "So two.\n\n# Answer\n\n2")
WORDS = tiny_tokenizer()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running("tests.pooling_server") as address:
        yield address


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def requests(server: str, model: str) -> list[dict[str, Any]]:
    return [body for body in requests_of(server) if body["model"] == model]


def prefixes(problem: str, steps: Sequence[str]) -> list[list[int]]:
    """TRL's layout up to each newline, by hand."""
    texts = [problem + "".join(f"{step}\n" for step in steps[:n]) for n in range(1, len(steps) + 1)]
    return [WORDS(text, add_special_tokens=False)["input_ids"] for text in texts]


def good(scored: list[StepProbs] | Unscorable) -> list[float]:
    assert not isinstance(scored, Unscorable)
    return [probs.great for probs in scored]


EXPECTED = [softmax(logits(ids))[1] for ids in prefixes(PROBLEM, STEPS)]


@pytest.mark.parametrize("model", ["new", "old", "flaky"])
def test_servers_of_every_version_give_the_scores_computed_by_hand(server: str, model: str) -> None:
    [scored] = load_scorer(f"trl:{server}#{model}", tokenizer=WORDS).score([PROBLEM], [STEPS])
    assert good(scored) == pytest.approx(EXPECTED, abs=1e-9)


def test_an_old_server_is_asked_for_the_task_once(server: str) -> None:
    load_scorer(f"trl:{server}/v1#old", tokenizer=WORDS).score([PROBLEM], [STEPS])
    before = len(requests(server, "old"))
    scorer = load_scorer(f"trl:{server}/v1#old", tokenizer=WORDS)
    for _ in range(3):
        scorer.score([PROBLEM], [STEPS])
    assert ["task" in body for body in requests(server, "old")[before:]] == [True, False, False, False]


def test_a_server_that_picks_the_steps_out_itself_is_understood(server: str) -> None:
    steps = ("It is 2.", "So two.")
    [scored] = load_scorer(f"trl:{server}#step", tokenizer=WORDS).score([PROBLEM], [steps])
    assert good(scored) == pytest.approx(
        [softmax(logits(ids))[1] for ids in prefixes(PROBLEM, steps)], abs=1e-9
    )


def test_a_value_head_is_read_through_the_sigmoid(server: str) -> None:
    [scored] = load_scorer(f"skywork:{server}#value", tokenizer=WORDS).score([PROBLEM], [STEPS])
    lines = [f"{PROBLEM}\n" + "".join(f"{step}\n" for step in STEPS[:n]) for n in (1, 2)]
    values = [logits(WORDS(text, add_special_tokens=False)["input_ids"])[1] / 9 for text in lines]
    assert good(scored) == pytest.approx([1 / (1 + math.exp(-value)) for value in values], abs=1e-9)


def test_values_that_may_be_probabilities_already_are_not_guessed_at(server: str) -> None:
    scorer = load_scorer(f"skywork:{server}#deaf-value", tokenizer=WORDS)
    with pytest.raises(RemoteFailed, match=r"vLLM 0\.10\.2\) ignores use_activation"):
        scorer.score([PROBLEM], [STEPS])


def test_logits_that_look_like_probabilities_are_told_apart_by_asking_for_both(server: str) -> None:
    scorer = load_scorer(f"trl:{server}#sums-to-1", tokenizer=WORDS)
    expected = [softmax([1 - good, good])[1] for good in EXPECTED]
    for _ in range(2):
        [scored] = scorer.score([PROBLEM], [STEPS])
        assert good(scored) == pytest.approx(expected, abs=1e-9)
    asked = [body["use_activation"] for body in requests(server, "sums-to-1")]
    assert asked == [False, True, False]


def test_a_class_of_the_whole_text_is_not_taken_for_one_of_each_of_two_steps(server: str) -> None:
    scorer = load_scorer(f"trl:{server}#text", tokenizer=WORDS)
    with pytest.raises(RemoteFailed, match=r"for the whole text.*--pooler-config .*token_classify"):
        scorer.score([PROBLEM], [STEPS])


def test_hidden_states_are_not_taken_for_labels(server: str) -> None:
    with pytest.raises(RemoteFailed, match="rows of 8 numbers"):
        load_scorer(f"trl:{server}#wide", tokenizer=WORDS).score([PROBLEM], [STEPS])


def test_math_shepherds_first_column_is_good(server: str) -> None:
    words = tiny_tokenizer()
    words.add_tokens(["ки"])
    [scored] = load_scorer(f"math-shepherd:{server}#new", tokenizer=words).score([PROBLEM], [("Two.",)])
    ids = words(f"{PROBLEM} Step 1: Two.ки", add_special_tokens=False)["input_ids"]
    assert good(scored) == pytest.approx([softmax(logits(ids))[0]], abs=1e-9)


def test_rows_that_fit_neither_tokens_nor_steps_are_refused(server: str) -> None:
    with pytest.raises(RemoteFailed, match=r"gave \d+ rows for \d+ tokens and 2 steps"):
        load_scorer(f"trl:{server}#odd", tokenizer=WORDS).score([PROBLEM], [STEPS])


def test_the_servers_context_bounds_what_is_scored(server: str) -> None:
    long, short = load_scorer(f"trl:{server}#short", tokenizer=WORDS).score(["p", "p"], [STEPS, ("2.",)])
    assert isinstance(long, Unscorable)
    assert len(good(short)) == 1


def test_a_server_that_fails_says_where_and_what(server: str) -> None:
    scorer = load_scorer(f"trl:{server}#down", tokenizer=WORDS)
    scorer._client.max_retries = 0
    with pytest.raises(RemoteFailed, match=r"/pooling \(model 'down'\) failed: .*out of memory"):
        scorer.score([PROBLEM], [STEPS])


def test_a_model_the_server_does_not_have_is_refused_with_those_it_has(server: str) -> None:
    with pytest.raises(RemoteFailed, match=r"serves .*new.*, not 'other'"):
        load_scorer(f"trl:{server}#other", tokenizer=WORDS)


def test_a_served_model_of_unknown_kind_needs_its_convention(server: str) -> None:
    with pytest.raises(ValueError, match=r"say it: one of .*trl:http"):
        load_scorer(f"{server}#new")
    with pytest.raises(ValueError, match="no model named"):
        load_scorer(f"trl:{server}")
