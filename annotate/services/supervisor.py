"""Runs a handful of programs side by side: prefixed output, restarts with growing pauses, one clean end.

Knows nothing of what they do. A pipe a program, a thread a pipe; everything else happens in the caller's thread.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

GRACE = 10.0  # seconds a program has to end after SIGTERM before it is killed
_HEALTHY = 60.0  # a program that lived this many seconds is started again after a short pause
_LONGEST_PAUSE = 30.0
_COLOURS = (36, 32, 33, 35)  # cyan, green, yellow, magenta


@dataclass
class Program:
    """One program that is kept running."""

    name: str
    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause: float = 0.0
    start_at: float = 0.0

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Supervisor:
    """Keeps `programs` running until told to stop.

    `leftovers` is the file that remembers them, so that a start after `kill -9` of this very process can end
    what still runs before it starts them anew.
    """

    def __init__(self, programs: Sequence[Program], *, leftovers: Path) -> None:
        self.programs = list(programs)
        self.leftovers = leftovers
        self._width = max(len(program.name) for program in self.programs)
        self._output = threading.Lock()
        self._stopping = False

    def run(self, tick: Callable[[], None]) -> None:
        """Start everything and keep it running; calls `tick` about twice a second. Returns after `stop`."""
        try:
            while not self._stopping:
                for program in self.programs:
                    self._look_after(program)
                tick()
                time.sleep(0.5)
        finally:
            self._end_all()

    def stop(self) -> None:
        """Safe to call from a signal handler; the second call does not wait for anybody."""
        if self._stopping:
            for program in self.programs:
                _signal_group(program, signal.SIGKILL)
        self._stopping = True

    def say(self, line: str, *, name: str = "") -> None:
        """Print one line under a program's name, or under our own."""
        colour = 1
        if name:
            colour = _COLOURS[[p.name for p in self.programs].index(name) % len(_COLOURS)]
        prefix = f"{name or 'plumbline':<{max(self._width, 9)}} |"
        if sys.stdout.isatty():
            prefix = f"\033[{colour}m{prefix}\033[0m"
        with self._output:
            print(prefix, line, flush=True)

    def _look_after(self, program: Program) -> None:
        if program.alive:
            return
        now = time.monotonic()
        if program.process is not None:
            if now - program.started_at >= _HEALTHY:
                program.pause = 0.0
            program.pause = min(max(1.0, program.pause * 2), _LONGEST_PAUSE)
            program.start_at = now + program.pause
            how = _how_it_ended(program.process.returncode)
            self.say(f"{program.name} {how}; starting it again in {program.pause:.0f} s")
            _signal_group(program, signal.SIGKILL)  # whatever it left behind
            program.process = None
        elif now >= program.start_at:
            self._start(program)

    def _start(self, program: Program) -> None:
        # A session each: ^C in the terminal reaches us alone, and we end them in order.
        program.process = subprocess.Popen(
            list(program.command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | program.environment,
            start_new_session=True,
        )
        program.started_at = time.monotonic()
        self._remember()
        threading.Thread(target=self._relay, args=(program.name, program.process), daemon=True).start()

    def _relay(self, name: str, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.say(line.decode(errors="replace").rstrip(), name=name)

    def _remember(self) -> None:
        living = [program.process.pid for program in self.programs if program.process and program.alive]
        beside = self.leftovers.with_suffix(".new")
        beside.write_text(json.dumps([[pid, _born(pid)] for pid in living]))
        beside.replace(self.leftovers)

    def _end_all(self) -> None:
        for program in self.programs:
            if program.alive and program.process is not None:
                program.process.terminate()
        deadline = time.monotonic() + GRACE
        for program in self.programs:
            if program.process is None:
                continue
            try:
                program.process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.say(f"{program.name} did not end within {GRACE:.0f} s: killed")
            _signal_group(program, signal.SIGKILL)
            program.process.wait()
        self.leftovers.unlink(missing_ok=True)


def end_leftovers(path: Path) -> int:
    """End the programs of a run that was itself killed; returns how many still ran."""
    if not path.exists():
        return 0
    ended = 0
    for pid, born in json.loads(path.read_text()):
        if born is not None and _born(pid) == born:  # else the pid belongs to somebody else by now
            os.killpg(pid, signal.SIGKILL)
            ended += 1
    path.unlink()
    return ended


def _born(pid: int) -> float | None:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None


def _signal_group(program: Program, number: signal.Signals) -> None:
    if program.process is None:
        return
    try:
        os.killpg(program.process.pid, number)
    except ProcessLookupError:
        return


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}"
