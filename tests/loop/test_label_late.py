"""What is sent twice or late changes nothing that is newer; second thoughts; what becomes a concern."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.errors import AlreadySubmitted, InvalidFinish, InvalidRating, NotYourItem, PlumblineError
from annotate.loop.concerns import dispute
from annotate.loop.label import claim, flag, rate, submit, undo
from annotate.loop.second_thoughts import TooLate, can_take_back, skip, take_back, unskip
from annotate.models import Concern, Instructions, Label, Person, QualityPolicy, QueueItem, StepRating
from tests.loop.labelling import begin, make_item, rate_all, ratings_of

pytestmark = pytest.mark.django_db


def ago(seconds: float) -> Any:
    return timezone.now() - timedelta(seconds=seconds)


# Sent twice, sent late


def test_a_rating_sent_twice_changes_nothing(ada: Person) -> None:
    work, given = begin(ada), ago(2)
    for _ in range(2):
        rate(person=ada, item=work.item, step_index=0, rating=1, given_at=given)
    assert StepRating.objects.get().rated_at == given


def test_a_late_rating_never_overwrites_a_newer_one(ada: Person) -> None:
    work = begin(ada)
    rate(person=ada, item=work.item, step_index=0, rating=-1, given_at=ago(5))
    late = rate(person=ada, item=work.item, step_index=0, rating=1, given_at=ago(60))
    assert (late.steps[0].rating, late.changed) == (-1, ())
    late = rate(person=ada, item=work.item, step_index=0, rating=None, given_at=ago(60))
    assert late.steps[0].rating == -1


def test_a_late_rating_of_a_step_nobody_rated_is_kept(ada: Person) -> None:
    work = begin(ada)
    flag(person=ada, item=work.item, step_index=0, unsure=True)
    assert rate(person=ada, item=work.item, step_index=0, rating=1, given_at=ago(60)).steps[0].rating == 1
    rate(person=ada, item=work.item, step_index=1, rating=-1, given_at=ago(30))
    rate(person=ada, item=work.item, step_index=2, rating=1, given_at=ago(40))  # before the error was seen
    assert StepRating.objects.get(step_index=2).rating == 1
    with pytest.raises(InvalidRating, match="comes after the first error"):
        rate(person=ada, item=work.item, step_index=3, rating=1, given_at=ago(20))


def test_a_late_mark_never_overwrites_a_newer_one(ada: Person) -> None:
    work = begin(ada)
    flag(person=ada, item=work.item, step_index=0, unsure=False, given_at=ago(5))
    assert not flag(person=ada, item=work.item, step_index=0, unsure=True, given_at=ago(60)).steps[0].unsure


def test_a_clock_that_runs_ahead_does_not_lock_the_step(ada: Person) -> None:
    work = begin(ada)
    rate(person=ada, item=work.item, step_index=0, rating=1, given_at=ago(-3600))
    assert rate(person=ada, item=work.item, step_index=0, rating=0).steps[0].rating == 0


def test_a_rating_to_none_takes_it_back_and_the_same_undo_twice_takes_back_one(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, 0, 1)
    assert rate(person=ada, item=work.item, step_index=2, rating=None).last_rated == 1
    for _ in range(2):
        work = undo(person=ada, item=work.item, step_index=1)
    assert [step.rating for step in work.steps] == [1, None, None, None]


def test_active_time_is_kept_by_step(ada: Person) -> None:
    work = begin(ada)
    Label.objects.update(created_at=ago(60))
    rate(person=ada, item=work.item, step_index=0, rating=1, step_ms=3_000)
    rate(person=ada, item=work.item, step_index=0, rating=0, step_ms=2_000)
    work = rate(person=ada, item=work.item, step_index=1, rating=-1, step_ms=10**12)
    assert work.steps[0].active_ms == 3_000
    assert 60_000 <= work.steps[1].active_ms < 70_000
    label = submit(person=ada, item=work.item, step_ms={0: 4_000, 3: 9_000})
    assert label.ratings.get(step_index=0).active_ms == 4_000


def test_a_label_remembers_the_instructions_it_was_begun_under(ada: Person) -> None:
    Instructions.objects.create(number=7, text="Seven.")
    begin(ada)
    Instructions.objects.create(number=8, text="Eight.")
    assert Label.objects.get().instructions.number == 7


# Second thoughts


def test_a_skipped_item_goes_back_and_another_comes(ada: Person, ben: Person) -> None:
    first, second = make_item(), make_item()
    rate_all(ada, claim(person=ada), 1)
    skip(person=ada, item=first.pk)
    assert claim(person=ada).item == second.pk
    assert claim(person=ben).item == first.pk
    skip(person=ada, item=second.pk)
    assert claim(person=ada) is None
    assert unskip(person=ada) == 2
    assert claim(person=ada).item == second.pk  # the other one is Ben's now
    assert ratings_of(Label.objects.get(annotator=ada, queue_item=first)) == [(0, 1)]


def test_a_submitted_label_can_be_taken_back_and_submitted_anew(ada: Person) -> None:
    make_item()
    work = rate_all(ada, begin(ada), 1, -1)
    label = submit(person=ada, item=work.item)
    following = claim(person=ada)
    rate_all(ada, following, 1)
    assert can_take_back(ada) == label
    take_back(person=ada, label=label.pk, submitted_at=label.submitted_at)
    again = claim(person=ada)
    assert (again.item, [step.rating for step in again.steps]) == (work.item, [1, -1, None, None])
    assert QueueItem.objects.leased().get(ahead=False).pk == work.item
    rate(person=ada, item=work.item, step_index=1, rating=1)
    with pytest.raises(AlreadySubmitted, match="late"):
        submit(person=ada, item=work.item, finish_reason="give_up", comment="late", given_at=ago(60))
    newer = submit(person=ada, item=work.item, finish_reason="give_up", comment="no idea")
    take_back(person=ada, label=label.pk, submitted_at=label.submitted_at)  # sent twice, the second time late
    assert Label.objects.submitted().get() == newer
    assert claim(person=ada).item == following.item
    assert claim(person=ada).steps[0].rating == 1


def test_a_give_up_taken_back_has_no_blank_step_and_no_concern(ada: Person) -> None:
    work = begin(ada)
    flag(person=ada, item=work.item, step_index=0, unsure=True)
    rate_all(ada, work, 1)
    label = submit(person=ada, item=work.item, finish_reason="bad_problem", comment="no figure")
    assert Concern.objects.count() == 2
    take_back(person=ada, label=label.pk)
    assert ratings_of(label) == [(0, 1)]
    assert not Concern.objects.exists()


def test_it_is_too_late_after_the_managers_window_or_an_adjudication(ada: Person, ben: Person) -> None:
    QualityPolicy(undo_seconds=120).save()
    label = submit(person=ada, item=rate_all(ada, begin(ada), -1).item)
    with pytest.raises(NotYourItem):
        take_back(person=ben, label=label.pk)
    decided = Label.objects.create(
        problem=label.problem,
        solution=label.solution,
        annotator=ben,
        question=label.question,
        adjudicates=True,
    )
    with pytest.raises(TooLate, match="a manager has decided"):
        take_back(person=ada, label=label.pk)
    decided.delete()
    Label.objects.update(submitted_at=ago(121))
    with pytest.raises(TooLate, match="for 2 minutes"):
        take_back(person=ada, label=label.pk)
    assert can_take_back(ada) is None


# Concerns


def test_unsure_steps_up_to_the_end_become_concerns(ada: Person) -> None:
    work = begin(ada)
    for index in (0, 3):
        flag(person=ada, item=work.item, step_index=index, unsure=True)
    label = submit(person=ada, item=rate_all(ada, work, 1, -1).item)
    concern = Concern.objects.get()
    assert (concern.kind, concern.step_index, concern.label, concern.problem) == (
        "unsure", 0, label, label.problem,
    )  # fmt: skip


def test_a_bad_problem_becomes_a_concern_with_its_words(ada: Person) -> None:
    submit(person=ada, item=begin(ada).item, finish_reason="bad_problem", comment="no figure")
    concern = Concern.objects.get()
    assert (concern.kind, concern.text, concern.step_index) == ("problem", "no figure", None)


def test_the_guess_of_the_answer_can_be_disputed_once_in_the_latest_words(ada: Person, ben: Person) -> None:
    work = begin(ada)
    for words in ("It is 6.", "It is 6, by step 2."):
        dispute(person=ada, item=work.item, text=words)
    assert claim(person=ada).disputed == "It is 6, by step 2."
    assert Concern.objects.get().text == "It is 6, by step 2."
    with pytest.raises(InvalidFinish, match="few words"):
        dispute(person=ada, item=work.item, text=" ")
    with pytest.raises(NotYourItem):
        dispute(person=ben, item=work.item, text="It is 7.")
    Concern.objects.update(action="replied", resolved_at=timezone.now())
    with pytest.raises(PlumblineError, match="answered"):
        dispute(person=ada, item=work.item, text="Still.")
