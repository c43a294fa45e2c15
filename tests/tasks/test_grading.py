"""The grade stage in a real worker: programs are run there, the policy is the environment's, the judge is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotate.loop import waiting
from annotate.models import Solution
from tests.factories import ProblemFactory, QueueFactory, SolutionFactory
from tests.json_server import running
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_worker_runs_programs_follows_the_policy_and_asks_the_judge(
    start_worker: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    QueueFactory.create(takes_rounds=True, asks_judge=True)
    code = ProblemFactory.create(answer=None, kind="code", tests=["assert f(1) == 2"])
    third = ProblemFactory.create(answer="\\frac{1}{3}")
    tenth = ProblemFactory.create(answer="0.1")
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: raise SystemExit"
    answers = [
        (code, "def f(x): return x + 1"),
        (code, bomb),
        (third, "0.333"),
        (tenth, "10\\%"),
        (third, "2/3"),
    ]
    solutions = [SolutionFactory.create(problem=p, answer=answer, text=answer) for p, answer in answers]
    with running("tests.chat_server") as address:
        start_worker(
            "quick", JUDGE=f"openai:{address}/v1#judge-same", GRADING_POLICY="percent_as_share=wrong"
        )
        waiting.call("grade")
        eventually(lambda: not Solution.objects.ungraded().exists(), "all is graded", seconds=200)
    graded = [Solution.objects.get(pk=solution.pk) for solution in solutions]
    assert [solution.outcome for solution in graded] == ["correct", "wrong", "correct", "wrong", "wrong"]
    assert graded[2].grade_reason == "judge judge-same: Both say one third."
    assert [opinion["grader"] for opinion in graded[2].grade_opinions] == ["normaliser", "judge judge-same"]
