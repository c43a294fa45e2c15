"""An OpenAI-compatible server that adds like a student: every second sample is wrong in its second step.

A process of its own (`with student() as url`), so generators, workers and retries are the real ones. A model named
`slow` takes its time. Knows only problems that hold "a + b".
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.json_server import JSONHandler, running, serve

SLOW_SECONDS = 8.0
_OPENINGS = (
    "I add the two numbers.",
    "Adding is what is asked.",
    "The sum of both is wanted.",
    "Let us add.",
)


def solution(problem: str, index: int, seed: int = 0) -> str:
    """The sample of this index: right where it is even; two steps and the answer. Each seed has its own words."""
    found = re.findall(r"(\d+) \+ (\d+)", problem)
    if not found:
        return "I do not know."
    a, b = map(int, found[-1])
    total = a + b if index % 2 == 0 else a + b + index
    opening = _OPENINGS[index // 2 % len(_OPENINGS)]
    return f"Try {seed % 1000}. {opening}\nSo ${a} + {b} = {total}$.\n\n# Answer\n\n{total}"


@contextmanager
def student() -> Iterator[str]:
    """The base URL of a running server."""
    with running("tests.student_server") as address:
        yield f"{address}/v1"


class _Handler(JSONHandler):
    def do_POST(self) -> None:
        body = self.body()
        if body["model"] == "slow":
            time.sleep(SLOW_SECONDS)
        problem = body["messages"][0]["content"]
        seed, n = body.get("seed", 0), body.get("n", 1)
        choices = [_choice(index, solution(problem, index, seed)) for index in range(n)]
        usage = {"prompt_tokens": 1, "completion_tokens": 20 * len(choices), "total_tokens": 21}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        self.reply(200, {**head, "choices": choices, "usage": usage})


def _choice(index: int, text: str) -> dict[str, Any]:
    return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


if __name__ == "__main__":
    serve(_Handler)
