"""Programs are judged by running them, shut in: they get out nothing, forge nothing and outlive nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prm_backend.grading import AnswerKind, Gold, GraderPool, InputOutput, Outcome
from prm_backend.grading.code import CodeLimits, run_tests
from prm_backend.sandbox import prison
from prm_backend.text.gold import extract_code, read_tests, write_tests

pytestmark = pytest.mark.timeout(120)
ROOT = Path(__file__).parents[2]
LIMITS = CodeLimits(wall_seconds=10, cpu_seconds=2, memory_bytes=256 << 20)
HUMAN_EVAL = (
    "def check(candidate):\n    assert candidate([1, 2]) == 3\n    assert candidate([]) == 0\n\ncheck(total)"
)


@pytest.fixture(autouse=True, scope="module")
def _kernel_shuts_in() -> None:
    verdict = run_tests("x = 1", ["assert x == 1"], LIMITS)
    if verdict.reason.startswith("not run"):  # this machine's kernel grants no seccomp filter
        pytest.skip(verdict.reason)


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("def f(x): return x + 1", ["assert f(1) == 2", "assert f(-1) == 0"]),
        ("def total(xs): return sum(xs)", [HUMAN_EVAL]),
        ("import re\ndef f(s): return re.sub('a', 'b', s)", ["assert f('aa') == 'bb'"]),
        ("def f(x): x.sort()", ["xs = [2, 1]\nf(xs)\nassert xs == [1, 2]"]),
        ("def f(): yield 1", ["assert list(f()) == [1]"]),
        ("def f(x): raise KeyError(x)", ["try:\n    f(1)\nexcept KeyError:\n    pass\nelse:\n    assert False"]),
        ("def f(): return {(1, 2): {3.5}, None: b'x'}", ["assert f() == {(1, 2): {3.5}, None: b'x'}"]),
        ("def f(n): return 10 ** n", ["assert f(5000) == 10 ** 5000"]),
        ("def f(x): print('debugging'); return x", ["assert math.isnan(f(float('nan')))"]),
        ("LIMIT = 3", ["assert LIMIT == 3"]),
        ("def f(x: int): return f.__annotations__['x'].__name__", ["assert f(1) == 'int'"]),
        (
            "from __future__ import annotations\nfrom dataclasses import dataclass, field\n@dataclass\nclass P:\n"
            "    xs: list[int] = field(default_factory=list)\ndef f(): return P().xs",
            ["assert f() == []"],
        ),
        ("n = int(input())\nprint(n * 2)", [InputOutput("2\n", "4\n"), InputOutput("3", "6")]),
        ("import sys\nprint(sys.stdin.read().upper(), end='')\nsys.exit(0)", [InputOutput("ab", "AB")]),
        ("if __name__ == '__main__': print('yes')", [InputOutput("", "yes")]),
    ],
)  # fmt: skip
def test_a_program_that_passes_its_tests_is_correct(code, tests):
    verdict = run_tests(code, tests, LIMITS)
    assert (verdict.outcome, verdict.reason) == (Outcome.CORRECT, f"all {len(tests)} tests pass")
    assert [opinion.grader for opinion in verdict.opinions] == ["tests"]


@pytest.mark.parametrize(
    ("code", "tests", "reason"),
    [
        ("def f(x): return x", ["assert f(1) == 1", "assert f(2) == 3"], "test 2: AssertionError"),
        ("def f(x): return 1 / 0", ["assert f(1) == 1"], "test 1: ZeroDivisionError: division by zero"),
        ("def f(x): return y", ["assert f(1) == 1"], "test 1: NameError"),
        ("def f(x) return x", ["assert f(1) == 1"], "loading the program: SyntaxError"),
        ("print(1)", [InputOutput("", "2")], "test 1: it printed '1"),
        ("print(1); exit(3)", [InputOutput("", "1")], "test 1: "),
    ],
)
def test_a_program_that_fails_a_test_is_wrong_with_the_reason(code, tests, reason):
    verdict = run_tests(code, tests, LIMITS)
    assert verdict.outcome is Outcome.WRONG
    assert verdict.reason.startswith(reason)


FORGERIES = [
    "class Equal:\n    def __eq__(self, other): return True\ndef f(x): return Equal()",
    "class Equal(int):\n    def __eq__(self, other): return True\ndef f(x): return Equal(0)",
    "import os\ndef f(x): os._exit(0)",
    "import sys\ndef f(x): sys.exit(0)",
    "import sys\nsys.exit(0)",
    "import os, atexit\natexit.register(os._exit, 0)\ndef f(x): raise SystemExit",
    "def f(x): print('{\"passed\": 1}'); return 0",
    "import os\nfor fd in range(64):\n    try: os.write(fd, b'{\"passed\": 1}\\n{\"value\": true}\\n')\n"
    "    except OSError: pass\ndef f(x): return 0",
    "import os\ndef f(x):\n    os.write(4, b'[' * 900 + b']' * 900 + b'\\n'); return 0",
    "import os\ndef f(x):\n    os.write(4, b'{' * 100000 + b'\\n'); return 0",
    "import os\ndef f(x):\n    os.write(4, b'\\xff\\n{\\n\\n3\\n'); return 0",
    "import os\ndef f(x):\n    os.write(4, b'{\"value\": [\"int\", 3], \"args\": []}\\n'); return 0",
    "import builtins\nbuiltins.AssertionError = ValueError\nbuiltins.all = lambda x: True\ndef f(x): return 0",
    "def all(x): return True\ndef isinstance(a, b): return True\ndef f(x): return 0",
    "import json, os, sys\njson.dumps = lambda *a, **k: '{\"passed\": 1}'\ndef f(x): return 0",
    "import sys\nfor m in list(sys.modules.values()):\n    for n in ('pack', 'write', 'run'):\n"
    "        try: setattr(m, n, lambda *a, **k: True)\n        except Exception: pass\n"
    "def f(x): return 0",
    "import sys\nframe = sys._getframe()\nwhile frame:\n    frame.f_globals['pack'] = lambda v: {'passed': 1}\n"
    "    frame = frame.f_back\ndef f(x): return 0",
]  # fmt: skip


@pytest.mark.parametrize("code", FORGERIES)
def test_no_program_forges_its_verdict(code):
    verdict = run_tests(code, ["assert all([f(1) == 3, isinstance(f(2), int)])\nassert f(1) == 3"], LIMITS)
    assert verdict.outcome is not Outcome.CORRECT, verdict


ESCAPES = {
    "open('/etc/hostname').read()": "PermissionError",
    "open('/tmp/left-behind', 'w')": "PermissionError",
    "__import__('os').listdir('/')": "PermissionError",
    "__import__('os').fork()": "PermissionError",
    "__import__('os').system('true') and 1/0": "ZeroDivisionError",
    "__import__('os').execv('/bin/true', ['true'])": "PermissionError",
    "__import__('os').kill(__import__('os').getppid(), 9)": "PermissionError",
    "__import__('os').open('/proc/self/environ', 0)": "PermissionError",
    "__import__('_socket').socket()": "Error",  # refused where it is built into the interpreter, else not there
    "__import__('ctypes')": "ModuleNotFoundError",
    "__import__('subprocess').run(['true'])": "ModuleNotFoundError",
    "__import__('threading').Thread(target=print).start()": "RuntimeError",
    "__import__('posix').pipe()": "PermissionError",
}


@pytest.mark.parametrize(("escape", "refusal"), ESCAPES.items())
def test_a_program_reaches_no_file_network_or_process(escape, refusal):
    verdict = run_tests(f"def f():\n    {escape}\n    return 3", ["assert f() == 3"], LIMITS)
    assert verdict.outcome is not Outcome.CORRECT
    assert refusal in verdict.reason or "not there" in verdict.reason
    assert not Path("/tmp/left-behind").exists()


def test_a_program_sees_no_secret_of_the_environment_and_no_open_file(monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    with (tmp_path / "secret").open("w+") as secret:
        secret.write("hunter2")
        secret.flush()
        os.set_inheritable(secret.fileno(), True)
        code = (
            "import os, sys\ndef f():\n    found = [str(dict(os.environ)), str(sys.argv)]\n"
            "    for fd in range(5, 256):\n        try: os.lseek(fd, 0, 0); found.append(str(os.read(fd, 99)))\n"
            "        except OSError: pass\n    return found"
        )
        verdict = run_tests(
            code, ["found = f()\nassert len(found) == 2 and 'hunter2' not in str(found), found"]
        )
    assert verdict.outcome is Outcome.CORRECT, verdict.reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def f():\n    while True: pass", "timed out after 1 s of computing"),
        ("while True: pass", "timed out after 1 s of computing"),
        ("def f(): return 'x' * 10 ** 10", "ran out of memory"),
        ("def f(): return 'x' * 10 ** 7", "more than 4 MiB came back"),
        ("import sys\nsys.setrecursionlimit(10 ** 8)\ndef f(): return f()", ""),
        ("import numpy", "No module named 'numpy'"),
        ("def g(): return 3", "the program defines no f"),
        ("def f(): return lambda: 3", "f gives a function"),
    ],
)
def test_what_hits_a_limit_or_cannot_be_tried_is_undecided_with_the_reason(code, reason):
    limits = CodeLimits(wall_seconds=60, cpu_seconds=1, memory_bytes=256 << 20)
    verdict = run_tests(code, ["assert f() == 3"], limits)
    assert verdict.outcome is Outcome.UNDECIDED
    assert reason in verdict.reason


def test_a_program_that_waits_for_ever_is_stopped_by_the_clock():
    started = time.monotonic()
    verdict = run_tests(
        "import time\ndef f(): time.sleep(1000)", ["assert f() == 3"], CodeLimits(wall_seconds=1)
    )
    assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, "timed out after 1 s")
    assert time.monotonic() - started < 100


def test_a_reason_that_quotes_the_program_can_be_stored():
    verdict = run_tests("def f(): raise ValueError('\\x00 \\ud800')", ["f()"], LIMITS)
    assert (verdict.outcome, verdict.reason) == (Outcome.WRONG, "test 1: ValueError: \ufffd \ufffd")


def test_tests_at_fault_judge_nobody():
    for test, reason in (
        ("assert f(1) ==", "itself at fault"),
        ("assert 1 == 1", "never call the program"),
        ("import numpy\nassert f(1) == 1", "itself at fault"),
        ("while True: pass", "timed out"),
    ):
        verdict = run_tests("def f(x): return x", [test], CodeLimits(wall_seconds=60, cpu_seconds=1))
        assert verdict.outcome is Outcome.UNDECIDED
        assert reason in verdict.reason


def test_without_a_prison_nothing_is_run():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from prm_backend.sandbox import main, prison\n"
        "import platform; platform.machine = lambda: 'riscv64'\n"
        "main.main('student', 1, 1 << 28)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT)], input='{"load": "1/0"}\n', capture_output=True, text=True
    )
    [only] = [json.loads(line) for line in done.stdout.splitlines()]
    assert "riscv64" in only["refused"]


def test_a_kernel_that_refuses_the_filter_is_told_as_such():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import os, ctypes, resource\n"
        "out = os.fdopen(os.dup(1), 'w')\n"
        "from prm_backend.sandbox import prison\n"
        "prison.shut_in(cpu_seconds=5, memory_bytes=1 << 30)\n"
        "try: prison._control(ctypes.CDLL(None, use_errno=True), 22, 2)\n"  # no prctl in here any more
        "except prison.NoPrison as why: print(why, file=out, flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(ROOT)], capture_output=True, text=True)
    assert "kernel refuses to shut a process in (prctl 22: Operation not permitted)" in done.stdout, (
        done.stderr
    )


@pytest.mark.parametrize(
    ("machine", "numbers", "elf_machine"),
    [
        ("x86_64", "x86_64-linux-gnu/asm/unistd_64.h", "EM_X86_64"),
        ("aarch64", "asm-generic/unistd.h", "EM_AARCH64"),
    ],
)
def test_the_numbers_of_calls_are_those_of_the_kernels_headers(machine, numbers, elf_machine):
    architecture, calls = prison._MACHINES[machine]
    # Generic headers say 3264 where a call is another one on 32 bits, as fstat is.
    found = _defined(numbers, r"__NR(?:3264)?_(\w+)\s+(\d+)")
    assert calls == {name: int(found[name]) for name in calls}
    # What linux/audit.h makes of it: 64 bits, little-endian.
    elf = int(_defined("linux/elf-em.h", r"(EM_\w+)\s+(\d+)")[elf_machine])
    assert architecture == elf | 0x8000_0000 | 0x4000_0000


def _defined(header: str, what: str) -> dict[str, str]:
    place = Path("/usr/include", header)
    if not place.is_file():
        pytest.skip(f"there is no {place} (Debian: linux-libc-dev)")
    return dict(re.findall(rf"#define\s+{what}", place.read_text()))


def test_a_poisoned_program_costs_itself_and_not_the_batch():
    gold = Gold(kind=AnswerKind.CODE, tests=("assert f(1) == 2",))
    bomb = "import os\ndef f(x):\n    while True:\n        try: os.fork()\n        except OSError: pass"
    with GraderPool(size=2) as pool:
        verdicts = pool.grade_many(
            [("def f(x): return x + 1", gold), (bomb, gold), ("7", "7"), ("f = 1", gold)]
        )
    assert [verdict.outcome for verdict in verdicts] == ["correct", "undecided", "correct", "wrong"]


def test_nothing_is_left_running():
    before = _children()
    run_tests("import time\ndef f(): time.sleep(1000)", ["f()"], CodeLimits(wall_seconds=1, cpu_seconds=1))
    run_tests(
        "import os\nos.close(3); os.close(4)\nwhile True: pass",
        ["f()"],
        CodeLimits(wall_seconds=1, cpu_seconds=1),
    )
    assert _children() == before


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("So:\n```python\ndef f():\n    return 1\n```\nDone.", "def f():\n    return 1"),
        ("```python\nx = 1\n```\nBetter:\n```py\nx = 2\n```", "x = 2"),
        ("```\nx = 1\n```\n```json\n{}\n```", "x = 1"),
        ("```python\ndef f():\n    return", "def f():\n    return"),
        ("We add one.\ndef f(x):\n    y = x + 1\n    return y\nThat is all.", "def f(x):\n    y = x + 1\n    return y"),
        ("import math\n\ndef f():\n    x = 1\n\nprint(f())", "import math\n\ndef f():\n    x = 1\n\nprint(f())"),
        ("I would import it from abroad.", None),
        ("The answer is 5.", None),
        ("```json\n{}\n```", None),
    ],
)  # fmt: skip
def test_the_program_is_the_last_block_of_python_or_the_lines_of_code(text, code):
    assert extract_code(text) == code


@pytest.mark.parametrize(
    "value", [None, [], {}, 3, [3], [{"input": "1"}], ["a", {"input": "", "output": ""}], ["\x00"]]
)
def test_tests_that_make_no_sense_are_refused(value):
    with pytest.raises(ValueError, match="tests"):
        read_tests(value)


@pytest.mark.parametrize("value", ["assert f(1)", ["a", "b"], [{"input": "1", "output": "2"}]])
def test_tests_are_written_as_they_were_read(value):
    assert write_tests(read_tests(value)) == ([value] if isinstance(value, str) else value)
