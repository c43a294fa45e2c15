"""One OpenAI-compatible chat server: what it can do is found out from its answers, what it costs is counted.

Knows no steps. The client repeats with back-off what may pass (timeouts, lost connections, 408, 409, 429, 5xx).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from openai import BadRequestError, OpenAI, OpenAIError, UnprocessableEntityError

from prm_backend.types import Sampling

REFUSED = (BadRequestError, UnprocessableEntityError)  # the server understood, and won't do this request

Message = dict[str, str]

# What a request can do without, or say otherwise. Temperature is none of them: without it, it is other sampling.
_DISPENSABLE = ("logprobs", "seed", "stop", "max_tokens")
_UNKNOWN_TO_IT = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra",
    re.IGNORECASE,
)


class Completion(NamedTuple):
    """One answer. `tokens` holds each token's bytes in UTF-8, perhaps but a part of a character, and log-probability;
    None where the server does not tell."""

    text: str
    truncated: bool
    n_tokens: int
    tokens: tuple[tuple[bytes, float], ...] | None = None

    def log_prob(self, kept: int) -> float | None:
        """The sum over the tokens that begin within the first `kept` characters."""
        if self.tokens is None:
            return None
        total, at, end = 0.0, 0, len(_utf8(self.text[:kept]))
        for text, log_prob in self.tokens:
            if at >= end:
                break
            total, at = total + log_prob, at + len(text)
        return total


@dataclass
class Usage:
    """What was asked and what the server counted, in tokens."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def cost(self, *, prompt: float, completion: float) -> float:
        """The price of it, given the prices of a million tokens."""
        return (self.prompt_tokens * prompt + self.completion_tokens * completion) / 1e6


class OpenAIServer:
    """`model` at `url`. Any number of threads may ask at once.

    `unsupported` gathers the parameters that the server has refused by name, or `n` where it was ignored: it is asked
    without them from then on, and what they were for is done here (`stop`) or left out (`seed`, `logprobs`).
    """

    def __init__(
        self, url: str, model: str, api_key: str | None = None, *, timeout: float = 300.0, retries: int = 4
    ) -> None:
        self.url, self.model = url, model
        self.usage = Usage()
        self.unsupported: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._client = OpenAI(
            base_url=url,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or "none",  # most own servers ask for none
            timeout=timeout,
            max_retries=retries,
        )

    def complete(
        self,
        messages: Sequence[Message],
        n: int,
        sampling: Sampling,
        seed: int,
        *,
        stop: Sequence[str] = (),
        logprobs: bool = False,
        found: list[Completion] | None = None,
    ) -> list[Completion]:
        """n answers to a chat, in one request or in n. A `found` of the caller's keeps what was got before an error."""
        found = [] if found is None else found
        request: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_new_tokens,
        }
        request |= {"stop": list(stop)} if stop else {}
        request |= {"logprobs": True} if logprobs else {}
        if n > 1 and "n" not in self.unsupported:
            try:
                found += self._ask(request | {"n": n, "seed": seed % 2**31})[:n]
            except REFUSED:
                # Perhaps for its `n`, perhaps for the problem: a single one tells, and raises if it is the problem.
                found += self._ask(request | {"seed": seed % 2**31})[:1]
            if len(found) < n:
                self._lacks("n")
        while len(found) < n:
            found += self._ask(request | {"seed": (seed + len(found)) % 2**31})[:1]
        return found

    def where(self) -> str:
        return f"{self.url} (model {self.model!r})"

    def _ask(self, request: dict[str, Any]) -> list[Completion]:
        answer = self._create(request)
        with self._lock:
            self.usage.requests += 1
            if answer.usage:
                self.usage.prompt_tokens += answer.usage.prompt_tokens or 0
                self.usage.completion_tokens += answer.usage.completion_tokens or 0
        if not answer.choices:
            raise OpenAIError("the server answered without a choice")
        if request.get("logprobs") and not any(choice.logprobs for choice in answer.choices):
            self._lacks("logprobs")
        # The server counts the tokens of all choices together; where it lists none, each gets its share.
        share = answer.usage.completion_tokens // len(answer.choices) if answer.usage else 0
        return [_completion(choice, request.get("stop", ()), share) for choice in answer.choices]

    def _create(self, request: dict[str, Any]) -> Any:
        while True:
            sent = {key: value for key, value in request.items() if key not in self.unsupported}
            if "max_tokens" in self.unsupported:
                sent["max_completion_tokens"] = request["max_tokens"]
            try:
                return self._client.chat.completions.create(**sent)
            except REFUSED as error:
                refused = _refused_parameter(error)
                if refused not in sent:
                    raise
                self._lacks(refused)

    def _lacks(self, parameter: str) -> None:
        with self._lock:
            self.unsupported |= {parameter}


def reason(error: OpenAIError) -> str:
    """The error and what lies under it: the client's own "Connection error." says little."""
    cause = error.__cause__
    return f"{error} ({cause})" if cause is not None and str(cause) else str(error)


def _completion(choice: Any, stop: Sequence[str], share: int) -> Completion:
    text = choice.message.content or ""
    whole = len(text)
    for mark in stop:  # a server may not know `stop`
        text = text.partition(mark)[0]
    listed = choice.logprobs.content if choice.logprobs else None
    tokens = tuple((_bytes(token), token.logprob) for token in listed) if listed else None
    return Completion(
        text,
        choice.finish_reason == "length" and len(text) == whole,
        len(tokens) if tokens else share,
        tokens,
    )


def _bytes(token: Any) -> bytes:
    """Of part of a character, a server's text is but a spelling, such as a backslash, x and two digits for a byte."""
    return _utf8(token.token) if token.bytes is None else bytes(token.bytes)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _refused_parameter(error: Any) -> str:
    """The dispensable parameter that the server says it does not know; "" where it complains of something else."""
    said = f"{error.message} {error.body}"
    if not _UNKNOWN_TO_IT.search(said):
        return ""
    if error.param in _DISPENSABLE:
        return str(error.param)
    return next((name for name in _DISPENSABLE if re.search(rf"\b{name}\b", said)), "")
