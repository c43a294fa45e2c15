"""The retrain stage: what trains, what evaluates, what is dropped; and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from annotate.errors import PlumblineError
from annotate.loop.label import claim, rate, submit
from annotate.loop.retrain import request_retrain, request_training, retrain, retrain_due, training_data
from annotate.loop.snapshot import snapshot
from annotate.models import Job, Label, Person, PRMVersion
from prm_backend.types import Sample
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    PRMVersionFactory,
    ProblemFactory,
    QueueItemFactory,
    ServingPRMFactory,
    SnapshotFactory,
)
from tests.fakes import RecordingTrainer, ScriptedScorer

pytestmark = pytest.mark.django_db


def label(
    person: Person, ratings: Sequence[int] = (-1,), *, held_out: bool = False, finish: str = ""
) -> Label:
    """Somebody rates a solution of two steps, as far as `ratings` go, and submits it."""
    problem = ProblemFactory(held_out=held_out)
    QueueItemFactory(solution=GradedSolutionFactory(problem=problem, steps=("one", "two")), priority=1)
    work = claim(person=person)
    assert work is not None
    for index, rating in enumerate(ratings):
        rate(person=person, item=work.item, step_index=index, rating=rating)
    return submit(person=person, item=work.item, finish_reason=finish, comment="stuck" if finish else "")


def test_labels_on_held_out_problems_evaluate_and_never_train() -> None:
    person = AnnotatorFactory()
    trains, judges = label(person), label(person, (1, 1), held_out=True)
    train, held_out = training_data(snapshot())
    assert [(one.problem, one.ratings) for one in train] == [(trains.problem.text, (-1, None))]
    assert [(one.problem, one.ratings) for one in held_out] == [(judges.problem.text, (1, 1))]


def test_quality_control_and_unfinished_labels_are_dropped() -> None:
    person = AnnotatorFactory()
    Label.objects.filter(pk=label(person).pk).update(is_quality_control_question=True)
    label(person, (1,), finish="give_up")
    label(person, (), finish="bad_problem")
    assert training_data(snapshot()) == ([], [])


def test_a_candidate_carries_its_report_and_the_serving_versions_figures_beside_it() -> None:
    person = AnnotatorFactory()
    label(person)
    label(person, (1, 1), held_out=True)
    serving = PRMVersion.objects.serving()
    assert serving is not None
    trainer = RecordingTrainer({"log_likelihood": -0.3})
    taken = snapshot()
    candidate = retrain(snapshot=taken, trainer=trainer, serving=(serving, ScriptedScorer(lambda steps: 0.5)))
    assert candidate is not None
    assert (candidate.status, candidate.snapshot, candidate.n_labels) == ("candidate", taken, 1)
    assert not candidate.outcome_only
    assert not trainer.outcome_only
    assert len(trainer.held_out) == 1
    assert candidate.report["metrics"] == {"log_likelihood": -0.3}
    beside = candidate.report["serving"]
    assert (beside["number"], beside["metrics"]["human_steps"]) == (serving.number, 2)


def test_the_same_labels_base_and_config_are_trained_once() -> None:
    label(AnnotatorFactory())
    taken = snapshot()
    assert retrain(snapshot=taken, trainer=RecordingTrainer(), serving=None) is not None
    assert retrain(snapshot=taken, trainer=RecordingTrainer(), serving=None) is None
    assert "nothing new" in request_training(snapshot=taken)
    assert not Job.objects.filter(kind="retrain").exists()


def test_labels_that_cannot_train_are_refused_with_the_reason() -> None:
    label(AnnotatorFactory(), held_out=True)
    with pytest.raises(PlumblineError, match=r"None of the 1 labels .* held-out problems \(1\)"):
        retrain(snapshot=snapshot(), trainer=RecordingTrainer(), serving=None)


def test_without_a_label_there_is_nothing_to_train() -> None:
    assert request_training(snapshot=snapshot()) == "there is no label to train on yet"


def test_a_failed_training_leaves_the_serving_version_as_it_is() -> None:
    label(AnnotatorFactory())
    serving = PRMVersion.objects.serving()

    def broken(*_: object, **__: object) -> Sample:
        raise RuntimeError("loss is NaN")

    with pytest.raises(RuntimeError):
        retrain(snapshot=snapshot(), trainer=broken, serving=None)  # type: ignore[arg-type]
    assert list(PRMVersion.objects.all()) == [serving]


def test_asking_for_a_retrain_twice_asks_once() -> None:
    first = request_retrain()
    assert request_retrain() == first
    Job.objects.update(status="done")
    label(AnnotatorFactory())
    request_training(snapshot=snapshot())
    assert request_retrain().kind == "retrain"


def test_it_is_due_after_enough_new_labels_and_no_more_once_they_are_trained_on(settings) -> None:
    settings.RETRAIN_AFTER_LABELS = 2
    person = AnnotatorFactory()
    label(person)
    assert not retrain_due()
    label(person)
    assert retrain_due()
    PRMVersionFactory(snapshot=SnapshotFactory(), number=7)
    assert not retrain_due()


def test_a_round_with_another_prm_in_between_is_measured_against_the_one_that_serves() -> None:
    serving = ServingPRMFactory(number=3)
    label(AnnotatorFactory())
    candidate = retrain(
        snapshot=snapshot(), trainer=RecordingTrainer(), serving=(serving, ScriptedScorer(lambda steps: 0.5))
    )
    assert candidate is not None
    assert candidate.number == 4
    assert candidate.report["serving"]["number"] == 3
