"""Benchmarks: files taken or refused whole, versions measured on them once, and what cannot be says why."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from annotate.loop.benchmark import (
    BenchmarkRefused,
    add_benchmark,
    ask_to_measure,
    measure,
    remove_benchmark,
)
from annotate.loop.retrain import retrain
from annotate.loop.snapshot import snapshot
from annotate.loop.waiting import WAITING
from annotate.models import Benchmark, Measurement, PRMVersion
from prm_backend.types import StepScorer
from tests.factories import AnnotatorFactory, PRMVersionFactory, ServingPRMFactory, SolutionScoreFactory
from tests.fakes import RecordingTrainer, ScriptedScorer
from tests.loop.benchmarks import Wary, rows
from tests.loop.labelling import label

pytestmark = pytest.mark.django_db


def file(
    content: Sequence[dict[str, Any]] | bytes | None = None, name: str = "processbench.json"
) -> io.BytesIO:
    made = io.BytesIO(content if isinstance(content, bytes) else json.dumps(content or rows()).encode())
    made.name = name
    return made


def measured(version: PRMVersion, scorer: StepScorer | None = None) -> dict[str, Any]:
    (waits,) = Measurement.objects.waiting().filter(version=version)
    measure(measurement=waits, load=lambda: scorer or Wary())
    waits.refresh_from_db()
    assert waits.figures is not None
    return waits.figures


def test_a_file_is_kept_once_and_the_serving_version_is_to_be_measured_on_it() -> None:
    serving = ServingPRMFactory()
    PRMVersionFactory()
    added = add_benchmark(file=file())
    assert (added.name, added.n_samples, added.n_erroneous) == ("processbench", 20, 10)
    assert [one.version for one in Measurement.objects.waiting()] == [serving]
    assert add_benchmark(file=file(name="again.json")) == added
    assert Benchmark.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([{"problem": "?", "steps": ["a"], "label": 4}, *rows()], "Line 1: label must be -1 or the index"),
        ([row for row in rows() if row["label"] < 0], "with an error and solutions without"),
        (b"{not JSON", "no file of labelled solutions"),
        (b"", "with an error and solutions without"),
    ],
)
def test_a_file_that_is_not_wholly_one_is_refused_with_the_reason(content: Any, reason: str) -> None:
    with pytest.raises(BenchmarkRefused, match=reason):
        add_benchmark(file=file(content))
    assert not Benchmark.objects.exists()


def test_a_version_is_measured_at_its_own_threshold_crosswise_and_at_the_best() -> None:
    version = ServingPRMFactory(report={"metrics": {"threshold": 0.2}})
    add_benchmark(file=file())
    found = measured(version)
    assert found["own"] | {"f1": 1.0, "threshold": pytest.approx(0.2)} == found["own"]
    assert found["crossed"]["f1"] == found["tuned"]["f1"] == 1.0
    assert 0.05 < found["crossed"]["threshold"] < 0.25
    assert found["own"]["low"] <= 1.0 <= found["own"]["high"]


def test_a_version_whose_threshold_was_never_tuned_cuts_at_a_half_and_finds_nothing_here() -> None:
    version = ServingPRMFactory()
    add_benchmark(file=file())
    found = measured(version)
    assert (found["own"]["f1"], found["own"]["error_accuracy"], found["own"]["correct_accuracy"]) == (0, 0, 1)
    assert found["tuned"]["f1"] == 1.0


def test_each_new_version_is_measured_and_an_older_one_when_somebody_asks() -> None:
    old = PRMVersionFactory()
    add_benchmark(file=file())
    label(AnnotatorFactory())
    Measurement.objects.all().delete()
    new = retrain(snapshot=snapshot(), trainer=RecordingTrainer(), serving=None)
    assert [one.version for one in Measurement.objects.waiting()] == [new]
    assert (ask_to_measure(version=old), ask_to_measure(version=old)) == (1, 0)
    assert Measurement.objects.waiting().count() == 2


def test_a_version_that_cannot_be_loaded_says_why_keeps_no_one_waiting_and_can_be_asked_again() -> None:
    version = ServingPRMFactory()
    add_benchmark(file=file())

    def gone() -> StepScorer:
        raise FileNotFoundError("the checkpoint is gone")

    measure(measurement=Measurement.objects.get(), load=gone)
    assert Measurement.objects.get().figures == {"refused": "the checkpoint is gone"}
    assert not Measurement.objects.waiting().exists()
    assert not Measurement.objects.measured().exists()
    assert ask_to_measure(version=version) == 1
    assert measured(version)["tuned"]["f1"] == 1.0


def test_figures_that_are_there_stay() -> None:
    add_benchmark(file=file())
    version = PRMVersionFactory()
    ask_to_measure(version=version)
    waits = Measurement.objects.get()
    first = measured(version)
    measure(measurement=waits, load=lambda: ScriptedScorer(lambda steps: 0.9))
    assert Measurement.objects.get().figures == first


def test_what_people_get_next_is_scored_before_anything_is_measured() -> None:
    score = SolutionScoreFactory()
    add_benchmark(file=file())
    assert Measurement.objects.waiting().exists()
    score.delete()
    assert WAITING["score"]()
    assert not WAITING["benchmark"]()


def test_a_removed_benchmark_takes_its_file_and_figures_along() -> None:
    ServingPRMFactory()
    added = add_benchmark(file=file())
    assert default_storage.exists(added.path)
    remove_benchmark(benchmark=added)
    assert not default_storage.exists(added.path)
    assert not Measurement.objects.exists()


def test_the_command_says_what_it_kept_and_refuses_what_is_none(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "gsm8k.json"
    path.write_text(json.dumps(rows()))
    call_command("import_benchmark", path)
    assert capsys.readouterr().out == "gsm8k: 20 solutions, 10 with an error\n"
    path.write_text("[]")
    with pytest.raises(CommandError, match="with an error"):
        call_command("import_benchmark", path)
