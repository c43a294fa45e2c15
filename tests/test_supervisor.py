"""Programs are kept running, and ended together, grandchildren included."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from annotate.services import supervisor as module
from annotate.services.supervisor import Program, Supervisor, end_leftovers

BASE_DIR = Path(__file__).resolve().parent.parent


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def run_until(supervisor: Supervisor, done: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds

    def tick() -> None:
        if done() or time.monotonic() > deadline:
            supervisor.stop()

    supervisor.run(tick)
    assert time.monotonic() < deadline, "it did not happen in time"


def gone(pid: int, seconds: float = 10) -> bool:
    """It is dead, or will be in a moment; one that nobody has asked after yet is dead all the same."""
    deadline = time.monotonic() + seconds
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        time.sleep(0.1)
    return not psutil.pid_exists(pid)


def test_output_is_prefixed_and_a_dead_program_starts_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = tmp_path / "starts"
    script = f"open({str(starts)!r}, 'a').write('x'); print('hello'); raise SystemExit(3)"
    supervisor = Supervisor([Program("frail", python(script))], leftovers=tmp_path / "left.json")
    run_until(supervisor, lambda: starts.exists() and len(starts.read_text()) >= 2)
    output = capsys.readouterr().out
    assert "frail     | hello" in output
    assert "frail ended with status 3; starting it again in 1 s" in output


def test_stopping_ends_programs_that_will_not_and_their_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "GRACE", 0.5)
    pids = tmp_path / "pids"
    script = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork()\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(600)"
    )
    supervisor = Supervisor([Program("deaf", python(script))], leftovers=tmp_path / "left.json")
    run_until(supervisor, lambda: pids.exists() and len(pids.read_text().split()) == 2)
    assert all(gone(int(pid)) for pid in pids.read_text().split())
    assert "deaf did not end within" in capsys.readouterr().out
    assert not (tmp_path / "left.json").exists()


def test_what_outlives_a_killed_supervisor_is_ended_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / "left.json"
    script = (
        "import sys; from pathlib import Path; from annotate.services.supervisor import *\n"
        "program = Program('orphan', [sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "Supervisor([program], leftovers=Path(sys.argv[1])).run(lambda: print(program.process.pid, flush=True))"
    )
    parent = subprocess.Popen(
        [*python(script), str(left)], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(BASE_DIR)}
    )  # fmt: skip
    assert parent.stdout is not None
    orphan = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert psutil.pid_exists(orphan)

    assert end_leftovers(left) == 1
    assert gone(orphan)
    assert end_leftovers(left) == 0


def test_a_pid_that_belongs_to_somebody_else_by_now_is_left_alone(tmp_path: Path) -> None:
    left = tmp_path / "left.json"
    left.write_text(f"[[{os.getpid()}, 12345.0]]")
    assert end_leftovers(left) == 0
