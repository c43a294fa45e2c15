"""An OpenAI-compatible server that adds like a student: every second sample is wrong in its second step.

A process of its own (`with student() as url`), so generators, workers and retries are the real ones. A model named
`slow` takes its time. Knows only problems that hold "a + b".
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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
    process = subprocess.Popen([sys.executable, str(Path(__file__))], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] == "slow":
            time.sleep(SLOW_SECONDS)
        problem = body["messages"][0]["content"]
        seed, n = body.get("seed", 0), body.get("n", 1)
        choices = [_choice(index, solution(problem, index, seed)) for index in range(n)]
        usage = {"prompt_tokens": 1, "completion_tokens": 20 * len(choices), "total_tokens": 21}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        content = json.dumps({**head, "choices": choices, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the tests' output is theirs."""


def _choice(index: int, text: str) -> dict[str, Any]:
    return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
