"""Programs judged by running them: a problem's tests against a solution's code, each in a sandboxed process of its own.

Asserts run in one process and the stranger's functions in another; all that passes between them is data. So nothing a
program does (replace `assert` or `==`, print, exit, forge a message) can make a test pass that its values do not pass.
Where the kernel can't shut a process in, nothing is run and the verdict is undecided.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from prm_backend.text.gold import CodeTest, InputOutput
from prm_backend.text.steps import storable
from prm_backend.types import GraderOpinion, Outcome, Verdict

NAME = "tests"
_PACKAGE_PARENT = str(Path(__file__).parents[2])
_INSIDE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from prm_backend.sandbox.main import main; "
    "main(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))"
)
_ENVIRONMENT = ("LD_LIBRARY_PATH",)  # some Pythons do not start without; nothing else is a program's to know
_ENDS = {"passed", "failed", "undecided"}
_START_SECONDS = 60.0
_MOST_CHARACTERS = 100_000


@dataclass(frozen=True)
class CodeLimits:
    """What one solution's tests may take together. Both processes have these limits, the clock they share."""

    wall_seconds: float = 20.0
    cpu_seconds: int = 10
    memory_bytes: int = 512 << 20  # address space
    message_bytes: int = 4 << 20  # what a function may give back, or a program print


_DEFAULT_LIMITS = CodeLimits()


def run_tests(code: str, tests: Sequence[CodeTest], limits: CodeLimits = _DEFAULT_LIMITS) -> Verdict:
    """Correct where every test passes, wrong where one fails; undecided where that could not be found out.

    So are limits that were hit, a module that is not there, a function of another name, and tests at fault.
    """
    started = time.monotonic()
    outcome, reason = _outcome(code, tests, limits)
    reason = storable(reason)  # it may quote the program
    opinion = GraderOpinion(NAME, outcome, reason)
    return Verdict(outcome, reason, (opinion,), (time.monotonic() - started) * 1000)


def _outcome(code: str, tests: Sequence[CodeTest], limits: CodeLimits) -> tuple[Outcome, str]:
    if not tests:
        return Outcome.UNDECIDED, "the problem has no tests"
    if not code.strip():
        return Outcome.UNDECIDED, "there is no code"
    if len(code) > _MOST_CHARACTERS:
        return Outcome.UNDECIDED, f"the code has {len(code)} characters; {_MOST_CHARACTERS} are the most"
    pairs = [test for test in tests if isinstance(test, InputOutput)]
    asserts = [test for test in tests if isinstance(test, str)]
    try:
        with _Inside("student", limits) as student:
            student.begin()
            if pairs:
                return _run_pairs(student, code, pairs)
            with _Inside("tests", limits) as judge:
                judge.begin()
                return _run_asserts(student, judge, code, asserts)
    except _Silent as silent:
        return silent.outcome, str(silent)


def _run_pairs(student: _Inside, code: str, pairs: Sequence[InputOutput]) -> tuple[Outcome, str]:
    for number, pair in enumerate(pairs, start=1):
        reply = student.ask({"run": code, "input": pair.input})
        if "raised" in reply:
            return _raised(reply, f"test {number}")
        if _lines(str(reply.get("output", ""))) != _lines(pair.output):
            return Outcome.WRONG, f"test {number}: it printed {str(reply.get('output'))[:100]!r}"
    return Outcome.CORRECT, f"all {len(pairs)} tests pass"


def _run_asserts(student: _Inside, judge: _Inside, code: str, asserts: list[str]) -> tuple[Outcome, str]:
    loaded = student.ask({"load": code})
    if "raised" in loaded:
        return _raised(loaded, "loading the program")
    judge.send(json.dumps(asserts).encode())
    while not _ENDS.intersection(said := judge.receive()):
        student.send(json.dumps(said).encode())
        judge.send(student.line())  # unread: whatever it is, it is the tests' process that takes it
    if "passed" in said:
        return Outcome.CORRECT, f"all {said['passed']} tests pass"
    if "failed" in said:
        return Outcome.WRONG, f"test {said['failed'] + 1}: {said['why']}"
    return Outcome.UNDECIDED, str(said["undecided"])


def _raised(reply: dict[str, Any], where: str) -> tuple[Outcome, str]:
    """What an exception that ended a program says of it: nothing, where it wanted what is not there."""
    name, why = str(reply["raised"])[:100], f"{where}: {reply['raised']}: {reply.get('text')}"[:300]
    missing = name in ("ModuleNotFoundError", "MemoryError")
    return (Outcome.UNDECIDED if missing else Outcome.WRONG), why


def _lines(text: str) -> list[str]:
    """What was printed, without the blanks at the ends of lines and of the whole."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


class _Silent(Exception):
    """A process gives no answer any more."""

    def __init__(self, reason: str, outcome: Outcome = Outcome.UNDECIDED) -> None:
        super().__init__(reason)
        self.outcome = outcome


class _Inside:
    """One sandboxed process, killed at the end whatever it does; messages are lines of JSON of bounded length."""

    def __init__(self, role: str, limits: CodeLimits) -> None:
        self._role, self._limits = role, limits
        self._deadline = time.monotonic() + _START_SECONDS
        self._received = b""
        command = [sys.executable, "-I", "-S", "-B", "-c", _INSIDE, _PACKAGE_PARENT, role]
        self._process = subprocess.Popen(
            [*command, str(limits.cpu_seconds), str(limits.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)

    def begin(self) -> None:
        """Wait until it is shut in; the clock runs from there. Raises _Silent where it can't be."""
        said = self.receive()
        if "refused" in said:
            raise _Silent(f"not run: {said['refused']}")
        self._deadline = time.monotonic() + self._limits.wall_seconds

    def ask(self, message: Any) -> dict[str, Any]:
        self.send(json.dumps(message).encode())
        return self.receive()

    def send(self, message: bytes) -> None:
        """Raises _Silent where it does not listen in time."""
        rest = memoryview(message + b"\n")
        while rest:
            self._wait(select.select([], [self._to], [], self._left())[1])
            try:
                rest = rest[os.write(self._to, rest) :]
            except BrokenPipeError:
                raise self._ended() from None

    def line(self) -> bytes:
        """The next line. Raises _Silent where none comes in time."""
        while b"\n" not in self._received:
            if len(self._received) > self._limits.message_bytes:
                raise _Silent(f"more than {self._limits.message_bytes >> 20} MiB came back")
            self._wait(select.select([self._from], [], [], self._left())[0])
            if not (piece := os.read(self._from, 1 << 16)):
                raise self._ended()
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return line

    def receive(self) -> dict[str, Any]:
        """The next message. Raises _Silent where none comes in time, or what comes is none."""
        try:
            message = json.loads(self.line())
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise _Silent("the program wrote into the channel of its answers", Outcome.WRONG)
        return message

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _wait(self, ready: list[int]) -> None:
        if not ready:
            raise _Silent(f"timed out after {self._limits.wall_seconds:g} s")

    def _ended(self) -> _Silent:
        """Why the process is gone: that it ended itself is its own fault, anything else is nobody's."""
        status = self._process.wait()
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return _Silent(f"timed out after {self._limits.cpu_seconds} s of computing, or was killed")
        if status < 0:
            return _Silent(f"the process of the {self._role} crashed ({signal.Signals(-status).name})")
        if self._role == "student":
            return _Silent("the program ended the process before it answered", Outcome.WRONG)
        return _Silent("the tests ended their process")

    def __enter__(self) -> _Inside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
