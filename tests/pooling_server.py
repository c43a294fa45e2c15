"""A small server that pools as vLLM does, run as a process: the model's name says which version and which setting.

`new` knows the task token_classify and use_activation (0.11.1 on); `old` refuses a task (400) and gives raw rows;
`step` gives rows at the byte tokenizer's newline only, as probabilities; `value` gives one number a token; `deaf-value`
gives one probability a token whatever it is asked, never rounded twice alike; `sums-to-1` has logits that look like
probabilities; `text` classifies whole texts only and `wide` gives hidden states; `odd` gives too few rows; `flaky`
fails each request once (503); `short` has a context of 16 tokens. The logits are made of the token ids: see `logits`.
Prints its port; GET /requests returns the bodies it was sent.
"""

from __future__ import annotations

import json
import math
from typing import Any

from tests.json_server import JSONHandler, serve

MODELS = (
    "new",
    "old",
    "step",
    "value",
    "deaf-value",
    "sums-to-1",
    "text",
    "wide",
    "odd",
    "flaky",
    "short",
    "down",
)
NEWLINE = 200
requests: list[dict[str, Any]] = []
failed_once: set[str] = set()


def logits(ids: list[int]) -> list[float]:
    """What the model thinks after the last of `ids`: two numbers that depend on all of them."""
    return [math.sin(sum(ids)), 3 * math.cos(sum(i * t for i, t in enumerate(ids, 1)))]


def softmax(row: list[float]) -> list[float]:
    total = math.fsum(math.exp(value) for value in row)
    return [math.exp(value) / total for value in row]


def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    model, ids = body["model"], body["input"]
    if model == "down":
        return 500, {"error": {"message": "out of memory"}}
    if model.startswith("old") and "task" in body:
        return 400, {"error": {"message": "Task token_classify is not supported"}}
    if model == "text" and "task" in body:  # in vLLM's own words
        said = (
            "Try switching the model's pooling_task via --pooler-config.task token_classify. (parameter=task)"
        )
        return 400, {"error": {"message": said, "type": "BadRequestError", "param": "task", "code": 400}}
    if model == "flaky" and (key := json.dumps(body)) not in failed_once:
        failed_once.add(key)
        return 503, {"error": {"message": "loading"}}
    activates = not model.startswith("old") and body.get("use_activation", True)
    rows: list[Any] = [logits(ids[: n + 1]) for n in range(len(ids))]
    if model == "sums-to-1":
        rows = [softmax(row) for row in rows]
    if "value" in model:
        rows = [row[1] / 9 for row in rows]
        if activates or model == "deaf-value":
            rows = [1 / (1 + math.exp(-value)) + len(requests) * 1e-6 for value in rows]
        rows = [[value] for value in rows]
    elif activates or model == "step":
        rows = [softmax(row) for row in rows]
    if model == "step":
        rows = [row for row, token in zip(rows, ids, strict=True) if token == NEWLINE]
    if model == "text":
        rows = rows[-1]
    if model == "wide":
        rows = [row * 4 for row in rows]
    if model == "odd":
        rows = rows[:-1]
    return 200, {"object": "list", "model": model, "data": [{"index": 0, "object": "pooling", "data": rows}]}


def listed(model: str) -> dict[str, Any]:
    return {
        "id": model,
        "object": "model",
        "root": "/nowhere",
        "max_model_len": 16 if model == "short" else 512,
    }


class Handler(JSONHandler):
    def do_POST(self) -> None:
        body = self.body()
        requests.append(body)
        self.reply(*answer(body)) if self.path == "/pooling" else self.reply(404, {})

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            return self.reply(200, {"object": "list", "data": [listed(model) for model in MODELS]})
        if self.path == "/version":
            return self.reply(200, {"version": "0.10.2"})
        return self.reply(200, requests)


if __name__ == "__main__":
    serve(Handler)
