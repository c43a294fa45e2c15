"""The tasks in real worker processes: killed in any stage, the work is done once, later; what fails says why."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import Count
from django.utils import timezone
from pytest_django import Settings

from annotate import tasks
from annotate.loop import checkpoints, jobs, waiting
from annotate.loop.label import claim
from annotate.loop.queues import put_problems
from annotate.loop.retrain import request_retrain
from annotate.loop.rounds import start_round
from annotate.models import (
    Job,
    JobStatus,
    PRMVersion,
    QueueItem,
    Solution,
    SolutionScore,
    StepRating,
    StepScore,
    Way,
    Worker,
)
from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.types import LabelledSolution, Outcome
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    ProblemFactory,
    QueueFactory,
    QueueItemFactory,
    ServingPRMFactory,
    SolutionFactory,
)
from tests.loop.labelling import labelled, labels_of_one
from tests.student_server import student
from tests.tiny import tiny_model_dir
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
StartWorker = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The start of a MODEL: `#student` or `#slow` is missing."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with student() as url:
        yield f"openai:{url}"


@pytest.fixture
def base(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    """A tiny PRM_BASE for this process and its workers."""
    settings.PRM_BASE = str(tiny_model_dir(tmp_path / "base", hidden=64))
    monkeypatch.setenv("PRM_BASE", settings.PRM_BASE)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return settings.PRM_BASE


def kill_while(worker: subprocess.Popen[bytes], kind: str, settings: Settings, *, begun: int = 1) -> Job:
    """kill -9 the worker once it is at a job of this kind; then the reaper does what it does after a silence.

    `begun=1` waits for the verb's first sign of progress: the model is loaded, nothing is written.
    """
    at_it = Job.objects.filter(kind=kind, status=JobStatus.RUNNING, total__gte=begun)
    eventually(at_it.exists, f"{kind} is under way")
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    job = Job.objects.get(kind=kind, status=JobStatus.RUNNING)
    settings.JOB_SILENCE_SECONDS = 0
    assert jobs.reap() == 1
    settings.JOB_SILENCE_SECONDS = 120
    return job


def ended_well(job: Job) -> bool:
    job.refresh_from_db()
    return job.status == JobStatus.DONE


def test_generate_killed_in_the_middle_samples_every_place_once_and_the_worker_shows_all_the_while(
    model: str, start_worker: StartWorker, settings: Settings
) -> None:
    ProblemFactory.create_batch(3)
    where = start_round(problems=3, samples_per_problem=4, generator=f"{model}#slow")
    first = start_worker("model")
    eventually(lambda: Worker.objects.alive().exists(), "the worker shows")
    job = kill_while(first, "generate", settings, begun=0)
    assert not Solution.objects.exists()
    killed = Worker.objects.get()
    second = start_worker("model")
    others = Worker.objects.exclude(pk=killed.pk)
    eventually(lambda: Job.objects.filter(pk=job.pk, status=JobStatus.RUNNING).exists(), "it starts again")
    eventually(others.exists, "the second worker shows")
    row = others.get()
    seen_at = row.seen_at
    eventually(lambda: Worker.objects.get(pk=row.pk).seen_at > seen_at, "a sign of life during the long call")
    eventually(lambda: ended_well(job), "generate ends")
    assert job.attempts == 2
    counts = where.solutions.values("problem").annotate(n=Count("pk")).values_list("n", flat=True)
    assert list(counts) == [4, 4, 4]
    assert second.poll() is None


def test_a_proposal_killed_in_the_middle_is_asked_again_and_written_once(
    model: str, start_worker: StartWorker, settings: Settings
) -> None:
    ProblemFactory.create(text="1 + 2")
    put_problems(queue=QueueFactory.create(way=Way.STEP_BY_STEP, options=2), problems=1)
    claim(person=AnnotatorFactory.create())
    job = kill_while(start_worker("model", MODEL=f"{model}#slow"), "propose", settings)
    assert not StepRating.objects.exists()
    start_worker("model", MODEL=f"{model}#slow")
    eventually(lambda: ended_well(job), "the proposal ends")
    assert job.attempts == 2
    assert list(StepRating.objects.order_by("option").values_list("option", flat=True)) == [0, 1]


def test_a_worker_told_to_stop_gives_its_work_back_at_once(model: str, start_worker: StartWorker) -> None:
    ProblemFactory()
    start_round(generator=f"{model}#slow")
    worker = start_worker("model")
    eventually(Job.objects.filter(status=JobStatus.RUNNING).exists, "generate is under way")
    worker.terminate()
    eventually(Job.objects.filter(status=JobStatus.QUEUED, attempts=0).exists, "the job is given back", 30)
    assert worker.wait(60) == 0
    assert not Solution.objects.exists()
    start_worker("model")
    eventually(Solution.objects.exists, "another worker does it")


def test_score_killed_in_the_middle_scores_every_step_once(
    base: str, start_worker: StartWorker, settings: Settings
) -> None:
    prm = serving_prm(base)
    solutions = GradedSolutionFactory.create_batch(20)
    waiting.call("score")
    job = kill_while(start_worker("model"), "score", settings, begun=0)
    assert not StepScore.objects.exists()
    start_worker("model")
    eventually(lambda: ended_well(job), "score ends")
    assert job.attempts == 2
    assert SolutionScore.objects.filter(prm=prm, unscorable="").count() == len(solutions)
    assert StepScore.objects.count() == 2 * len(solutions)


def test_retrain_killed_in_the_middle_trains_one_version_later(
    base: str, start_worker: StartWorker, settings: Settings
) -> None:
    person = AnnotatorFactory()
    for _ in range(20):
        QueueItemFactory(prm=PRMVersion.objects.serving() or serving_prm(base))
        labelled(person, -1)
    request_retrain()
    start_worker("quick")
    job = kill_while(start_worker("model"), "retrain", settings)
    assert PRMVersion.objects.count() == 1
    start_worker("model")
    eventually(lambda: ended_well(job), "retrain ends")
    assert job.attempts == 2
    version = PRMVersion.objects.get(outcome_only=False)
    assert (version.n_labels, version.snapshot is None) == (20, False)
    assert (checkpoints.fetch(version.checkpoint) / "meta.json").exists()
    assert not list((settings.VAR_DIR / "tmp").glob("training-*/*/meta.json"))


def test_grade_killed_in_the_middle_grades_every_solution_once(
    start_worker: StartWorker, settings: Settings
) -> None:
    # Formulas, which a grader process has to be started for: plain numbers are compared before anybody could kill.
    problem = ProblemFactory(answer=r"\frac{x+1}{2}")
    text = "It is.\n# Answer\n\n"
    right = SolutionFactory.create_batch(3, problem=problem, text=rf"{text}\frac{{1+x}}{{2}}")
    wrong = SolutionFactory.create_batch(3, problem=problem, text=rf"{text}\frac{{x}}{{2}}")
    waiting.call("grade")
    job = kill_while(start_worker("quick"), "grade", settings)
    start_worker("quick")
    eventually(lambda: ended_well(job), "grade ends")
    outcomes = Counter(Solution.objects.values_list("outcome", flat=True))
    assert outcomes == {Outcome.CORRECT: len(right), Outcome.WRONG: len(wrong)}


def test_a_model_that_is_not_there_fails_with_the_reason_and_the_sweep_lets_it_rest(
    start_worker: StartWorker,
) -> None:
    ProblemFactory()
    start_round(generator="/no/such/model")
    start_worker("model")
    eventually(Job.objects.filter(status=JobStatus.FAILED).exists, "it fails")
    job = Job.objects.get()
    assert "/no/such/model" in job.message
    waiting.sweep()
    assert Job.objects.count() == 1
    jobs.retry(job)
    eventually(lambda: Job.objects.filter(status=JobStatus.FAILED).count() == 2, "it fails again")


def test_the_sweep_finds_work_that_nobody_called_for(start_worker: StartWorker) -> None:
    solution = SolutionFactory(problem=ProblemFactory(answer="5"), text="Five.\n# Answer\n\n5")
    start_worker("quick")
    tasks.sweep.delay()
    eventually(lambda: Solution.objects.get(pk=solution.pk).outcome == Outcome.CORRECT, "it is graded")


def test_the_sweep_frees_leases_that_ran_out(transactional_db: None, broker: str) -> None:
    person = AnnotatorFactory()
    ended = QueueItemFactory(leased_by=person, lease_expires_at=timezone.now() - timedelta(seconds=1))
    runs = QueueItemFactory(
        leased_by=AnnotatorFactory(), lease_expires_at=timezone.now() + timedelta(hours=1)
    )
    tasks.sweep()
    assert list(QueueItem.objects.leased()) == [runs]
    assert ended in QueueItem.objects.free()


def test_a_cancelled_retrain_stops_and_leaves_the_serving_version(
    base: str, start_worker: StartWorker, settings: Settings
) -> None:
    prm = serving_prm(base)
    person = AnnotatorFactory()
    QueueItemFactory(prm=prm)
    labelled(person, -1)
    request_retrain()
    start_worker("quick")
    start_worker("model")
    running = Job.objects.filter(kind="retrain", status=JobStatus.RUNNING)
    eventually(running.exists, "retrain is under way")
    jobs.cancel(running.get())
    eventually(Job.objects.filter(kind="retrain", status=JobStatus.CANCELLED).exists, "it stops")
    waiting.sweep()
    assert not Job.objects.active().filter(kind__in=("snapshot", "retrain")).exists()
    assert list(PRMVersion.objects.all()) == [prm]


def serving_prm(base: str) -> PRMVersion:
    """A serving version with a real checkpoint in storage, as small as its base."""
    labelled = LabelledSolution(problem="1 + 1?", steps=("It is 2.",), ratings=(1,), outcome_only=True)
    version: PRMVersion = ServingPRMFactory(base=base)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "checkpoint"
        runtime.train(
            base,
            [labelled],
            (),
            config=PRMConfig(),
            checkpoint_dir=folder,
            snapshot_hash="outcomes",
            outcome_only=True,
        )
        checkpoints.keep(folder, version.checkpoint)
    return version


def test_agreement_is_measured_by_a_worker(start_worker: StartWorker) -> None:
    labels_of_one((1, -1), (1, 1, -1))
    start_worker("quick")
    job = jobs.enqueue_job("agreement")
    eventually(lambda: Job.objects.get(pk=job.pk).status == JobStatus.DONE, "the agreement is measured")
    assert Job.objects.get(pk=job.pk).result["labels"] == 2
