"""The managers' inbox: every concern ends in an act, and the act does what it says."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotate.errors import PlumblineError
from annotate.loop.gold import make_gold, use_gold
from annotate.loop.grade import grade
from annotate.loop.inbox import Answered, fix_answer, retire_problem, write_back
from annotate.loop.label import claim, rate, submit
from annotate.models import Concern, Gold, Job, Label, Person, Problem, QueueItem, Solution
from prm_backend.types import Outcome, Verdict
from tests.factories import (
    AnnotatorFactory,
    GoldFactory,
    GradedSolutionFactory,
    ManagerFactory,
    ProblemFactory,
    QueueItemFactory,
)
from tests.loop.labelling import make_item, raised, rate_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def mara(db: None) -> Person:
    return ManagerFactory.create(username="mara")


class Says:
    """A grader that compares letters, and does something on the way."""

    def __init__(self, on_the_way: Any = None) -> None:
        self.on_the_way = on_the_way

    def grade_many(self, pairs: Any) -> list[Verdict]:
        if self.on_the_way:
            self.on_the_way()
        return [Verdict(Outcome.CORRECT if a == b.answer else Outcome.WRONG, "compared") for a, b in pairs]


def test_a_corrected_answer_has_all_its_solutions_graded_again(mara: Person, broker: str) -> None:
    concern = raised("answer")
    problem = concern.problem
    other = GradedSolutionFactory.create(problem=problem, text="So 42.\n# Answer\n\n42")
    elsewhere = GradedSolutionFactory.create()
    imported = GradedSolutionFactory.create(problem=problem, round=None, sample_index=None)
    label = concern.label
    label.question = {"ground_truth_answer": problem.answer}
    label.save()
    assert fix_answer(concern=concern, answer=" 42 ", by=mara, reply="You are right.") == 2
    problem.refresh_from_db()
    assert problem.answer == "42"
    assert set(Solution.objects.ungraded()) == {concern.label.solution, other}
    assert Job.objects.get().kind == "grade"
    grade(solutions=list(Solution.objects.ungraded().select_related("problem")), graders=Says())
    other.refresh_from_db()
    assert other.outcome == Outcome.CORRECT
    for untouched in (elsewhere, imported):
        untouched.refresh_from_db()
        assert untouched.outcome == Outcome.WRONG
    label.refresh_from_db()
    assert label.question["ground_truth_answer"] != "42"
    concern.refresh_from_db()
    assert (concern.action, concern.reply, concern.resolved_by) == ("answer_fixed", "You are right.", mara)


def test_a_verdict_about_the_answer_before_is_not_written(mara: Person, broker: str) -> None:
    concern = raised("answer")
    solution = concern.label.solution
    Solution.objects.filter(pk=solution.pk).update(outcome=None, answer="42")
    waiting = list(Solution.objects.ungraded().select_related("problem"))
    corrected = Says(lambda: fix_answer(concern=concern, answer="42", by=mara))
    assert grade(solutions=waiting, graders=corrected) == 0
    assert solution in Solution.objects.ungraded()


def test_no_answer_or_the_same_one_is_refused(mara: Person) -> None:
    concern = raised("answer")
    for answer, why in (("  ", "right answer"), (concern.problem.answer, "already")):
        with pytest.raises(PlumblineError, match=why):
            fix_answer(concern=concern, answer=answer, by=mara)
    assert not Job.objects.exists()
    assert Concern.objects.open().exists()


@pytest.mark.parametrize(
    ("more", "answer", "said"),
    [
        ({"kind": "choice", "answer": "A"}, "the second one", "a letter from A to J"),
        ({"kind": "code", "answer": None, "tests": ["assert f() == 1"]}, "2", "held against tests"),
    ],
)
def test_an_answer_that_nothing_could_be_graded_against_is_refused(
    mara: Person, more: dict[str, Any], answer: str, said: str
) -> None:
    concern = raised("answer", ProblemFactory.create(**more))
    with pytest.raises(PlumblineError, match=said):
        fix_answer(concern=concern, answer=answer, by=mara)
    concern.problem.refresh_from_db()
    assert concern.problem.answer == more["answer"]
    assert Concern.objects.open().exists()


def test_a_retired_problem_is_handed_out_no_more_but_may_be_finished(
    mara: Person, ada: Person, ben: Person
) -> None:
    item = make_item()
    work = claim(person=ada)
    QueueItemFactory.create(solution=GradedSolutionFactory.create(problem=item.solution.problem))
    concern = raised("problem", item.solution.problem)
    retire_problem(concern=concern, by=mara)
    assert claim(person=ben) is None
    assert not Problem.objects.usable().filter(pk=item.solution.problem_id).exists()
    rate_all(ada, work, -1)
    submit(person=ada, item=work.item)
    assert claim(person=ada) is None
    assert QueueItem.objects.open().of_live_problems().count() == 0


def test_one_act_resolves_all_that_say_the_same_of_the_problem_and_no_other(mara: Person) -> None:
    one = raised("problem")
    same, unsure, elsewhere = (
        raised("problem", one.problem),
        raised("unsure", one.problem, 0),
        raised("problem"),
    )
    retire_problem(concern=one, by=mara)
    assert set(Concern.objects.open()) == {unsure, elsewhere}
    same.refresh_from_db()
    assert same.action == "problem_retired"


def test_a_reply_answers_one_concern_and_needs_a_word(mara: Person) -> None:
    one, other = raised("unsure", step_index=0), raised("unsure", step_index=0)
    with pytest.raises(PlumblineError, match="word"):
        write_back(concern=one, reply=" ", by=mara)
    write_back(concern=one, reply="It is fine.", by=mara)
    assert list(Concern.objects.open()) == [other]


def test_the_second_manager_comes_too_late(mara: Person) -> None:
    concern = raised("unsure", step_index=1)
    write_back(concern=concern, reply="Fine.", by=mara)
    for act in (
        lambda: write_back(concern=concern, reply="No.", by=mara),
        lambda: retire_problem(concern=concern, by=mara),
        lambda: fix_answer(concern=concern, answer="9", by=mara),
    ):
        with pytest.raises(Answered):
            act()
    concern.refresh_from_db()
    assert concern.reply == "Fine."
    assert concern.resolved_at < timezone.now()


def test_what_people_raise_while_labelling_arrives(ada: Person) -> None:
    make_item()
    work = claim(person=ada)
    rate(person=ada, item=work.item, step_index=0, rating=1, flagged=True)
    rate(person=ada, item=work.item, step_index=1, rating=-1)
    submit(person=ada, item=work.item)
    make_item()
    submit(person=ada, item=claim(person=ada).item, finish_reason="bad_problem", comment="no figure")
    assert list(Concern.objects.open().order_by("id").values_list("kind", "step_index", "text")) == [
        ("unsure", 0, ""),
        ("problem", None, "no figure"),
    ]


@pytest.mark.parametrize("kind", ["answer", "problem"])
def test_gold_of_a_problem_that_is_retired_or_corrected_is_served_no_more(
    mara: Person, broker: str, kind: str
) -> None:
    concern = raised(kind)
    gold = GoldFactory.create(solution=GradedSolutionFactory.create(problem=concern.problem))
    other = GoldFactory.create()
    if kind == "answer":
        fix_answer(concern=concern, answer="42", by=mara)
    else:
        retire_problem(concern=concern, by=mara)
    assert list(Gold.objects.in_use()) == [other]
    gold.refresh_from_db()
    assert gold.retired_at is not None
    for again in (
        lambda: use_gold(gold=gold),
        lambda: make_gold(label=an_older_label_of(concern), accepted=[0], by=mara),
    ):
        with pytest.raises(PlumblineError, match=r"retired|old one"):
            again()


def an_older_label_of(concern: Concern) -> Label:
    """Another label that was made before the manager's act."""
    solution = GradedSolutionFactory.create(problem=concern.problem)
    label = Label.objects.create(
        problem=concern.problem,
        solution=solution,
        annotator=AnnotatorFactory.create(),
        question={"pre_generated_steps": ["I add one."]},
    )
    Label.objects.filter(pk=label.pk).update(created_at=concern.label.created_at)
    label.refresh_from_db()
    return label
