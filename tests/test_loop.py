"""The story of the loop, from problems to a promoted PRM that chooses the next round.

Everything in it is real: PostgreSQL, Valkey, worker processes, an OpenAI-compatible server that solves the problems,
a (tiny) language model under the PRM. People are verbs, as the pages call them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from annotate.loop.label import claim, rate, submit
from annotate.loop.problems import import_problems
from annotate.loop.progress import loop_counts, workers_state
from annotate.loop.retrain import request_retrain
from annotate.loop.rounds import start_round
from annotate.models import (
    Job,
    JobStatus,
    Person,
    PRMStatus,
    PRMVersion,
    Problem,
    Queue,
    QueueItem,
    Round,
    Solution,
)
from prm_backend.config import SelectionConfig
from prm_backend.text.problems import ProblemRow
from prm_backend.types import Arm, Outcome
from tests.factories import AnnotatorFactory
from tests.student_server import student
from tests.tiny import tiny_model_dir
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PROBLEMS, SAMPLES = 16, 8
LABELLED = 112  # of the 128 items: some stay open


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with student() as url:
        yield f"openai:{url}#student"


@pytest.fixture
def workers(
    start_worker: Callable[..., subprocess.Popen[bytes]], tmp_path: Path, settings: Settings
) -> Callable[[], list[subprocess.Popen[bytes]]]:
    """Starts the two workers of the product, as `make run` has them."""
    settings.PRM_BASE = str(tiny_model_dir(tmp_path / "base", hidden=64))

    def start() -> list[subprocess.Popen[bytes]]:
        here = {"PRM_BASE": settings.PRM_BASE, "BOOTSTRAP_SOLUTIONS": "16", "OMP_NUM_THREADS": "1"}
        return [start_worker("quick", **here), start_worker("model", **here)]

    return start


def test_from_problems_to_a_promoted_prm_that_chooses_the_next_round(
    model: str, workers: Callable[[], list[subprocess.Popen[bytes]]]
) -> None:
    # import
    rows = [
        ProblemRow(line=i, problem=f"What is {i} + {i + 3}?", answer=str(2 * i + 3)) for i in range(PROBLEMS)
    ]
    assert import_problems(rows=rows).added == PROBLEMS
    # more are held out than the usual tenth, so that the criterion has labels to judge by
    for problem in Problem.objects.all():
        Problem.objects.filter(pk=problem.pk).update(held_out=problem.pk % 16 < 9)

    # round 1: generate, grade, bootstrap, score, enqueue, all by the workers
    everything = SelectionConfig(quota=SAMPLES)
    first = start_round(problems=PROBLEMS, samples_per_problem=SAMPLES, selection=everything, generator=model)
    workers()
    eventually(lambda: all(state.alive for state in workers_state()), "both workers show")
    eventually(lambda: not Round.objects.running().exists(), "round 1 is chosen from")
    assert Solution.objects.filter(round=first).count() == PROBLEMS * SAMPLES
    assert set(Solution.objects.values_list("outcome", flat=True)) == {Outcome.CORRECT, Outcome.WRONG}
    v0 = PRMVersion.objects.get()
    assert (v0.number, v0.status, v0.outcome_only) == (0, PRMStatus.PROMOTED, True)
    assert QueueItem.objects.count() == PROBLEMS * SAMPLES
    assert not QueueItem.objects.exclude(prm=v0).exists()
    assert set(QueueItem.objects.values_list("arm", flat=True)) >= {Arm.CONVINCING_WRONG, Arm.CONTROL}

    # label
    annotator = AnnotatorFactory()
    assert len({label_one(annotator) for _ in range(LABELLED)}) == LABELLED
    assert (loop_counts().label, loop_counts().untrained) == (PROBLEMS * SAMPLES - LABELLED, LABELLED)

    # snapshot, retrain, promote: by the criterion, on held-out labels
    request_retrain()
    eventually(
        lambda: PRMVersion.objects.filter(number=1).exclude(decision="").exists(), "version 1 is decided on"
    )
    v1 = PRMVersion.objects.get(number=1)
    assert v1.snapshot is not None
    assert v1.snapshot.n_labels == LABELLED
    assert 0 < v1.n_labels < LABELLED
    assert v1.report["serving"]["number"] == 0
    assert (v1.status, v1.outcome_only) == (PRMStatus.PROMOTED, False), v1.decision
    assert "better by held-out" in v1.decision
    v0.refresh_from_db()
    assert v0.status == PRMStatus.RETIRED

    # the same workers take the new PRM: what is open is scored again and reordered, nothing is pulled
    eventually(
        lambda: not Queue.objects.exclude(ordered_by=v1).exists(), "the queue stands in version 1's order"
    )
    open_items = QueueItem.objects.open()
    assert open_items.filter(solution__scores__prm=v1).count() == open_items.count() == 128 - LABELLED
    assert not Solution.objects.unscored_by(v1).exists()

    # the next round is chosen by it, and nothing that was labelled comes again
    second = start_round(problems=PROBLEMS, samples_per_problem=SAMPLES, generator=model)
    eventually(lambda: not Round.objects.running().exists(), "round 2 is chosen from")
    chosen = QueueItem.objects.filter(solution__round=second)
    assert chosen.count() == PROBLEMS * SelectionConfig().quota
    assert set(chosen.values_list("prm__number", flat=True)) == {1}
    eventually(lambda: not Job.objects.exclude(status=JobStatus.DONE).exists(), "every job ends well")

    # nothing new is trained twice
    request_retrain()
    eventually(lambda: not Job.objects.active().exists(), "the second retrain is refused")
    assert Job.objects.filter(kind="snapshot").latest("pk").message.startswith("nothing new: v1")
    assert PRMVersion.objects.count() == 2


def label_one(person: Person) -> int:
    """A careful person: rates up to the first wrong step, and submits."""
    work = claim(person=person)
    assert work is not None
    item = QueueItem.objects.select_related("solution__problem").get(pk=work.item)
    right = item.solution.outcome == Outcome.CORRECT
    rate(person=person, item=work.item, step_index=0, rating=1)
    rate(person=person, item=work.item, step_index=1, rating=1 if right else -1)
    submit(person=person, item=work.item)
    return item.pk
