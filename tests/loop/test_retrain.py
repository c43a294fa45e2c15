"""The retrain stage: what trains, what evaluates, what is dropped; and nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from annotate.errors import PlumblineError
from annotate.loop.retrain import (
    inputs_of,
    request_retrain,
    request_training,
    retrain,
    retrain_due,
    training_data,
)
from annotate.loop.snapshot import snapshot
from annotate.models import Job, Label, PRMVersion, Problem
from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.types import Progress, Sample
from tests.conftest import database_url
from tests.factories import (
    AnnotatorFactory,
    PRMVersionFactory,
    ServingPRMFactory,
    SnapshotFactory,
)
from tests.fakes import RecordingTrainer, ScriptedScorer
from tests.loop.labelling import label
from tests.tiny import tiny_model_dir

pytestmark = pytest.mark.django_db


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


def test_new_answers_to_gold_alone_are_no_reason_to_train_again() -> None:
    person = AnnotatorFactory()
    label(person)
    label(person, (1, 1), held_out=True)
    first = snapshot()
    assert retrain(snapshot=first, trainer=RecordingTrainer(), serving=None) is not None
    Label.objects.filter(pk=label(person).pk).update(is_quality_control_question=True)
    label(person, (1,), finish="give_up")
    second = snapshot()
    assert second != first
    assert "nothing new" in request_training(snapshot=second)
    label(person, (1, 1), held_out=True)  # it does not train, but may decide
    assert "trains on them" in request_training(snapshot=snapshot())


def test_a_correction_of_the_problems_subject_trains_nothing_anew_and_shows_in_the_report() -> None:
    judged = label(AnnotatorFactory(), (1, 1), held_out=True)
    label(AnnotatorFactory())
    before = inputs_of(training_data(snapshot()))
    Problem.objects.filter(pk=judged.problem_id).update(subject="Algebra", level=3, source="math")
    data = training_data(snapshot())
    assert data[1][0].groups == (("subject", "Algebra"), ("level", "3"), ("source", "math"))
    assert inputs_of(data) == before


def test_the_serving_version_is_judged_at_its_own_threshold() -> None:
    serving = ServingPRMFactory(number=3, report={"metrics": {"threshold": 0.3}})
    label(AnnotatorFactory())
    label(AnnotatorFactory(), held_out=True)
    candidate = retrain(
        snapshot=snapshot(), trainer=RecordingTrainer(), serving=(serving, ScriptedScorer(lambda steps: 0.4))
    )
    assert candidate is not None
    beside = candidate.report["serving"]["metrics"]
    assert (beside["threshold"], beside["first_error_accuracy"]) == (0.3, 0.0)
    assert beside["first_error_accuracy_at_threshold"] == 1.0


KILLED = """
import os, signal, django
django.setup()
from annotate.loop.retrain import retrain
from annotate.models import Snapshot
from prm_backend import runtime
def die(now):
    if "epoch 3" in now.message:
        os.kill(os.getpid(), signal.SIGKILL)
retrain(snapshot=Snapshot.objects.get(), trainer=runtime.train, serving=None, progress=die)
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_retrain_that_was_killed_goes_on_where_it_was(settings: Settings, tmp_path: Path) -> None:
    settings.PRM_BASE = str(tiny_model_dir(tmp_path / "base"))
    person = AnnotatorFactory()
    for _ in range(4):
        label(person)
    taken = snapshot()
    here = {"DJANGO_SETTINGS_MODULE": "annotate.settings", "DATABASE_URL": database_url()}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=settings.BASE_DIR, timeout=240,
        env=os.environ | here | {"PRM_BASE": settings.PRM_BASE, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    assert not PRMVersion.objects.filter(snapshot=taken).exists()
    attempts = settings.VAR_DIR / "training"
    assert [path.is_dir() for path in attempts.iterdir()] == [True]

    seen: list[Progress] = []
    candidate = retrain(snapshot=taken, trainer=runtime.train, serving=None, progress=seen.append)
    assert candidate is not None
    assert not any("epoch 2 " in progress.message for progress in seen)
    assert {point["epoch"] for point in candidate.report["curve"]} == set(range(1, PRMConfig().epochs + 1))
    assert list(attempts.iterdir()) == []


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
