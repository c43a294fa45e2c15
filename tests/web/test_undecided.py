"""Answers that no grader decides reach a manager, with every reason; the word of one counts for all equal answers."""

from __future__ import annotations

from django.test import Client
from django.utils import timezone

from annotate.models import Problem, Solution
from prm_backend.types import Outcome
from tests.factories import GradedSolutionFactory, ProblemFactory

SAID = [{"grader": "normaliser", "outcome": "undecided", "reason": "equal <b>up to</b> rounding"}]


def undecided(problem: Problem, answer: str, **more: object) -> Solution:
    text = f"So it is.\n# Answer\n\n{answer}"
    return GradedSolutionFactory.create(
        problem=problem, text=text, outcome=Outcome.UNDECIDED, grade_opinions=SAID, **more
    )


def test_an_undecided_answer_is_shown_once_with_every_reason(as_manager: Client) -> None:
    problem = ProblemFactory.create(text="What is $1 : 3$?", answer="1/3")
    undecided(problem, "0.333")
    undecided(problem, "0.333")
    GradedSolutionFactory.create(problem=problem, outcome=Outcome.UNDECIDED, text="I do not know.")
    GradedSolutionFactory.create(problem=ProblemFactory.create(answer=None), outcome=Outcome.UNDECIDED)
    assert "2 answers undecided</a>" in as_manager.get("/problems/").content.decode()
    page = as_manager.get("/problems/undecided/").content.decode()
    assert page.count("<article") == 1
    assert "normaliser: undecided, equal &lt;b&gt;up to&lt;/b&gt; rounding" in page
    assert "<mn>0.333</mn>" in page


def test_one_word_decides_all_equal_answers_of_the_problem_and_is_kept(as_manager: Client) -> None:
    problem = ProblemFactory.create(answer="1/3")
    first, second, other = (
        undecided(problem, "0.333"),
        undecided(problem, "0.333"),
        undecided(problem, "0.33"),
    )
    elsewhere = undecided(ProblemFactory.create(), "0.333")
    page = as_manager.post(f"/problems/undecided/{first.pk}/", {"outcome": "correct"}, follow=True)
    assert "The answer is correct. It holds for 2 solutions." in page.content.decode()
    outcomes = [Solution.objects.get(pk=s.pk).outcome for s in (first, second, other, elsewhere)]
    assert outcomes == ["correct", "correct", "undecided", "undecided"]
    told = Solution.objects.get(pk=second.pk)
    assert told.grade_opinions[0] == SAID[0]
    assert told.grade_opinions[1]["outcome"] == "correct"
    assert told.grade_reason == f"decided by {told.grade_opinions[1]['grader']}"


def test_what_was_decided_or_makes_no_sense_is_refused(as_manager: Client) -> None:
    solution = undecided(ProblemFactory.create(), "0.333")
    for said in ("", "undecided", "perhaps"):
        page = as_manager.post(f"/problems/undecided/{solution.pk}/", {"outcome": said}, follow=True)
        assert "Say whether it is correct or wrong." in page.content.decode()
    as_manager.post(f"/problems/undecided/{solution.pk}/", {"outcome": "wrong"})
    late = as_manager.post(f"/problems/undecided/{solution.pk}/", {"outcome": "correct"}, follow=True)
    assert "not undecided any more" in late.content.decode()
    assert Solution.objects.get(pk=solution.pk).outcome == Outcome.WRONG
    assert as_manager.post("/problems/undecided/999999/", {"outcome": "wrong"}).status_code == 404


def test_a_retired_problem_asks_nobody(as_manager: Client) -> None:
    undecided(ProblemFactory.create(retired_at=timezone.now()), "0.333")
    assert "Nothing is undecided." in as_manager.get("/problems/undecided/").content.decode()
