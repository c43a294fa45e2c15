"""The grade stage: one extracted answer against the gold one, once, and undecided is never a kind of wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import IntegrityError

from annotate.loop.grade import asks_judge, grade
from annotate.loop.queues import QueueRefused, save_queue, take_rounds
from annotate.models import Problem, Queue, Solution
from prm_backend.grading import GraderPool
from prm_backend.grading.verdict import Dispute
from prm_backend.types import GraderOpinion, Outcome, ProgressCallback, silent
from tests.factories import ProblemFactory, QueueFactory, SolutionFactory
from tests.fakes import ExactGraders

pytestmark = pytest.mark.django_db


def test_the_answer_alone_is_compared_and_the_answer_comes_first() -> None:
    problem = ProblemFactory(answer="7")
    right = SolutionFactory(problem=problem, text="Seven, not 8.\n# Answer\n\n7")
    wrong = SolutionFactory(problem=problem, text="Not 7.\n# Answer\n\n8")
    graders = ExactGraders()
    assert grade(solutions=[right, wrong], graders=graders) == 2
    assert graders.pairs == [("7", "7"), ("8", "7")]
    assert Solution.objects.get(pk=right.pk).outcome == Outcome.CORRECT
    assert Solution.objects.get(pk=wrong.pk).outcome == Outcome.WRONG
    assert not Solution.objects.ungraded().exists()


def test_no_answer_and_no_gold_are_undecided_with_the_reason() -> None:
    lost = SolutionFactory(text="I do not know.")
    unknown = SolutionFactory(problem=ProblemFactory(answer=None))
    grade(solutions=[lost, unknown], graders=ExactGraders())
    lost.refresh_from_db()
    unknown.refresh_from_db()
    assert lost.outcome == unknown.outcome == Outcome.UNDECIDED
    assert lost.grade_reason == "the solution reaches no final answer"
    assert unknown.grade_reason == "the problem has no answer to compare with"


def test_a_grade_that_is_there_is_not_written_again() -> None:
    solution = SolutionFactory()
    stale = Solution.objects.select_related("problem").get(pk=solution.pk)
    grade(solutions=[solution], graders=ExactGraders())
    assert grade(solutions=[stale], graders=ExactGraders()) == 0


def test_a_batch_takes_the_same_number_of_queries_however_long(django_assert_max_num_queries) -> None:
    solutions = SolutionFactory.create_batch(20)
    with django_assert_max_num_queries(4):
        grade(solutions=solutions, graders=ExactGraders())


def test_each_kind_of_answer_is_graded_by_its_own_rule() -> None:
    programs = ProblemFactory(answer=None, kind="code", tests=["assert f(1) == 2"])
    numbers = ProblemFactory(answer="9.81", kind="number", tolerance="1 %")
    choices = ProblemFactory(answer="B", kind="choice")
    right = "So:\n```python\ndef f(x):\n    return x + 1\n```"
    solutions = [
        SolutionFactory(problem=programs, text=right, answer="def f(x):\n    return x + 1"),
        SolutionFactory(problem=programs, text="…", answer="def f(x):\n    return x"),
        SolutionFactory(problem=programs, text="I do not know.", answer=None),
        SolutionFactory(problem=numbers, text="It is so.\n# Answer\n\n9.8"),
        SolutionFactory(problem=choices, text="It is so.\n# Answer\n\n(C)"),
    ]
    with GraderPool(size=1) as graders:
        grade(solutions=solutions, graders=graders)
    outcomes = [Solution.objects.get(pk=solution.pk).outcome for solution in solutions]
    assert outcomes == ["correct", "wrong", "undecided", "correct", "wrong"]
    assert Solution.objects.get(pk=solutions[1].pk).grade_reason == "test 1: AssertionError"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "essay"},
        {"kind": "code"},
        {"kind": "text", "tests": ["assert f()"]},
        {"kind": "choice", "tolerance": "0.1"},
    ],
)
def test_the_database_refuses_kinds_that_do_not_go_together(wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        ProblemFactory(**wrong)


def test_problems_of_code_need_no_answer_to_be_usable() -> None:
    programs = ProblemFactory(answer=None, kind="code", tests=["assert f()"])
    ProblemFactory(answer=None)
    assert list(Problem.objects.usable()) == [programs]


class OneJudge:
    """Says one thing of everything, and remembers what it was asked."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.asked: list[Dispute] = []

    def opinions(
        self, disputes: Sequence[Dispute], progress: ProgressCallback = silent
    ) -> list[GraderOpinion]:
        self.asked += disputes
        return [GraderOpinion("judge", self.outcome, "so it seems")] * len(disputes)


def test_the_judge_is_asked_only_where_graders_heard_both_sides_and_did_not_decide() -> None:
    third = ProblemFactory(text="1 : 3?", answer="\\frac{1}{3}")
    solutions = [
        SolutionFactory(problem=third, text=f"So.\n# Answer\n\n{answer}")
        for answer in ("1/3", "2/3", "0.333")
    ]
    silent_one = SolutionFactory(problem=third, text="I do not know.")
    code = ProblemFactory(answer=None, kind="code", tests=["assert f()"])
    program = SolutionFactory(problem=code, text="…", answer="import numpy")
    judge = OneJudge(Outcome.CORRECT)
    with GraderPool(size=1) as graders:
        grade(solutions=[*solutions, silent_one, program], graders=graders, judge=judge)
    assert judge.asked == [Dispute("1 : 3?", "0.333", "\\frac{1}{3}")]
    outcomes = [Solution.objects.get(pk=s.pk).outcome for s in (*solutions, silent_one, program)]
    assert outcomes == ["correct", "wrong", "correct", "undecided", "undecided"]
    told = Solution.objects.get(pk=solutions[2].pk)
    assert told.grade_reason == "judge: so it seems"
    assert [opinion["grader"] for opinion in told.grade_opinions] == ["normaliser", "judge"]


def test_what_judge_and_graders_leave_undecided_goes_to_people_with_all_reasons() -> None:
    solution = SolutionFactory(problem=ProblemFactory(answer="\\frac{1}{3}"), text="So.\n# Answer\n\n0.333")
    with GraderPool(size=1) as graders:
        grade(solutions=[solution], graders=graders, judge=OneJudge(Outcome.UNDECIDED))
    solution.refresh_from_db()
    assert solution.outcome == Outcome.UNDECIDED
    assert solution.grade_reason == "equal up to rounding; judge: so it seems"


def test_the_queue_that_rounds_fill_says_whether_a_judge_is_asked() -> None:
    assert not asks_judge()
    queue = QueueFactory(asks_judge=True, takes_rounds=False)
    assert not asks_judge()
    take_rounds(queue=queue)
    assert asks_judge()


def test_a_queue_asks_no_judge_that_is_not_there(settings: Any) -> None:
    settings.JUDGE = None
    with pytest.raises(QueueRefused, match="set JUDGE"):
        save_queue(queue=Queue(name="judged", asks_judge=True))
    settings.JUDGE = "openai:http://127.0.0.1:9/v1#judge"
    assert save_queue(queue=Queue(name="judged", asks_judge=True)).pk
