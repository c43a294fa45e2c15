"""At the first error a queue may ask further: how far, a critique, and next steps of the model to rate."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.errors import InvalidFinish
from annotate.loop.further import tell
from annotate.loop.grow import look_again, propose_again
from annotate.loop.label import claim, flag, rate, submit, undo
from annotate.loop.second_thoughts import take_back
from annotate.loop.work import Work
from annotate.models import Job, JobStatus, Label, Person, Queue
from tests.factories import QueueFactory
from tests.fakes import ScriptedGenerator
from tests.loop.labelling import STEPS, begin, rate_all
from tests.loop.proposing import a_model_worker, options_of, scripted, work_off
from tests.loop.records import export_again, exported, rows_fit_the_schema

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _asks_further(db: None) -> None:
    QueueFactory.create(asks_further=True, options=4)
    a_model_worker()


def at_the_error(ada: Person) -> Work:
    """The second step is bad, and the model's next steps are there."""
    work = rate_all(ada, begin(ada), 1, -1)
    work_off()
    return look_again(person=ada, item=work.item)


def rate_options(ada: Person, work: Work, *ratings: int) -> Work:
    for option, rating in enumerate(ratings):
        work = rate(person=ada, item=work.item, step_index=len(STEPS) + option, rating=rating)
    return work


def test_the_first_error_asks_the_model_for_next_steps_from_there(ada: Person) -> None:
    work = begin(ada)
    assert work.proposed is None
    work = rate_all(ada, work, 1, -1)
    assert work.proposed is not None
    assert (work.proposed.step_index, work.proposed.options) == (1, ())
    assert work.proposed.waiting is not None
    assert work.proposed.waiting.state == "queued"
    assert (work.finish, work.next_open) == (None, None)
    generator = scripted()
    assert work_off(generator) == 4
    assert generator.calls[0][0] == (STEPS[0],)
    work = look_again(person=ada, item=work.item)
    assert work.proposed is not None
    texts = [option.text for option in work.proposed.options]
    assert texts == ["That is two.", "That is four.", "That is six.", "I stop."]
    assert [option.index for option in work.proposed.options] == [4, 5, 6, 7]


