"""One side of a run, student's or tests', shut in before it begins.

Speaks JSON lines on what were its standard streams; the first says {"ready": true} or {"refused": why}.
"""

from __future__ import annotations

import json
import os
from typing import Any

from prm_backend.sandbox import asserts, prison, student


def main(role: str, cpu_seconds: int, memory_bytes: int) -> None:
    """Serve one `role`, "student" or "tests", until the input ends; then end the process."""
    receiving = os.fdopen(os.dup(0), "rb")
    sending = os.fdopen(os.dup(1), "wb")

    def read() -> Any:
        line = receiving.readline()
        return json.loads(line) if line else None

    def write(message: Any) -> None:
        sending.write(json.dumps(message).encode() + b"\n")
        sending.flush()

    def ask(message: Any) -> Any:
        write(message)
        return read()

    try:
        modules = prison.load_allowed()
        prison.shut_in(cpu_seconds=cpu_seconds, memory_bytes=memory_bytes)
    except prison.NoPrison as why:
        write({"refused": str(why)})
        os._exit(0)
    write({"ready": True})
    if role == "student":
        student.serve(read, write)
    else:
        write(asserts.run(read(), modules, ask))
    os._exit(0)
