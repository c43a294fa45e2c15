"""What the small servers of the tests share: JSON in and out, a process of their own, a port that they print."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class JSONHandler(BaseHTTPRequestHandler):
    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the tests' output is theirs."""


def serve(handler: type[JSONHandler]) -> None:
    """Serve for ever, on a port that is printed first."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_port, flush=True)
    server.serve_forever()


@contextmanager
def running(module: str) -> Iterator[str]:
    """The address, such as http://127.0.0.1:1234, of that module's server in a process of its own."""
    command = [sys.executable, "-m", module]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def requests_of(address: str) -> list[dict[str, Any]]:
    """The bodies that a server was sent, which it tells at /requests."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address.removesuffix('/v1')}/requests") as response:
        return list(json.load(response))