def test_the_wrong_step_said_again_costs_no_option(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    steps = [STEPS[1], "That is two.", "That is four.", "That is six.", "I stop."]
    assert work_off(ScriptedGenerator(lambda problem, index: f"{STEPS[0]}\n{steps[index]}")) == 4
    options = look_again(person=ada, item=work.item).proposed.options
    assert [option.text for option in options] == steps[1:]


def test_it_is_submitted_once_all_of_it_is_said(ada: Person) -> None:
    work = at_the_error(ada)
    with pytest.raises(InvalidFinish, match="Option A is not rated yet"):
        submit(person=ada, item=work.item)
    work = rate_options(ada, work, 1, 0, -1, 1)
    assert work.finish == "found_error"
    with pytest.raises(InvalidFinish, match="how far the solution got"):
        submit(person=ada, item=work.item, critique="Five is wrong.")
    with pytest.raises(InvalidFinish, match="what is wrong"):
        submit(person=ada, item=work.item, progress=2, critique=" ")
    label = submit(person=ada, item=work.item, progress=2, critique=" Five is wrong.\0")
    assert (label.progress, label.critique) == (2, "Five is wrong.\ufffd")
    assert options_of(label) == [
        (0, 0, "model", 1, True),
        (1, 0, "model", -1, False),
        (1, 1, "model", 1, False),
        (1, 2, "model", 0, False),
        (1, 3, "model", -1, False),
        (1, 4, "model", 1, False),
    ]


def test_it_exports_as_prm800ks_alternatives_and_imports_again_equal(ada: Person) -> None:
    work = rate_options(ada, at_the_error(ada), 1, 0, -1, 1)
    flag(person=ada, item=work.item, step_index=len(STEPS) + 1, unsure=True)
    submit(person=ada, item=work.item, progress=3, critique="Five is wrong.")
    [row] = rows_fit_the_schema()
    error = row["label"]["steps"][-1]
    assert error["chosen_completion"] is None
    assert [(c["rating"], c["flagged"]) for c in error["completions"]] == [
        (-1, None), (1, False), (0, True), (-1, False), (1, False)
    ]  # fmt: skip
    assert error["completions"][0]["text"] == STEPS[1]
    assert row["plumbline"] == {"progress": 3, "critique": "Five is wrong."}
    before = exported()
    assert export_again() == before
    assert (Label.objects.get().progress, Label.objects.get().critique) == (3, "Five is wrong.")


def test_what_is_told_is_saved_before_the_submit(ada: Person) -> None:
    work = at_the_error(ada)
    tell(person=ada, item=work.item, progress=1)
    tell(person=ada, item=work.item, critique="Five is wrong.")
    again = claim(person=ada)
    assert again is not None
    assert (again.progress, again.critique) == (1, "Five is wrong.")
    with pytest.raises(InvalidFinish, match="from 0 to 3"):
        tell(person=ada, item=work.item, progress=4)


def test_an_error_taken_back_hides_its_options_and_brings_them_back_with_it(ada: Person) -> None:
    work = rate_options(ada, at_the_error(ada), 1, 0)
    work = rate(person=ada, item=work.item, step_index=1, rating=1)
    assert work.proposed is None
    work = rate(person=ada, item=work.item, step_index=1, rating=-1)
    assert work.proposed is not None
    assert [option.rating for option in work.proposed.options] == [1, 0, None, None]


def test_options_of_a_step_that_was_no_error_after_all_do_not_reach_the_label(ada: Person) -> None:
    work = at_the_error(ada)
    rate(person=ada, item=work.item, step_index=1, rating=1)
    for index in (2, 3):
        work = rate(person=ada, item=work.item, step_index=index, rating=1)
    label = submit(person=ada, item=work.item)
    assert label.finish_reason == "solution"
    assert label.ratings.count() == 4


def test_undo_takes_an_options_rating_back_first(ada: Person) -> None:
    work = rate_options(ada, at_the_error(ada), 1)
    assert work.last_rated == len(STEPS)
    work = undo(person=ada, item=work.item, step_index=work.last_rated)
    assert work.proposed is not None
    assert work.proposed.options[0].rating is None
    assert work.last_rated == 1


def test_a_step_that_reads_like_the_error_is_not_proposed(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    texts = [f"x\n{STEPS[1]}", f"x\n  {STEPS[1]} ", "x\nNew.", "x\nNewer.", "x\nNewest."]
    work_off(ScriptedGenerator(lambda problem, index: texts[index]))
    work = look_again(person=ada, item=work.item)
    assert work.proposed is not None
    assert [option.text for option in work.proposed.options] == ["New.", "Newer.", "Newest."]


def test_without_a_worker_the_page_knows_and_the_label_can_be_submitted_all_the_same(ada: Person) -> None:
    a_model_worker(seen_at=timezone.now() - timedelta(hours=1))
    work = rate_all(ada, begin(ada), 1, -1)
    assert work.proposed is not None
    assert work.proposed.waiting is not None
    assert work.proposed.waiting.state == "no worker"
    label = submit(person=ada, item=work.item, progress=0, critique="Wrong.")
    assert label.finish_reason == "found_error"
    a_model_worker()
    assert work_off() == 0


def test_while_the_model_writes_a_submit_waits(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    with pytest.raises(InvalidFinish, match="still being written"):
        submit(person=ada, item=work.item, progress=0, critique="Wrong.")


def test_a_failed_proposal_is_told_and_asked_for_again_by_hand(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    Job.objects.update(status=JobStatus.FAILED, message="out of memory")
    work = look_again(person=ada, item=work.item)
    assert work.proposed is not None
    assert work.proposed.waiting is not None
    assert (work.proposed.waiting.state, work.proposed.waiting.message) == ("failed", "")
    assert Job.objects.count() == 1
    propose_again(person=ada, item=work.item)
    assert work_off() == 4


def test_a_lost_job_is_asked_for_again_by_looking(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    Job.objects.all().delete()
    look_again(person=ada, item=work.item)
    assert work_off() == 4


def test_two_tabs_and_two_jobs_write_the_options_once(ada: Person) -> None:
    work = rate_all(ada, begin(ada), 1, -1)
    for _ in range(3):
        look_again(person=ada, item=work.item)
    assert Job.objects.count() == 1
    Job.objects.create(kind="propose", key="twice", payload=Job.objects.get().payload)
    assert work_off() == 4


def test_a_queue_that_asks_no_further_proposes_nothing(ada: Person) -> None:
    QueueFactory.create().__class__.objects.update(asks_further=False)
    work = rate_all(ada, begin(ada), 1, -1)
    assert (work.proposed, work.finish) == (None, "found_error")
    assert not Job.objects.exists()


def with_critiques() -> None:
    Queue.objects.update(critiques=True)


def criticised(ada: Person) -> Work:
    """As `at_the_error`, with a critique before the options."""
    with_critiques()
    return at_the_error(ada)


def test_a_queue_may_have_the_model_say_what_is_wrong_to_be_rated_like_an_option(ada: Person) -> None:
    work = criticised(ada)
    assert work.proposed is not None
    assert work.proposed.critique is not None
    assert (work.proposed.critique.index, work.next_open) == (4, 4)
    assert [option.index for option in work.proposed.options] == [5, 6, 7, 8]
    assert [option.letter for option in work.proposed.options] == ["A", "B", "C", "D"]
    work = rate(person=ada, item=work.item, step_index=4, rating=-1)
    assert (work.next_open, work.last_rated, work.changed_options) == (5, 4, (4,))
    work = undo(person=ada, item=work.item, step_index=4)
    assert work.proposed is not None
    assert work.proposed.critique is not None
    assert work.proposed.critique.rating is None


def test_a_rated_critique_needs_no_other_and_a_written_one_needs_no_rating(ada: Person) -> None:
    work = rate_options(ada, criticised(ada), 0, 1, 0, -1, 1)
    label = submit(person=ada, item=work.item, progress=2)
    assert (label.critique, label.ratings.get(source="critique").rating) == ("", 0)
    take_back(person=ada, label=label.pk)
    rate(person=ada, item=work.item, step_index=4, rating=None)
    with pytest.raises(InvalidFinish, match="rate what the model says"):
        submit(person=ada, item=work.item)
    label = submit(person=ada, item=work.item, critique="Five is wrong.")
    assert (label.critique, label.ratings.get(source="critique").rating) == ("Five is wrong.", None)


def test_a_rated_critique_is_exported_beside_prm800ks_keys_and_imports_again_equal(ada: Person) -> None:
    work = rate_options(ada, criticised(ada), -1, 1, 0, -1, 1)
    flag(person=ada, item=work.item, step_index=4, unsure=True)
    submit(person=ada, item=work.item, progress=2, critique="Five is wrong.")
    [row] = rows_fit_the_schema()
    said = row["plumbline"]["model_critique"]
    assert (said["rating"], said["flagged"]) == (-1, True)
    assert said["text"] == scripted().script("", 0).split("\n\n")[0]
    assert len(row["label"]["steps"][-1]["completions"]) == 5
    before = exported()
    assert export_again() == before


def test_a_critique_is_of_its_step_and_goes_when_that_is_no_error_after_all(ada: Person) -> None:
    work = criticised(ada)
    rate(person=ada, item=work.item, step_index=1, rating=1)
    work = rate(person=ada, item=work.item, step_index=2, rating=-1)
    work_off()
    work = look_again(person=ada, item=work.item)
    assert work.proposed is not None
    assert work.proposed.critique is not None
    work = rate_options(ada, work, 0, *(1 for _ in work.proposed.options))
    label = submit(person=ada, item=work.item, progress=2)
    assert list(label.ratings.filter(source="critique").values_list("step_index", flat=True)) == [2]


class Tongueless(ScriptedGenerator):
    """Proposes steps and cannot say a word."""

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("the server is gone")


def test_a_model_that_has_nothing_to_say_leaves_the_critique_to_the_person(ada: Person) -> None:
    with_critiques()
    work = rate_all(ada, begin(ada), 1, -1)
    assert work_off(Tongueless(scripted().script)) == 4
    work = look_again(person=ada, item=work.item)
    assert work.proposed is not None
    assert work.proposed.critique is None
    work = rate_options(ada, work, 1, 0, -1, 1)
    with pytest.raises(InvalidFinish, match="what is wrong"):
        submit(person=ada, item=work.item, progress=2)
    assert submit(person=ada, item=work.item, progress=2, critique="Wrong.").critique == "Wrong."
