"""Step by step: options are proposed and rated, one is chosen or a step is written, until an answer stands."""

from __future__ import annotations

import pytest

from annotate.errors import InvalidFinish, InvalidRating
from annotate.loop.grow import choose, look_again, write_step
from annotate.loop.label import claim, rate, submit, undo
from annotate.loop.proposals import people_first
from annotate.loop.queues import put_problems
from annotate.loop.second_thoughts import take_back
from annotate.loop.work import Work
from annotate.models import Job, JobStatus, Label, Person, QueueItem, Way
from prm_backend.types import Progress
from tests.factories import ProblemFactory, QueueFactory
from tests.fakes import ScriptedGenerator
from tests.loop.proposing import a_model_worker, options_of, scripted, work_off
from tests.loop.records import export_again, exported, rows_fit_the_schema

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _a_problem(db: None) -> None:
    ProblemFactory.create(text="How many?", answer="3")
    put_problems(queue=QueueFactory.create(way=Way.STEP_BY_STEP, options=4), problems=1)
    a_model_worker()


def begun(ada: Person) -> Work:
    work = claim(person=ada)
    assert work is not None
    return work


def proposed(ada: Person, work: Work) -> Work:
    work_off()
    return look_again(person=ada, item=work.item)


def rate_options(ada: Person, work: Work, *ratings: int) -> Work:
    for option, rating in enumerate(ratings):
        work = rate(person=ada, item=work.item, step_index=option, rating=rating)
    return work


def step(ada: Person, work: Work, *ratings: int, take: int) -> Work:
    work = rate_options(ada, proposed(ada, work), *ratings)
    return choose(person=ada, item=work.item, step_index=len(work.steps), option=take)


def finished(ada: Person) -> Work:
    work = step(ada, begun(ada), 1, 0, -1, take=0)
    work = step(ada, work, 1, 1, -1, 0, take=1)
    return step(ada, work, 1, -1, -1, -1, take=0)


def test_the_model_is_asked_for_first_steps_as_soon_as_the_problem_is_taken(ada: Person) -> None:
    work = begun(ada)
    assert (work.way, work.problem, work.guess, work.steps) == (Way.STEP_BY_STEP, "How many?", "3", ())
    assert (work.generation, work.finish) == (None, None)
    work = proposed(ada, work)
    assert work.proposed is not None
    assert [option.text for option in work.proposed.options] == [
        "I take one.",
        "I take two.",
        "I take three.",
    ]


def test_it_grows_by_the_chosen_steps_and_the_model_goes_on_from_them(ada: Person) -> None:
    work = step(ada, begun(ada), 1, 0, -1, take=0)
    assert [one.text for one in work.steps] == ["I take one."]
    generator = scripted()
    work_off(generator)
    assert generator.calls[0][0] == ("I take one.",)
    assert Job.objects.count() == 2


def test_an_answer_ends_it_as_a_solution(ada: Person) -> None:
    work = finished(ada)
    assert (work.finish, work.proposed) == ("solution", None)
    label = submit(person=ada, item=work.item)
    assert (label.finish_reason, label.way, label.solution) == ("solution", Way.STEP_BY_STEP, None)
    assert options_of(label)[:3] == [
        (0, 0, "model", 1, True),
        (0, 1, "model", 0, False),
        (0, 2, "model", -1, False),
    ]
    assert claim(person=ada) is None
    assert QueueItem.objects.get().done_at is not None


def test_it_exports_as_a_phase_1_row_and_imports_again_equal(ada: Person) -> None:
    submit(person=ada, item=finished(ada).item)
    [row] = rows_fit_the_schema()
    assert row["question"] == {"problem": "How many?", "ground_truth_answer": "3"}
    assert row["generation"] is None
    assert "plumbline" not in row
    assert [one["chosen_completion"] for one in row["label"]["steps"]] == [0, 1, 0]
    assert row["label"]["steps"][0] == {
        "completions": [
            {"text": "I take one.", "rating": 1, "flagged": False},
            {"text": "I take two.", "rating": 0, "flagged": False},
            {"text": "I take three.", "rating": -1, "flagged": False},
        ],
        "human_completion": None,
        "chosen_completion": 0,
    }
    assert row["label"]["steps"][-1]["completions"][0]["text"].endswith("# Answer\n\n3")
    before = exported()
    assert export_again() == before
    assert Label.objects.get().way == Way.STEP_BY_STEP


