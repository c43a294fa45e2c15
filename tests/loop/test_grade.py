"""The grade stage: one extracted answer against the gold one, once, and undecided is never a kind of wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError

from annotate.loop.grade import grade
from annotate.models import Problem, Solution
from prm_backend.grading import GraderPool
from prm_backend.types import Outcome
from tests.factories import ProblemFactory, SolutionFactory
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
