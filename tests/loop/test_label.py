"""The label stage with one person at a time: what is handed out, saved, refused and kept."""

from __future__ import annotations

import dataclasses
import math
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.errors import AlreadySubmitted, InvalidFinish, InvalidRating
from annotate.loop.label import claim, flag, rate, submit, undo
from annotate.loop.work import Work
from annotate.models import Label, Person, QueueItem, StepRating
from tests.loop.labelling import STEPS, begin, holds, make_item, rate_all, ratings_of

pytestmark = pytest.mark.django_db

# What is served


def test_the_question_is_frozen_as_it_was_served(ada: Person) -> None:
    item = make_item(score=math.log(0.25), solution__problem__solution="Secret.", solution__round__number=3)
    problem = item.solution.problem
    problem_text, answer = problem.text, problem.answer
    claim(person=ada)
    problem.answer, problem.text = "overturned", "changed"
    problem.save()
    label = Label.objects.get()
    assert label.generation == 2
    assert label.question == {
        "problem": problem_text,
        "ground_truth_solution": "Secret.",
        "ground_truth_answer": answer,
        "pre_generated_steps": STEPS,
        "pre_generated_answer": item.solution.answer,
        "pre_generated_verifier_score": pytest.approx(0.25),
    }
    assert claim(person=ada).guess == answer


def test_what_an_annotator_sees_has_no_room_for_scores_or_gold() -> None:
    fields = {field.name for field in dataclasses.fields(Work)}
    assert fields == {
        "item", "way", "token", "lease_expires_at", "generation", "problem", "guess", "answer", "steps", "active_ms",
        "last_rated", "changed", "paused", "disputed", "asks_further", "proposed", "progress", "critique",
            "changed_options", "grew", "reproposed", "hint",
    }  # fmt: skip


# Ratings


def test_each_rating_is_saved_as_it_is_given(ada: Person) -> None:
    rate_all(ada, begin(ada), 1, 0)
    rows = StepRating.objects.values_list(
        "step_index", "option", "source", "text", "rating", "chosen", "flagged"
    )
    assert list(rows) == [(0, 0, "model", STEPS[0], 1, True, None), (1, 0, "model", STEPS[1], 0, True, None)]


def test_rating_twice_keeps_one_row(ada: Person) -> None:
    work = begin(ada)
    for rating in (1, -1, 0):
        work = rate(person=ada, item=work.item, step_index=0, rating=rating)
    assert StepRating.objects.get().rating == 0
    assert work.steps[0].rating == 0