def test_every_option_is_rated_and_only_a_great_one_is_gone_on_with(ada: Person) -> None:
    work = rate_options(ada, proposed(ada, begun(ada)), 1, 0)
    with pytest.raises(InvalidRating, match="Option C is not rated yet"):
        choose(person=ada, item=work.item, step_index=0, option=0)
    rate(person=ada, item=work.item, step_index=2, rating=-1)
    for option in (1, 2, 3, -1):
        with pytest.raises(InvalidRating, match="rated great"):
            choose(person=ada, item=work.item, step_index=0, option=option)
    assert choose(person=ada, item=work.item, step_index=0, option=0).steps[0].text == "I take one."


def test_where_none_is_great_the_person_writes_the_step(ada: Person) -> None:
    work = proposed(ada, begun(ada))
    with pytest.raises(InvalidRating, match="is not rated yet"):
        write_step(person=ada, item=work.item, step_index=0, text="I count.")
    work = rate_options(ada, work, 0, 0, -1)
    for text in ("", " \n ", "One.\nTwo.", "x" * 1001):
        with pytest.raises(InvalidRating, match="Write one step"):
            write_step(person=ada, item=work.item, step_index=0, text=text)
    work = write_step(person=ada, item=work.item, step_index=0, text=" I count. ")
    assert [(one.text, one.written) for one in work.steps] == [("I count.", True)]
    generator = scripted()
    work_off(generator)
    assert generator.calls[0][0] == ("I count.",)


def test_a_written_step_exports_as_an_object_and_comes_back_equal(ada: Person) -> None:
    work = rate_options(ada, proposed(ada, begun(ada)), 0, 0, -1)
    work = write_step(person=ada, item=work.item, step_index=0, text="I count: 3.\n\n# Answer\n\n3")
    assert submit(person=ada, item=work.item).finish_reason == "solution"
    [row] = rows_fit_the_schema()
    assert row["label"]["steps"][0]["human_completion"] == {
        "text": "I count: 3.\n\n# Answer\n\n3",
        "rating": None,
        "source": "human",
        "flagged": False,
    }
    assert row["label"]["steps"][0]["chosen_completion"] is None
    before = exported()
    assert export_again() == before


def test_none_is_written_where_one_is_great(ada: Person) -> None:
    work = rate_options(ada, proposed(ada, begun(ada)), 1, 0, -1)
    with pytest.raises(InvalidRating, match="go on with that one"):
        write_step(person=ada, item=work.item, step_index=0, text="I count.")


def test_giving_up_ends_in_the_options_there_are_or_in_the_blank_step(ada: Person, ben: Person) -> None:
    work = step(ada, begun(ada), 1, 0, -1, take=0)
    with pytest.raises(InvalidFinish, match="no answer yet"):
        submit(person=ada, item=work.item)
    label = submit(person=ada, item=work.item, finish_reason="give_up", comment="stuck")
    assert options_of(label)[-1] == (1, None, "blank", None, False)
    QueueItem.objects.update(done_at=None)
    work = proposed(ben, begun(ben))
    rate_options(ben, work, 0)
    submit(person=ben, item=work.item, finish_reason="give_up", comment="stuck")
    blank, open_end = rows_fit_the_schema()
    assert blank["label"]["steps"][-1] == {
        "completions": None, "human_completion": None, "chosen_completion": None
    }  # fmt: skip
    assert [one["rating"] for one in open_end["label"]["steps"][-1]["completions"]] == [0, None, None]
    before = exported()
    assert export_again() == before


