"""A small OpenAI-compatible server, run as a process: the model's name says how it behaves.

`good` answers with n choices; `no-n` refuses `n` (400); `ignores-n` gives one choice whatever is asked; `flaky` fails
each request once (503) before it answers and `hangs-up` closes the connection once; `down` always fails (500); `half`
gives one choice and fails from the second on; `steps` writes a step a choice; `strict` refuses seed, stop and
logprobs as unknown; `in-bytes` says an emoji and has a token a byte; `judge-…` end in a verdict or not; `new` wants
max_completion_tokens; `short` finds max_tokens too large. A problem with "forbidden" in it is refused (400) and one
with "broken" fails (500). Prints its port; GET /requests returns the bodies it was
sent.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.json_server import JSONHandler, serve

JUDGED = {
    "judge-same": "<think>Is it? VERDICT: DIFFERENT</think>Both say one third.\n\n**VERDICT: SAME**",
    "judge-different": "Another value.\nVERDICT: DIFFERENT",
    "judge-unsure": "It depends on what was asked.\nVERDICT: UNSURE",
    "judge-torn": "VERDICT: SAME\nNo, wait.\nVERDICT: DIFFERENT",
    "judge-rambles": "Both are fine answers, I would say SAME.",
    "judge-mute": "",
}
requests: list[dict[str, Any]] = []
failed_once: set[str] = set()


def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Status and body for a chat completion request."""
    prompt, model = body["messages"][0]["content"], body["model"]
    if "forbidden" in prompt:
        return 400, {"error": {"message": "this problem is not for me", "type": "invalid_request_error"}}
    if model == "no-n" and "n" in body:
        return 400, {"error": {"message": "n is not supported", "type": "invalid_request_error"}}
    if model == "strict":
        for name in {"seed", "stop", "logprobs"} & body.keys():
            said = f"body.{name}: Extra inputs are not permitted"
            return 422, {"error": {"message": said, "type": "invalid_request_error"}}
    if model == "new" and "max_tokens" in body:
        said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
        return 400, {"error": {"message": said, "type": "invalid_request_error", "param": "max_tokens"}}
    if model == "short":
        said = "'max_tokens' is too large: 220. This model's maximum context length is 128 tokens."
        return 400, {"error": {"message": said, "type": "invalid_request_error", "param": "max_tokens"}}
    if model == "half" and body["seed"] > 5:
        return 500, {"error": {"message": "out of memory", "type": "server_error"}}
    if model == "down" or "broken" in prompt:
        return 500, {"error": {"message": "out of memory", "type": "server_error"}}
    if model == "flaky" and (key := json.dumps(body, sort_keys=True)) not in failed_once:
        failed_once.add(key)
        return 503, {"error": {"message": "loading", "type": "server_error"}}
    count = 1 if model in ("no-n", "ignores-n", "half") else body.get("n", 1)
    choices = [choice(body, index) for index in range(count)]
    tokens = sum(len(item["message"]["content"].split()) for item in choices)
    return 200, {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": choices,
        "usage": {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1},
    }


def choice(body: dict[str, Any], index: int) -> dict[str, Any]:
    if body["model"].startswith("judge-"):
        said = JUDGED[body["model"]]
        return {"index": index, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    number = body.get("seed", 0) + index
    if body["model"] == "steps":
        answer = f"\n\n# Answer\n\n{number}" if number % 7 == 0 else "\nAnd so on."
        return {
            "index": index,
            "message": {"role": "assistant", "content": f"Then ${number}$.{answer}"},
            "finish_reason": "stop",
        }
    text = f"We think about it.\nIt is ${number}$.\n\n# Answer\n\n{number}\n\nAnd I could go on."
    truncated = body.get("max_tokens", body.get("max_completion_tokens", 100)) < 10
    text = "We think" if truncated else text
    if body["model"] == "in-bytes":
        text = text.replace("We", "🙂")
    # A token a word, each with the blank after it and a log-probability of -1/4.
    tokens = [{"token": word, "logprob": -0.25, "top_logprobs": []} for word in re.findall(r"\S+\s*", text)]
    if body["model"] == "in-bytes":  # one a byte, where it is no character by itself spelt as vLLM does
        tokens = [
            {"token": chr(byte) if byte < 128 else f"\\x{byte:02x}", "bytes": [byte], "logprob": -0.25}
            for byte in text.encode()
        ]
    return {
        "index": index,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "length" if truncated else "stop",
        "logprobs": {"content": tokens} if body.get("logprobs") else None,
    }


class Handler(JSONHandler):
    def do_POST(self) -> None:
        body = self.body()
        requests.append(body)
        if body["model"] == "hangs-up" and len(requests) == 1:
            self.close_connection = True
            return
        self.reply(*answer(body)) if self.path == "/v1/chat/completions" else self.reply(404, {})

    def do_GET(self) -> None:
        self.reply(200, requests)


if __name__ == "__main__":
    serve(Handler)
