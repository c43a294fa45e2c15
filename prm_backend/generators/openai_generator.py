"""Samples solutions and next steps from an OpenAI-compatible chat server. Knows no model files and no grading."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

from openai import OpenAIError

from prm_backend.generators import NEXT_STEP_PROMPT, GenerationFailed
from prm_backend.generators.finish import distinct, make_sample, make_step
from prm_backend.generators.openai_server import REFUSED, Completion, Message, OpenAIServer, Usage, reason
from prm_backend.text.steps import join_steps
from prm_backend.types import Progress, ProgressCallback, Sample, Sampling, silent


class OpenAIGenerator:
    """`model` on the server at `url` (its base, usually ending in `/v1`), as a `types.Generator`.

    One request a problem asks for all n samples; a server that does not do `n` is asked n times. `concurrency` requests
    are under way at once; each may take `timeout` seconds and is repeated up to `retries` times. A solution ends at the
    first of the `stop` strings; with `logprobs` each sample has its log-probability, where the server tells. Without
    `api_key` the variable OPENAI_API_KEY is used, if set. `usage` counts requests and tokens.
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
        logprobs: bool = False,
    ) -> None:
        self.name = f"openai:{url}#{model}"
        self.server = OpenAIServer(url, model, api_key, timeout=timeout, retries=retries)
        self._concurrency, self._stop, self._logprobs = concurrency, tuple(stop), logprobs

    @property
    def usage(self) -> Usage:
        return self.server.usage

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
        422: a prompt too long, a parameter it cannot do without), else GenerationFailed, which holds what was got.
        """
        got: list[list[Completion]] = [[] for _ in problems]
        errors: dict[int, OpenAIError] = {}
        with ThreadPoolExecutor(self._concurrency) as pool:
            calls: dict[Future[list[Completion]], int] = {
                pool.submit(
                    self._complete, [_said("user", sampling.prompt(problem))], n, sampling, seed, got[index]
                ): index
                for index, problem in enumerate(problems)
            }
            try:
                for done, call in enumerate(as_completed(calls), 1):
                    index = calls[call]
                    try:
                        call.result()
                    except OpenAIError as error:
                        errors[index] = error
                    tokens = f"{self.usage.completion_tokens:,} tokens"
                    message = f"{done} of {len(problems)} problems sampled, {tokens}"
                    progress(Progress(done, len(problems), message))
            except BaseException:  # cancelled by the callback, or a fault of ours: start no further call
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        samples = [[_sample(completion, sampling) for completion in found] for found in got]
        if errors:
            raise self._failure(problems, samples, errors)
        return samples

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
            choices = self._complete(messages, n, sampling, seed)
            found = distinct(_steps(choices), n)
            if len(found) < n and sampling.temperature > 0:
                found = distinct([*found, *_steps(self._complete(messages, n, sampling, seed + n))], n)
        except REFUSED as error:
            raise ValueError(f"{self.server.where()} refused: {reason(error)}") from error
        except OpenAIError as error:
            raise ConnectionError(f"{self.server.where()} failed: {reason(error)}") from error
        return found

    def _failure(
        self, problems: Sequence[str], samples: list[list[Sample]], errors: dict[int, OpenAIError]
    ) -> Exception:
        index, error = min(errors.items())
        message = (
            f"{self.server.where()} failed for {len(errors)} of {len(problems)} problems, "
            f"first {problems[index][:60]!r}: {reason(error)}"
        )
        if all(isinstance(error, REFUSED) for error in errors.values()):
            return ValueError(message)
        return GenerationFailed(message, [found or None for found in samples])

    def _complete(
        self,
        messages: list[Message],
        n: int,
        sampling: Sampling,
        seed: int,
        found: list[Completion] | None = None,
    ) -> list[Completion]:
        return self.server.complete(
            messages, n, sampling, seed, stop=self._stop, logprobs=self._logprobs, found=found
        )


def _sample(completion: Completion, sampling: Sampling) -> Sample:
    made = make_sample(
        completion.text,
        truncated=completion.truncated,
        n_tokens=completion.n_tokens,
        segmentation=sampling.segmentation,
    )
    return replace(made, log_prob=completion.log_prob(len(made.text)))


def _steps(choices: Sequence[Completion]) -> list[str | None]:
    return [make_step(choice.text, truncated=choice.truncated) for choice in choices]


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}