def test_undo_takes_back_ratings_then_the_way_the_last_step_went_on(ada: Person) -> None:
    work = proposed(ada, step(ada, begun(ada), 1, 0, 1, take=0))
    work = rate(person=ada, item=work.item, step_index=0, rating=1)
    work = undo(person=ada, item=work.item)
    assert (len(work.steps), work.last_rated) == (1, None)
    work = undo(person=ada, item=work.item)
    assert work.steps == ()
    assert work.proposed is not None
    assert [option.rating for option in work.proposed.options] == [1, 0, 1]
    work = choose(person=ada, item=work.item, step_index=0, option=2)
    generator = scripted()
    work_off(generator)
    assert generator.calls[0][0] == ("I take three.",)


def test_an_answer_for_steps_that_were_changed_meanwhile_is_dropped_and_asked_for_anew(ada: Person) -> None:
    work = step(ada, begun(ada), 1, 0, 1, take=0)
    job = Job.objects.latest("pk")

    def change_your_mind(problem: str, index: int) -> str:
        if index == 0:
            undo(person=ada, item=work.item)
            choose(person=ada, item=work.item, step_index=0, option=2)
        return "x\nfrom one"

    assert work_off(ScriptedGenerator(change_your_mind)) == 0
    look_again(person=ada, item=work.item)
    assert Job.objects.latest("pk") != job
    generator = scripted()
    work_off(generator)
    assert generator.calls[0][0] == ("I take three.",)


def test_a_rating_that_comes_late_does_not_land_on_the_next_steps_option(ada: Person) -> None:
    first = proposed(ada, begun(ada))
    given_at = Label.objects.get().ratings.first().rated_at
    work = step(ada, first, 1, 0, -1, take=0)
    proposed(ada, work)
    work = rate(person=ada, item=work.item, step_index=1, rating=-1, given_at=given_at)
    assert work.proposed is not None
    assert [option.rating for option in work.proposed.options] == [None] * 4


def test_choosing_and_writing_twice_is_doing_it_once(ada: Person) -> None:
    work = step(ada, begun(ada), 1, 0, -1, take=0)
    again = choose(person=ada, item=work.item, step_index=0, option=0)
    assert len(again.steps) == 1
    with pytest.raises(InvalidRating, match="You stand at step 2"):
        choose(person=ada, item=work.item, step_index=0, option=1)
    work = rate_options(ada, proposed(ada, work), 0, 0, 0, 0)
    for _ in range(2):
        work = write_step(person=ada, item=work.item, step_index=1, text="I count.")
    assert len(work.steps) == 2


def test_nobody_grows_a_problem_twice_and_a_label_can_be_taken_back(ada: Person, ben: Person) -> None:
    QueueItem.objects.all().delete()
    queue = QueueFactory.create()
    queue.overlap = 2
    queue.save()
    put_problems(queue=queue, problems=1)
    label = submit(person=ada, item=finished(ada).item)
    assert claim(person=ada) is None
    assert claim(person=ben) is not None
    take_back(person=ada, label=label.pk)
    work = claim(person=ada)
    assert work is not None
    assert work.finish == "solution"


def test_long_work_of_the_worker_does_between_its_steps_what_somebody_waits_for(ada: Person) -> None:
    work = begun(ada)
    told: list[int] = []
    between = people_first(lambda now: told.append(now.done), lambda spec: scripted())
    between(Progress(1, 2))
    between(Progress(2, 2))
    assert told == [1, 2]
    assert Job.objects.get().status == JobStatus.DONE
    work = look_again(person=ada, item=work.item)
    assert work.proposed is not None
    assert len(work.proposed.options) == 3


def test_a_generator_that_fails_fails_the_proposal_and_not_the_work_around_it(ada: Person) -> None:
    begun(ada)

    def broken(spec: str) -> ScriptedGenerator:
        raise OSError("no such model")

    people_first(lambda now: None, broken)(Progress(1, 2))
    assert Job.objects.get().status == JobStatus.FAILED
