"""The OpenAI-compatible generator, against a real HTTP server in another process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from prm_backend.generators import GenerationFailed
from prm_backend.generators.openai_generator import OpenAIGenerator
from prm_backend.types import Cancelled, Progress, Sampling
from tests.json_server import requests_of, running


@pytest.fixture
def server() -> Iterator[str]:
    with running("tests.chat_server") as address:
        yield f"{address}/v1"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def sample(generator: OpenAIGenerator, *problems: str, n: int = 3, **options: Any) -> Any:
    return generator.sample(list(problems), n=n, sampling=Sampling(**options), seed=5)


def test_one_request_a_problem_brings_all_its_samples_in_order(server: str) -> None:
    samples = sample(OpenAIGenerator(server, "good"), "first", "second")
    assert [[s.answer for s in found] for found in samples] == [["5", "6", "7"]] * 2
    assert len(requests_of(server)) == 2


def test_a_sample_is_cut_after_its_answer_and_split_into_steps(server: str) -> None:
    [[found]] = sample(OpenAIGenerator(server, "good"), "problem", n=1)
    assert found.steps == ("We think about it.", "It is $5$.\n\n# Answer\n\n5")
    assert "go on" not in found.text
    assert not found.truncated
    assert found.n_tokens > 0


def test_what_the_sampling_says_reaches_the_server(server: str) -> None:
    generator = OpenAIGenerator(server, "good", stop=["STOP"])
    template = "Solve {problem} with \\frac{1}{2}."
    sample(generator, "it", n=2, temperature=0.3, top_p=0.9, max_new_tokens=77, prompt_template=template)
    [body] = requests_of(server)
    assert body["messages"] == [{"role": "user", "content": "Solve it with \\frac{1}{2}."}]
    expected = {"n": 2, "seed": 5, "temperature": 0.3, "top_p": 0.9, "max_tokens": 77, "stop": ["STOP"]}
    assert expected.items() <= body.items()


def test_a_completion_that_ran_into_the_limit_is_marked_truncated(server: str) -> None:
    [[found]] = sample(OpenAIGenerator(server, "good"), "problem", n=1, max_new_tokens=5)
    assert found.truncated
    assert found.answer is None


@pytest.mark.parametrize("model", ["no-n", "ignores-n"])
def test_a_server_without_n_is_found_out_once_and_asked_one_by_one(server: str, model: str) -> None:
    generator = OpenAIGenerator(server, model, concurrency=1)
    samples = sample(generator, "first", "second")
    assert [[s.answer for s in found] for found in samples] == [["5", "6", "7"]] * 2
    assert sum("n" in body for body in requests_of(server)) == 1


def test_a_failure_that_passes_is_retried(server: str) -> None:
    [found] = sample(OpenAIGenerator(server, "flaky"), "problem")
    assert len(found) == 3
    assert len(requests_of(server)) == 2


def test_a_lost_connection_is_tried_again(server: str) -> None:
    [found] = sample(OpenAIGenerator(server, "hangs-up"), "problem")
    assert len(found) == 3
    assert len(requests_of(server)) == 2


def test_parameters_a_server_does_not_know_are_found_out_once_and_done_without(server: str) -> None:
    generator = OpenAIGenerator(server, "strict", concurrency=1, stop=["And I"], logprobs=True)
    samples = sample(generator, "first", "second", n=2)
    assert [len(found) for found in samples] == [2, 2]
    assert generator.server.unsupported == {"seed", "stop", "logprobs"}
    *tries, first, second = requests_of(server)
    assert len(tries) == 3
    for body in (first, second):
        assert not {"seed", "stop", "logprobs"} & body.keys()
        assert body["n"] == 2
    assert samples[0][0].log_prob is None


def test_the_limit_is_said_as_the_server_wants_it(server: str) -> None:
    [[found]] = sample(OpenAIGenerator(server, "new"), "problem", n=1, max_new_tokens=5)
    assert found.truncated
    assert [
        sorted({"max_tokens", "max_completion_tokens"} & body.keys()) for body in requests_of(server)
    ] == [
        ["max_tokens"],
        ["max_completion_tokens"],
    ]


def test_a_limit_that_is_too_large_is_the_callers_to_mend(server: str) -> None:
    generator = OpenAIGenerator(server, "short")
    with pytest.raises(ValueError, match="'max_tokens' is too large"):
        sample(generator, "problem", n=1)
    assert generator.server.unsupported == frozenset()


def test_a_solution_ends_at_the_stop_string_though_the_server_ignores_it(server: str) -> None:
    [[found]] = sample(OpenAIGenerator(server, "good", stop=["# Answer"]), "problem", n=1)
    assert found.text == "We think about it.\nIt is $5$."
    assert not found.truncated


def test_a_samples_log_probability_is_that_of_the_text_that_was_kept(server: str) -> None:
    [[found]] = sample(OpenAIGenerator(server, "good", logprobs=True), "problem", n=1)
    assert found.text.split() == ["We", "think", "about", "it.", "It", "is", "$5$.", "#", "Answer", "5"]
    assert found.log_prob == pytest.approx(-0.25 * 10)
    [[unasked]] = sample(OpenAIGenerator(server, "good"), "problem", n=1)
    assert unasked.log_prob is None


def test_tokens_that_are_parts_of_characters_count_by_their_bytes(server: str) -> None:
    [[found]] = sample(OpenAIGenerator(server, "in-bytes", logprobs=True), "problem", n=1)
    assert "🙂" in found.text
    assert "go on" not in found.text
    # A token a byte, each of a log-probability of -1/4.
    assert found.log_prob == pytest.approx(-0.25 * len(found.text.encode()))


def test_requests_and_tokens_are_counted_and_have_a_price(server: str) -> None:
    generator, seen = OpenAIGenerator(server, "good"), list[Progress]()
    samples = generator.sample(["a", "b"], n=3, sampling=Sampling(), seed=5, progress=seen.append)
    usage = generator.usage
    # Our server counts words, and one token a prompt; each text has 15 words.
    assert (usage.requests, usage.prompt_tokens, usage.completion_tokens) == (2, 2, 6 * 15)
    assert usage.cost(prompt=1e6, completion=2e6) == 2 + 2 * 90
    assert samples[0][0].n_tokens == 15
    assert seen[-1].message == "2 of 2 problems sampled, 90 tokens"


def test_what_a_problem_got_before_its_server_failed_is_kept(server: str) -> None:
    with pytest.raises(GenerationFailed) as failure:
        sample(OpenAIGenerator(server, "half", retries=0), "problem")
    [kept] = failure.value.samples
    assert kept is not None
    assert [s.answer for s in kept] == ["5"]


def test_a_failing_problem_is_named_with_url_and_model_and_the_others_are_kept(server: str) -> None:
    generator = OpenAIGenerator(server, "good", retries=0)
    with pytest.raises(GenerationFailed) as failure:
        sample(generator, "fine", "broken one")
    for part in (server, "good", "broken one", "1 of 2", "out of memory"):
        assert part in str(failure.value)
    kept, lost = failure.value.samples
    assert kept is not None
    assert [s.answer for s in kept] == ["5", "6", "7"]
    assert lost is None


def test_a_refused_problem_is_a_value_error_with_the_servers_reason(server: str) -> None:
    with pytest.raises(ValueError, match="not for me"):
        sample(OpenAIGenerator(server, "good", retries=0), "a forbidden one")


def test_a_server_that_is_not_there_is_named() -> None:
    generator = OpenAIGenerator("http://127.0.0.1:9/v1", "model", retries=0)
    with pytest.raises(GenerationFailed, match=r"http://127\.0\.0\.1:9/v1 \(model 'model'\)"):
        sample(generator, "problem")


def test_cancelling_stops_before_the_remaining_problems(server: str) -> None:
    def cancel(progress: Progress) -> None:
        raise Cancelled

    generator = OpenAIGenerator(server, "good", concurrency=1)
    with pytest.raises(Cancelled):
        generator.sample(["problem"] * 50, n=1, sampling=Sampling(), seed=0, progress=cancel)
    assert len(requests_of(server)) < 50


def next_steps(generator: OpenAIGenerator, problem: str = "it", *steps: str, n: int = 3) -> list[str]:
    return generator.next_steps(problem, list(steps), n=n, sampling=Sampling(), seed=5)


def test_next_steps_are_asked_for_as_the_next_turn(server: str) -> None:
    found = next_steps(OpenAIGenerator(server, "steps"), "it", "We begin.")
    assert found == ["Then $5$.", "Then $6$.", "Then $7$.\n\n# Answer\n\n7"]
    [body] = requests_of(server)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == "We begin."
    assert "next step" in body["messages"][2]["content"]
    assert body["n"] == 3


def test_steps_that_repeat_are_merged_and_asked_for_once_more(server: str) -> None:
    assert next_steps(OpenAIGenerator(server, "good"), n=2) == ["We think about it."]
    assert len(requests_of(server)) == 2


def test_a_refused_step_is_a_value_error_and_a_failing_server_a_connection_error(server: str) -> None:
    with pytest.raises(ValueError, match="not for me"):
        next_steps(OpenAIGenerator(server, "good", retries=0), "a forbidden one")
    with pytest.raises(ConnectionError, match="out of memory"):
        next_steps(OpenAIGenerator(server, "down", retries=0))
