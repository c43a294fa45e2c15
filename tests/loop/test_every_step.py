"""Labelling every step: rating goes on after an error, and the export tells the rest under a key of its own."""

from __future__ import annotations

import json

import pytest

from annotate.loop.label import claim, rate, submit
from annotate.models import Label, Person, Way
from tests.factories import QueueFactory
from tests.loop.labelling import STEPS, begin, rate_all, ratings_of
from tests.loop.records import export_again, exported, rows_fit_the_schema

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _every_step(db: None) -> None:
    QueueFactory.create(way=Way.EVERY_STEP)


def test_rating_goes_on_after_an_error_until_every_step_is_rated(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    assert (work.finish, work.next_open, work.first_error) == (None, 2, 1)
    assert [step.after_error for step in work.steps] == [False, False, True, True]
    for index, rating in ((2, 0), (3, -1)):
        work = rate(person=ada, item=work.item, step_index=index, rating=rating)
    assert (work.finish, work.next_open, work.first_error) == ("found_error", None, 1)
    label = submit(person=ada, item=work.item)
    assert (label.way, label.finish_reason) == (Way.EVERY_STEP, "found_error")
    assert ratings_of(label) == [(0, 1), (1, -1), (2, 0), (3, -1)]


def test_a_solution_without_an_error_is_one_in_this_way_too(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 1, 0, 1)
    assert submit(person=ada, item=work.item).finish_reason == "solution"
    [row] = exported()
    assert row["plumbline"] == {"way": "every_step"}
    assert len(row["label"]["steps"]) == 4


def test_the_export_ends_at_the_error_as_prm800k_does_and_an_extra_key_has_the_rest(ada: Person) -> None:
    submit(person=ada, item=rate_all(ada, begin(ada), 1, -1, 0, 1).item)
    [row] = rows_fit_the_schema()
    assert [step["completions"][0]["rating"] for step in row["label"]["steps"]] == [1, -1]
    assert row["label"]["steps"][-1]["chosen_completion"] is None
    assert row["plumbline"] == {
        "way": "every_step",
        "after_error": [
            {"text": STEPS[2], "rating": 0, "flagged": None},
            {"text": STEPS[3], "rating": 1, "flagged": None},
        ],
    }


@pytest.mark.parametrize("ratings", [(1, -1, 0, 1), (1, 1, 1, 0), (-1, -1, -1, -1)])
def test_an_export_imports_again_and_comes_out_equal(ada: Person, ratings: tuple[int, ...]) -> None:
    label = submit(person=ada, item=rate_all(ada, begin(ada), *ratings).item)
    before, given = exported(), ratings_of(label)
    assert export_again() == before
    again = Label.objects.get()
    assert (again.way, ratings_of(again)) == (Way.EVERY_STEP, given)


@pytest.mark.parametrize("ratings", [(1,), (1, -1, 0)])
def test_a_give_up_comes_out_equal_before_the_error_and_after_it(
    ada: Person, ratings: tuple[int, ...]
) -> None:
    work = rate_all(ada, begin(ada), *ratings)
    submit(person=ada, item=work.item, finish_reason="give_up", comment="too long")
    before = rows_fit_the_schema()
    assert before[0]["plumbline"]["comment"] == "too long"
    assert export_again() == before
    assert Label.objects.get().comment == "too long"
    blank = {"completions": None, "human_completion": None, "chosen_completion": None}
    assert (before[0]["label"]["steps"][-1] == blank) == (-1 not in ratings)


def test_a_label_keeps_the_way_it_was_begun_in(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    QueueFactory.create().__class__.objects.update(way=Way.FIRST_ERROR)
    work = claim(person=ada)
    assert work is not None
    assert (work.way, work.next_open) == (Way.EVERY_STEP, 2)


def test_a_row_that_contradicts_its_extra_key_is_refused(ada: Person) -> None:
    submit(person=ada, item=rate_all(ada, begin(ada), 1, -1, 0, 1).item)
    [row] = exported()
    for change, reason in (
        ({"way": "backwards"}, "plumbline.way must be"),
        ({"way": ""}, "must end at the first error"),
        ({"progress": 4}, "progress goes from 0 to 3"),
    ):
        wrong = json.loads(json.dumps(row))
        wrong["plumbline"] |= change
        assert reason in export_again(wrong)[0]
