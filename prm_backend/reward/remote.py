"""A PRM on a vLLM server, asked by `POST /pooling`. Tokenises here, so the layout is the one it was trained on.

What servers of different versions and settings do differently is found out from their answers: whether they know the
task `token_classify` (from 0.11.1 on), give a row a token or a row a step (pooling type STEP), and whether the rows
are raw or already probabilities.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import BadRequestError, NotFoundError, OpenAI, OpenAIError, UnprocessableEntityError
from transformers import AutoTokenizer

from prm_backend.reward.aggregation import numbers
from prm_backend.reward.published import Convention, as_step_probs
from prm_backend.text.encoding import Encoded
from prm_backend.types import NEWLINE, StepProbs, Unscorable

_REFUSED = (BadRequestError, UnprocessableEntityError)
_ROUNDING = 1e-2  # a server may send bfloat16: three digits
_DEFAULT_LENGTH = 4096
_MOST_LABELS = 3


class RemoteFailed(RuntimeError):
    """The server could not be asked, or answered what nobody can read; the message says where and what."""


class RemotePRM:
    """`model` on the vLLM server at `url` (without `/v1`), as a `types.StepScorer`.

    `tokenizer` is the model's: a tokenizer, a directory or a hub id; without one, the name the server loaded it by.
    `concurrency` requests are under way at once, each repeated up to `retries` times with back-off.
    """

    def __init__(
        self,
        url: str,
        model: str,
        convention: Convention,
        *,
        tokenizer: Any = None,
        concurrency: int = 16,
        timeout: float = 300.0,
        retries: int = 4,
    ) -> None:
        self.name = f"{convention.name}:{url}#{model}"
        self._url, self._model, self._convention = url.rstrip("/").removesuffix("/v1"), model, convention
        self._concurrency = concurrency
        self._client = OpenAI(
            base_url=self._url,
            api_key=os.environ.get("OPENAI_API_KEY") or "none",
            timeout=timeout,
            max_retries=retries,
        )
        about = self._about()
        self.max_length = int(about.get("max_model_len") or _DEFAULT_LENGTH)
        given = tokenizer or about.get("root") or model
        self.tokenizer = AutoTokenizer.from_pretrained(given) if isinstance(given, str) else given
        self._names_task = True  # until the server refuses it
        self._honours_raw: bool | None = None  # whether it obeys `use_activation`; asked where it matters

    def score(
        self,
        problems: Sequence[str],
        solutions: Sequence[Sequence[str]],
        *,
        segmentation: str = NEWLINE,
    ) -> list[list[StepProbs] | Unscorable]:
        """Score every step of `solutions[i]` for `problems[i]`. RemoteFailed where the server does not."""
        laid = [
            self._convention.encode(self.tokenizer, problem, steps, self.max_length)
            for problem, steps in zip(problems, solutions, strict=True)
        ]
        with ThreadPoolExecutor(self._concurrency) as pool:
            found = pool.map(lambda e: e if isinstance(e, Unscorable) else self._score(e), laid)
            return [numbers(steps, tuple) for steps in found]

    def _score(self, encoded: Encoded) -> list[StepProbs]:
        steps = self._at_steps(self._pool(encoded.input_ids, raw=True), encoded)
        raw = not _may_be_probabilities(steps) or self._gives_raw(encoded, steps)
        if len(steps[0]) == 1:
            if not raw:
                raise RemoteFailed(
                    f"{self._where()} (vLLM {self._version()}) ignores use_activation, so nothing tells whether its "
                    "values are raw or probabilities: serve it with vLLM 0.11.1 or newer"
                )
            return [as_step_probs(_softmax([0.0, row[0]])) for row in steps]
        if self._convention.good_first:
            steps = [row[::-1] for row in steps]
        return [as_step_probs(_softmax(row) if raw else [p / math.fsum(row) for p in row]) for row in steps]

    def _at_steps(self, rows: list[list[float]], encoded: Encoded) -> list[list[float]]:
        if any(not 1 <= len(row) <= _MOST_LABELS for row in rows):
            raise RemoteFailed(
                f"{self._where()} gave rows of {len(rows[0])} numbers, so not those of a PRM's labels"
            )
        if len(rows) == len(encoded):
            return [rows[position] for position in encoded.label_positions]
        if len(rows) == len(encoded.label_positions):  # the server picks the marks out itself
            return rows
        raise RemoteFailed(
            f"{self._where()} gave {len(rows)} rows for {len(encoded)} tokens and {len(encoded.label_positions)} "
            "steps: serve it with --runner pooling and pooling type ALL or STEP "
            "(with the step_tag_id of its mark)"
        )

    def _gives_raw(self, encoded: Encoded, steps: list[list[float]]) -> bool:
        """Whether `use_activation` is obeyed: rows that may be either are asked for with it too, once.

        By what is nearer, not by what differs: a server rounds otherwise from one batch to the next.
        """
        if self._honours_raw is None:
            activated = self._at_steps(self._pool(encoded.input_ids, raw=False), encoded)
            expected = [_softmax(row) if len(row) > 1 else _softmax([0.0, *row])[1:] for row in steps]
            self._honours_raw = _apart(activated, expected) < _apart(activated, steps)
        return self._honours_raw

    def _pool(self, ids: Sequence[int], *, raw: bool) -> list[list[float]]:
        request: dict[str, Any] = {"model": self._model, "input": list(ids), "use_activation": not raw}
        if self._names_task:
            try:
                return self._post(request | {"task": "token_classify"})
            except _REFUSED:  # for the task, or for the text: without the task it tells
                answer = self._post_or_fail(request)
                self._names_task = False
                return answer
        return self._post_or_fail(request)

    def _post_or_fail(self, request: dict[str, Any]) -> list[list[float]]:
        try:
            return self._post(request)
        except _REFUSED as error:
            raise RemoteFailed(f"{self._where()} refused: {error}") from error

    def _post(self, request: dict[str, Any]) -> list[list[float]]:
        try:
            answer: Any = self._client.post("/pooling", cast_to=object, body=request)
        except _REFUSED:
            raise
        except OpenAIError as error:
            raise RemoteFailed(f"{self._where()} failed: {error}") from error
        try:
            rows = answer["data"][0]["data"]
            found = [[float(value) for value in (row if isinstance(row, list) else [row])] for row in rows]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise RemoteFailed(
                f"{self._where()} answered something else than pooled rows: {error!r}"
            ) from error
        if len(rows) <= _MOST_LABELS and not any(isinstance(row, list) for row in rows):
            raise RemoteFailed(
                f"{self._where()} gave one row for the whole text, not one a token or a step: serve it with "
                """--pooler-config '{"task": "token_classify"}'"""
            )
        return found

    def _about(self) -> dict[str, Any]:
        """What the server says of the model; empty where it does not list models."""
        try:
            listed: Any = self._client.get("/v1/models", cast_to=object)
        except NotFoundError:
            return {}
        except OpenAIError as error:
            raise RemoteFailed(f"{self._where()} cannot be asked: {error}") from error
        models = {entry["id"]: entry for entry in listed.get("data", [])}
        if self._model not in models:
            raise RemoteFailed(f"{self._url} serves {', '.join(sorted(models))}, not {self._model!r}")
        return models[self._model]

    def _version(self) -> str:
        try:
            answer: Any = self._client.get("/version", cast_to=object)
            return str(answer.get("version", "of unknown version"))
        except OpenAIError:
            return "of unknown version"

    def _where(self) -> str:
        return f"{self._url}/pooling (model {self._model!r})"


def _may_be_probabilities(rows: list[list[float]]) -> bool:
    return all(
        min(row) >= 0 and (row[0] <= 1 if len(row) == 1 else abs(math.fsum(row) - 1) <= _ROUNDING)
        for row in rows
    )


def _apart(some: list[list[float]], others: list[list[float]]) -> float:
    return math.fsum(abs(a - b) for x, y in zip(some, others, strict=True) for a, b in zip(x, y, strict=True))


def _softmax(row: Sequence[float]) -> list[float]:
    top = max(row)
    exps = [math.exp(value - top) for value in row]
    return [e / math.fsum(exps) for e in exps]
