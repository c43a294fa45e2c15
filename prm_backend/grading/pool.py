"""Graders that can be killed: two answers meet in a process of their own, its time and memory limited.

Plain child processes that speak JSON lines, not `multiprocessing`: that forbids children to Celery's workers,
which are daemons. A pair that hangs or eats memory costs its process; the rest of the batch goes on.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from prm_backend.types import GraderOpinion, Outcome

_PACKAGE_PARENT = Path(__file__).parents[2]
# The worker reads hostile text: it gets no password or key out of the environment.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "TMPDIR")
_START_SECONDS = 120.0
_GRADER = "math-verify"
OUT_OF_MEMORY = 77  # the exit status by which a worker says so


@dataclass(frozen=True)
class GradingLimits:
    """What one comparison may take. Memory means address space, of which sympy itself needs about 150 MiB.

    The clock gives twice the computing time, so that a busy machine does not change verdicts.
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 5
    memory_bytes: int = 1 << 30
    answer_characters: int = 2000

    def __post_init__(self) -> None:
        if self.wall_seconds <= 0 or self.cpu_seconds < 1 or self.answer_characters < 1:
            raise ValueError(f"limits must be positive, got {self}")
        if self.memory_bytes < 256 << 20:
            raise ValueError(f"memory_bytes must be at least {256 << 20}, got {self.memory_bytes}")


class Question(NamedTuple):
    """Two bare answers, what a rounded value is, and (as its text) the tolerance of a number, if it has one."""

    answer: str
    gold: str
    rounded: Outcome = Outcome.UNDECIDED
    tolerance: str | None = None


class WorkerFailed(RuntimeError):
    """A grader process could not even start; its own words are on standard error."""


class _Worker:
    """A process that has loaded the library, and its child that compares; only the child is ever killed."""

    def __init__(self, limits: GradingLimits) -> None:
        self._limits = limits
        self._child: int | None = None
        command = [sys.executable, "-m", "prm_backend.grading.worker"]
        self._process = subprocess.Popen(
            [*command, str(limits.cpu_seconds), str(limits.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_PACKAGE_PARENT,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,  # a group of its own: `stop` reaches the child, ^C at a terminal does not
        )

    def ask(self, question: Question) -> GraderOpinion:
        """The child's opinion, or why it has none. Raises WorkerFailed where there is no process to ask."""
        self.wait_until_ready()
        assert self._child is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        try:
            reply = self._reply(self._limits.wall_seconds)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
            self._child = None
            return _undecided(f"timed out after {self._limits.wall_seconds:g} s")
        if isinstance(reply, dict):  # the child is gone, and this announces the next
            self._child = reply["pid"]
            return _undecided(self._why(reply["status"]))
        outcome, reason = reply
        return GraderOpinion(_GRADER, Outcome(outcome), reason)

    def wait_until_ready(self) -> None:
        """Wait for the library to load. Raises TimeoutError or WorkerFailed."""
        while self._child is None:
            announced = self._reply(_START_SECONDS)
            if isinstance(announced, dict):  # else the last word of a child that was killed meanwhile
                self._child = announced["pid"]

    def stop(self) -> None:
        """Kill the process and its child."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _reply(self, seconds: float) -> Any:
        """The next line of the process, parsed. Raises TimeoutError, or WorkerFailed once it is gone."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"a grader process ended (exit status {self._process.wait()})")
        return json.loads(line)

    def _why(self, status: int) -> str:
        if status == -signal.SIGXCPU:
            return f"timed out after {self._limits.cpu_seconds} s of computing"
        if status == OUT_OF_MEMORY:
            return f"out of memory (more than {self._limits.memory_bytes >> 20} MiB)"
        name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"the process that compared died ({name}), as when out of memory"


def _undecided(reason: str) -> GraderOpinion:
    return GraderOpinion(_GRADER, Outcome.UNDECIDED, reason)


class WorkerPool:
    """Up to `size` worker processes, started as they are needed; any number of threads may ask.

    After a fork the child must make a pool of its own: the processes belong to the parent.
    """

    def __init__(self, size: int, limits: GradingLimits) -> None:
        if size < 1:
            raise ValueError(f"a pool needs 1 worker or more, got {size}")
        self._limits = limits
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="grader")
        self._started: list[_Worker] = []
        self._lock = threading.Lock()
        self._closed = False

    def ask_many(self, questions: Sequence[Question]) -> list[tuple[GraderOpinion, float]]:
        """An opinion on each question, with its milliseconds, in order; equal ones are asked once."""
        distinct = list(dict.fromkeys(questions))
        answers = dict(zip(distinct, self._threads.map(self._ask, distinct), strict=True))
        return [answers[question] for question in questions]

    def _ask(self, question: Question) -> tuple[GraderOpinion, float]:
        worker = self._idle.get()
        try:
            if worker is None:
                worker = self._start()
            worker.wait_until_ready()
            started = time.monotonic()
            return worker.ask(question), (time.monotonic() - started) * 1000
        except (TimeoutError, BrokenPipeError, WorkerFailed) as error:
            if worker is not None:
                self._stop(worker)
                worker = None
            raise WorkerFailed(
                f"no grader process answers: {error or 'it took too long to start'}"
            ) from error
        finally:
            self._idle.put(worker)

    def _start(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise WorkerFailed("the grader pool is closed")
            worker = _Worker(self._limits)
            self._started.append(worker)
            return worker

    def _stop(self, worker: _Worker) -> None:
        with self._lock:
            worker.stop()
            if worker in self._started:
                self._started.remove(worker)

    def close(self) -> None:
        """End every process; a comparison that is under way raises WorkerFailed."""
        with self._lock:
            self._closed = True
            for worker in self._started:
                worker.stop()
            self._started.clear()
        self._threads.shutdown()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