def test_the_first_error_ends_the_rating(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    assert (work.first_error, work.finish, work.next_open) == (1, "found_error", None)
    assert [step.after_error for step in work.steps] == [False, False, True, True]
    assert work.changed == (1, 2, 3)
    assert not StepRating.objects.get(step_index=1).chosen


def test_a_step_after_the_first_error_cannot_be_rated(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    with pytest.raises(InvalidRating, match="Step 3 comes after the first error, step 2"):
        rate(person=ada, item=work.item, step_index=2, rating=1)


def test_taking_an_error_back_opens_the_later_steps_again_with_their_ratings(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 1, 0)
    work = rate(person=ada, item=work.item, step_index=1, rating=-1)
    assert work.finish == "found_error"
    work = rate(person=ada, item=work.item, step_index=1, rating=1)
    assert (work.finish, work.next_open) == (None, 3)
    assert [step.rating for step in work.steps] == [1, 1, 0, None]


def test_all_steps_rated_ends_it_too(ada: Person) -> None:
    assert rate_all(ada, begin(ada), 1, 1, 0, 1).finish == "solution"


def test_an_error_with_an_unrated_step_before_it_is_not_the_end(ada: Person) -> None:
    work = begin(ada)
    work = rate(person=ada, item=work.item, step_index=2, rating=-1)
    assert (work.finish, work.next_open) == (None, 0)


@pytest.mark.parametrize(("step", "rating"), [(4, 1), (-1, 1), (0, 2), (0, -2)])
def test_there_is_no_such_step_or_rating(ada: Person, step: int, rating: int) -> None:
    work = begin(ada)
    with pytest.raises(InvalidRating):
        rate(person=ada, item=work.item, step_index=step, rating=rating)
    assert not StepRating.objects.exists()


def test_undo_takes_back_the_rating_given_last(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 1, 0)
    work = rate(person=ada, item=work.item, step_index=0, rating=-1)
    work = undo(person=ada, item=work.item)
    assert [step.rating for step in work.steps] == [None, 1, 0, None]
    for _ in range(3):
        work = undo(person=ada, item=work.item)
    assert [step.rating for step in work.steps] == [None] * 4


def test_an_unsure_mark_stands_beside_the_rating(ada: Person) -> None:
    work = begin(ada)
    work = flag(person=ada, item=work.item, step_index=0, unsure=True)
    assert (work.steps[0].unsure, work.steps[0].rating) == (True, None)
    work = rate(person=ada, item=work.item, step_index=0, rating=1)
    assert StepRating.objects.get().flagged is True
    flag(person=ada, item=work.item, step_index=0, unsure=False)
    assert (StepRating.objects.get().flagged, StepRating.objects.get().rating) == (None, 1)


def test_an_unsure_mark_is_nothing_undo_takes_back(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 0)
    flag(person=ada, item=work.item, step_index=0, unsure=True)
    work = undo(person=ada, item=work.item)
    assert [(step.rating, step.unsure) for step in work.steps[:2]] == [(1, True), (None, False)]


# Submitting


def test_a_found_error_is_computed_and_later_ratings_are_dropped(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 1, 0)
    rate(person=ada, item=work.item, step_index=1, rating=-1)
    label = submit(person=ada, item=work.item)
    assert label.finish_reason == "found_error"
    assert ratings_of(label) == [(0, 1), (1, -1)]
    item = QueueItem.objects.get()
    assert item.done_at is not None
    assert item.leased_by is None


def test_a_solution_is_computed_when_nothing_is_wrong(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 0, 1, 1)
    assert submit(person=ada, item=work.item, finish_reason="solution").finish_reason == "solution"


@pytest.mark.parametrize(
    ("ratings", "reason", "message"),
    [
        ((1, 1), "", "Step 3 is not rated yet"),
        ((), "solution", "Step 1 is not rated yet"),
        ((1, -1), "solution", "The ratings say “found_error”, not “solution”"),
        ((1, 1, 1, 1), "found_error", "The ratings say “solution”, not “found_error”"),
        ((1,), "give_up", "say in a few words why"),
        ((1,), "bad_problem", "say in a few words why"),
        ((1, -1), "bored", "no finish reason"),
    ],
)
def test_an_inconsistent_finish_is_refused(ada: Person, ratings: tuple, reason: str, message: str) -> None:
    work = rate_all(ada, begin(ada), *ratings)
    with pytest.raises(InvalidFinish, match=message):
        submit(person=ada, item=work.item, finish_reason=reason)
    assert not Label.objects.submitted().exists()
    assert holds(ada, QueueItem.objects.get())


def test_giving_up_keeps_the_reason_and_ends_in_the_blank_step(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 0)
    label = submit(person=ada, item=work.item, finish_reason="give_up", comment=" cannot\0 check this\ud83d ")
    assert (label.finish_reason, label.comment) == ("give_up", "cannot\ufffd check this\ufffd")
    assert ratings_of(label) == [(0, 1), (1, 0), (2, None)]
    blank = label.ratings.last()
    assert (blank.source, blank.option) == (StepRating.Source.BLANK, None)


def test_a_bad_problem_is_told_with_its_reason(ada: Person) -> None:
    work = begin(ada)
    label = submit(person=ada, item=work.item, finish_reason="bad_problem", comment="no figure")
    assert (label.finish_reason, label.comment, ratings_of(label)) == ("bad_problem", "no figure", [])


def test_a_submitted_label_never_changes(ada: Person) -> None:
    work = rate_all(ada, begin(ada), -1)
    submit(person=ada, item=work.item)
    with pytest.raises(AlreadySubmitted):
        rate(person=ada, item=work.item, step_index=0, rating=1)
    with pytest.raises(AlreadySubmitted):
        submit(person=ada, item=work.item)
    with pytest.raises(AlreadySubmitted):
        undo(person=ada, item=work.item)


def test_active_time_is_what_the_page_counted_never_more_than_the_wall_clock(ada: Person) -> None:
    work = begin(ada)
    Label.objects.update(created_at=timezone.now() - timedelta(seconds=60))
    assert rate(person=ada, item=work.item, step_index=0, rating=1, active_ms=2_000).active_ms == 2_000
    assert rate(person=ada, item=work.item, step_index=0, rating=1, active_ms=1_000).active_ms == 2_000
    assert rate(person=ada, item=work.item, step_index=0, rating=1, active_ms=-5).active_ms == 2_000
    rate(person=ada, item=work.item, step_index=1, rating=-1, active_ms=3_000)
    assert 60_000 <= submit(person=ada, item=work.item, active_ms=10**12).total_time < 70_000


# What it costs


def test_claiming_and_rating_ask_the_database_little(ada: Person, django_assert_num_queries: Any) -> None:
    make_item()
    with django_assert_num_queries(12):
        work = claim(person=ada)
    with django_assert_num_queries(6):
        claim(person=ada)
    with django_assert_num_queries(6):  # savepoint, draft, ratings, the rating, time, release
        rate(person=ada, item=work.item, step_index=0, rating=1, active_ms=1)
