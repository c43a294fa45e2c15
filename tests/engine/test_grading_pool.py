"""Verdicts by both graders, and their processes: what hangs or eats memory is stopped, the rest goes on."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prm_backend.grading import GraderPool, GradingLimits, Outcome, grade, grade_solution
from prm_backend.grading.pool import OUT_OF_MEMORY, WorkerFailed

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def graders():
    with GraderPool(size=1) as pool:
        yield pool


@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        ("\\frac{1}{\\sqrt{2}}", "\\frac{\\sqrt{2}}{2}", "correct"),
        ("7i - 2", "-2+7i", "correct"),
        ("14.0 + -1.0i", "14 - i", "correct"),
        ("(1+i)^2", "2i", "correct"),
        ("e^{i\\pi}", "-1", "correct"),
        ("1+2i", "1-2i", "wrong"),
        ("3.14", "\\pi", "undecided"),
        ("3.15", "\\pi", "wrong"),
        ("\\infty", "-\\infty", "wrong"),
        ("(3,\\infty)\\cup(-\\infty,2)", "(-\\infty,2)\\cup(3,\\infty)", "correct"),
        ("0 < x < 12.5", "(0, 12.5)", "correct"),
        ("\\begin{bmatrix}1\\\\4/2\\end{bmatrix}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "correct"),
        ("\\begin{pmatrix} 1 & 2 \\end{pmatrix}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "wrong"),
        ("-1 + exp(16)", "e^{16} - 1", "correct"),
        ("x+2", "x+1", "wrong"),
        ("\\frac{1}{2006!}", "\\frac{1}{2004!}", "wrong"),
        ("3x + 4y + 14 = 0", "3*x-1*y+13=0", "wrong"),
        ("2x + 2y = 2", "x + y = 1", "correct"),
    ],
)
def test_computer_algebra_decides_what_spelling_cannot(graders, answer, gold, outcome):
    verdict = graders.grade(answer, gold)
    assert verdict.outcome == outcome
    assert [opinion.grader for opinion in verdict.opinions] == ["normaliser", "math-verify"]


def test_plain_answers_need_no_process():
    with GraderPool(size=1) as pool:
        assert pool.grade("1,000", "1000").outcome is Outcome.CORRECT
        assert pool.grade("\\text{odd}", "even").outcome is Outcome.WRONG
        assert pool._workers._started == []


@pytest.mark.parametrize("gold", ["\\frac{", "the answer is in the book", "1:2:3:\\ldots"])
def test_a_gold_answer_that_cannot_be_read_never_makes_a_right_or_wrong(graders, gold):
    verdict = graders.grade("x+1", gold)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "gold answer cannot be read" in verdict.reason


def test_an_answer_is_never_searched_for_one_that_fits(graders):
    assert graders.grade("x is 3 or maybe 5", "5").outcome is not Outcome.CORRECT
    assert graders.grade("we know \\frac{1}{2} of it", "\\frac{1}{2}").outcome is not Outcome.CORRECT


def test_an_empty_or_endless_answer_is_undecided_without_a_process(graders):
    assert graders.grade(" ", "1").reason == "the answer is empty"
    assert graders.grade("1", "").reason == "the gold answer is empty"
    assert "3000 characters" in graders.grade("9" * 3000, "1").reason


def test_a_solutions_one_answer_is_compared_and_nothing_around_it(graders):
    right = ("3 * 4 = 12, not 13.\n\n# Answer\n\n12", "12")
    wrong = ("3 * 4 = 12, so 13.\n\n# Answer\n\n13", "12")
    silent = ("3 * 4 = 12", "12")
    verdicts = graders.grade_solutions([right, wrong, silent])
    assert [verdict.outcome for verdict in verdicts] == ["correct", "wrong", "undecided"]
    assert verdicts[2].reason == "no answer"


def test_the_module_functions_grade_with_a_pool_of_their_own():
    assert grade("\\frac{2}{4}", "0.5").outcome == "correct"
    assert grade("x+x", "2x").outcome == "correct"
    assert grade_solution("so\n#### 12", "12").outcome == "correct"
    assert grade_solution("so 12", "12").outcome == "undecided"


BOMBS = ["9**9**9**9", "9^{9^{9^{9}}}", "99999999!", "\\sum_{n=1}^{999999999} \\sin(n)", "(x+y+z+1)^{999}"]


@pytest.mark.slow
def test_a_poisoned_pair_is_undecided_within_the_limit_and_the_others_are_graded():
    limits = GradingLimits(wall_seconds=6, cpu_seconds=2)
    with GraderPool(size=2, limits=limits) as pool:
        pool.grade_many([("x+x", "2x"), ("y+y", "2y")])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.monotonic()
        pairs = [pair for bomb in BOMBS for pair in ((bomb, "3"), ("y+y", "2y"))]
        verdicts = pool.grade_many(pairs)
        elapsed = time.monotonic() - started
    assert [verdict.outcome for verdict in verdicts] == ["undecided", "correct"] * len(BOMBS)
    assert all(verdict.reason for verdict in verdicts)
    assert max(verdict.milliseconds for verdict in verdicts) < 1000 * limits.wall_seconds + 2000
    assert elapsed < len(BOMBS) * (limits.wall_seconds + 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB, of this process


@pytest.mark.slow
def test_a_child_that_runs_out_of_memory_says_so_and_the_next_takes_its_place():
    program = (
        "from prm_backend.grading import worker\n"
        "serve = worker._serve\n"
        "def serve_greedily(*arguments):\n"
        "    worker.mathverify_opinion = lambda answer, gold, **rest: bytearray(600 << 20)\n"
        "    serve(*arguments)\n"
        "worker._serve = serve_greedily\n"
        "worker.main(cpu_seconds=60, memory_bytes=512 << 20)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        input='["y", ""]\n',
        capture_output=True,
        text=True,
        timeout=250,
    )
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["status"] is None
    assert second["status"] == OUT_OF_MEMORY


def test_a_killed_process_costs_its_pair_and_is_replaced(graders):
    graders.grade("x+x", "2x")
    [worker] = graders._workers._started
    threading.Timer(0.5, lambda: os.kill(worker._child, 9)).start()
    verdict = graders.grade("(x+y+z+1)^{999}", "3")
    assert verdict.outcome is Outcome.UNDECIDED
    assert "SIGKILL" in verdict.reason
    assert graders.grade("z+z", "2z").outcome is Outcome.CORRECT


def test_threads_share_a_pool(graders):
    outcomes: list[str] = []

    def ask(n: int) -> None:
        outcomes.append(graders.grade(f"x+{n}", f"{n}+x").outcome)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["correct"] * 8


def test_a_daemonic_process_may_grade():
    program = (
        "import multiprocessing as m\n"
        "def work(out):\n"
        "    from prm_backend.grading import grade\n"
        "    out.put(str(grade('x+x', '2x').outcome))\n"
        "if __name__ == '__main__':\n"
        "    out = m.Queue()\n"
        "    p = m.Process(target=work, args=(out,), daemon=True)\n"
        "    p.start(); print(out.get(timeout=200)); p.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=250
    )
    assert done.stdout.strip() == "correct", done.stderr


def test_the_processes_die_with_the_one_that_made_them():
    program = (
        "import os\n"
        "from prm_backend.grading import GraderPool\n"
        "pool = GraderPool(size=1)\n"
        "pool.grade('x+x', '2x')\n"
        "worker = pool._workers._started[0]\n"
        "print(worker._process.pid, worker._child, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=250
    )
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_runs(pid) for pid in pids)


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_closed_pool_refuses_work_instead_of_guessing():
    pool = GraderPool(size=1)
    pool.close()
    with pytest.raises((WorkerFailed, RuntimeError)):
        pool.grade("x+x", "2x")


@pytest.mark.parametrize("wrong", [{"wall_seconds": 0}, {"cpu_seconds": 0}, {"memory_bytes": 1}])
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        GradingLimits(**wrong)


def test_grading_imports_no_computer_algebra_into_the_process_that_asks():
    program = "import sys, prm_backend.grading as g; print(g.grade('2', '2').outcome, 'sympy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.split() == ["correct", "False"], done.stderr
