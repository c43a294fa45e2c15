"""Samples solutions from any OpenAI-compatible chat server (vLLM, llama.cpp, OpenAI …) over HTTP.

Knows no model files and no grading. The client retries with back-off what may pass (timeouts, 408, 409, 429, 5xx).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from openai import BadRequestError, OpenAI, OpenAIError, UnprocessableEntityError

from prm_backend.generators import NEXT_STEP_PROMPT, GenerationFailed
from prm_backend.generators.finish import distinct, make_sample, make_step
from prm_backend.text.steps import join_steps
from prm_backend.types import Progress, ProgressCallback, Sample, Sampling, silent

REFUSED = (BadRequestError, UnprocessableEntityError)  # the server understood, and won't do this request

Message = dict[str, str]


class Choice(NamedTuple):
    """One completion as the server gave it."""

    text: str
    truncated: bool
    n_tokens: int


class OpenAIGenerator:
    """`model` on the server at `url` (its base, usually ending in `/v1`), as a `types.Generator`.

    One request a problem asks for all n samples; a server that refuses or ignores `n` is noticed by its answer and
    asked n times from then on. `concurrency` requests are under way at once; each may take `timeout` seconds and is
    repeated up to `retries` times. Without `api_key` the variable OPENAI_API_KEY is used, if set.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        *,
        concurrency: int = 8,
        timeout: float = 300.0,
        retries: int = 4,
        stop: Sequence[str] = (),
    ) -> None:
        self.name = f"openai:{url}#{model}"
        self._url, self._model = url, model
        self._concurrency = concurrency
        self._stop = list(stop)
        self._one_by_one = threading.Event()  # set once the server has shown that it does not do `n`
        self._client = OpenAI(
            base_url=url,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or "none",  # most own servers ask for none
            timeout=timeout,
            max_retries=retries,
        )

    def sample(
        self,
        problems: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = silent,
    ) -> list[list[Sample]]:
        """Draw `n` solutions for each problem; shape [problem][n]. The seed is the server's to honour.

        Every problem is tried before anything is raised: ValueError where the server refused a request as such (400,
        422: a prompt too long, a parameter it does not know), else GenerationFailed, which holds what the others got.
        """
        samples: list[list[Sample] | None] = [None] * len(problems)
        errors: dict[int, OpenAIError] = {}
        with ThreadPoolExecutor(self._concurrency) as pool:
            calls: dict[Future[list[Sample]], int] = {
                pool.submit(self._one_problem, problem, n, sampling, seed): index
                for index, problem in enumerate(problems)
            }
            try:
                for done, call in enumerate(as_completed(calls), 1):
                    index = calls[call]
                    try:
                        samples[index] = call.result()
                    except OpenAIError as error:
                        errors[index] = error
                    progress(Progress(done, len(problems), f"{done} of {len(problems)} problems sampled"))
            except BaseException:  # cancelled by the callback, or a fault of ours: start no further call
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if errors:
            raise self._failure(problems, samples, errors)
        return [found for found in samples if found is not None]

    def next_steps(
        self,
        problem: str,
        steps: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = silent,
    ) -> list[str]:
        """Up to `n` distinct steps that could follow `steps`, asked for as the next turn of a chat.

        Raises ValueError where the server refuses the request as such, else ConnectionError.
        """
        messages = [_said("user", sampling.prompt(problem))]
        if steps:
            messages += [_said("assistant", join_steps(steps))]
        messages += [_said("user", NEXT_STEP_PROMPT)]
        progress(Progress(0, n, "asking for next steps"))
        try:
            choices = self._choices(messages, n, sampling, seed)
            found = distinct((make_step(text, truncated=cut) for text, cut, _ in choices), n)
            if len(found) < n and sampling.temperature > 0:
                choices += self._choices(messages, n, sampling, seed + n)
        except REFUSED as error:
            raise ValueError(f"{self._url} (model {self._model!r}) refused: {_reason(error)}") from error
        except OpenAIError as error:
            raise ConnectionError(f"{self._url} (model {self._model!r}) failed: {_reason(error)}") from error
        return distinct((make_step(text, truncated=cut) for text, cut, _ in choices), n)

    def _failure(
        self, problems: Sequence[str], samples: list[list[Sample] | None], errors: dict[int, OpenAIError]
    ) -> Exception:
        index, error = min(errors.items())
        message = (
            f"{self._url} (model {self._model!r}) failed for {len(errors)} of {len(problems)} problems, "
            f"first {problems[index][:60]!r}: {_reason(error)}"
        )
        if all(isinstance(error, REFUSED) for error in errors.values()):
            return ValueError(message)
        return GenerationFailed(message, samples)

    def _one_problem(self, problem: str, n: int, sampling: Sampling, seed: int) -> list[Sample]:
        choices = self._choices([_said("user", sampling.prompt(problem))], n, sampling, seed)
        return [make_sample(text, truncated=cut, n_tokens=tokens) for text, cut, tokens in choices]

    def _choices(self, messages: list[Message], n: int, sampling: Sampling, seed: int) -> list[Choice]:
        """n completions of a chat, in one request or in n."""
        found: list[Choice] = []
        if n > 1 and not self._one_by_one.is_set():
            try:
                found = self._request(messages, n, sampling, seed)[:n]
            except REFUSED:
                # Perhaps for its `n`, perhaps for the problem: a single sample tells, and raises if it is the problem.
                found = self._request(messages, 1, sampling, seed)
            if len(found) < n:
                self._one_by_one.set()
        while len(found) < n:
            found += self._request(messages, 1, sampling, seed + len(found))[:1]
        return found

    def _request(self, messages: list[Message], n: int, sampling: Sampling, seed: int) -> list[Choice]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_new_tokens,
            "seed": seed % 2**31,
        }
        if n > 1:
            request["n"] = n
        if self._stop:
            request["stop"] = self._stop
        answer = self._client.chat.completions.create(**request)
        if not answer.choices:
            raise OpenAIError("the server answered without a choice")
        # The server counts the tokens of all choices together; each gets its share.
        tokens = answer.usage.completion_tokens // len(answer.choices) if answer.usage else 0
        return [
            Choice(choice.message.content or "", choice.finish_reason == "length", tokens)
            for choice in answer.choices
        ]


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _reason(error: OpenAIError) -> str:
    """The error and what lies under it: the client's own "Connection error." says little."""
    cause = error.__cause__
    return f"{error} ({cause})" if cause is not None and str(cause) else str(error)
