"""One thin task a stage, in loop order: claim the job, read what waits, one verb; then call the next stage.

A message carries a job's id and nothing else. A job that is gone, done or another worker's is left alone.
Batches are bounded, so that progress shows, stages take turns in one worker and items reach people early.
"""

from __future__ import annotations

from pathlib import Path

from celery import shared_task
from django.conf import settings

from annotate.loop import agreement as agreement_stage
from annotate.loop import benchmark as benchmark_stage
from annotate.loop import bootstrap as bootstrap_stage
from annotate.loop import enqueue as enqueue_stage
from annotate.loop import generate as generate_stage
from annotate.loop import grade as grade_stage
from annotate.loop import (
    presence,  # noqa: F401  connects the worker's sign of life
    uploads,
    waiting,
)
from annotate.loop import promote as promote_stage
from annotate.loop import proposals as propose_stage
from annotate.loop import retrain as retrain_stage
from annotate.loop import score as score_stage
from annotate.loop import snapshot as snapshot_stage
from annotate.loop.checkpoints import fetch
from annotate.loop.jobs import Work, working
from annotate.loop.take import free_expired
from annotate.models import Measurement, PRMVersion, RoundProblem, Snapshot, Solution
from prm_backend import runtime
from prm_backend.types import ProgressCallback, StepScorer

GENERATE_BATCH = 8  # problems, each with all its samples
GRADE_BATCH = 200  # solutions
SCORE_BATCH = 64  # solutions
ENQUEUE_BATCH = 100  # problems


@shared_task
def import_problems(job_id: int) -> None:
    with working(job_id) as work:
        if work:
            work.result = uploads.import_upload(payload=work.job.payload, progress=work.progress)
    uploads.forget_files()


@shared_task
def generate(job_id: int) -> None:
    with working(job_id) as work:
        places = list(
            RoundProblem.objects.short_of_solutions().select_related("round", "problem")[:GENERATE_BATCH]
        )
        if work and places:
            ours = [place for place in places if place.round_id == places[0].round_id]
            generator = runtime.generator(ours[0].round.generator)
            generate_stage.generate(places=ours, generator=generator, progress=_between(work))
    waiting.call("grade", "generate")


@shared_task
def grade(job_id: int) -> None:
    with working(job_id) as work:
        if work:
            solutions = Solution.objects.ungraded().order_by("pk").select_related("problem")[:GRADE_BATCH]
            grade_stage.grade(
                solutions=list(solutions),
                graders=runtime.graders(settings.GRADING_POLICY),
                judge=runtime.judge(settings.JUDGE) if settings.JUDGE and grade_stage.asks_judge() else None,
                progress=work.progress,
            )
    waiting.call("grade", "bootstrap", "score", "generate")


@shared_task
def bootstrap(job_id: int) -> None:
    with working(job_id) as work:
        if work and bootstrap_stage.bootstrap_state().due:
            version = bootstrap_stage.bootstrap(trainer=runtime.train, progress=_between(work))
            work.message = f"{version} is trained"
    waiting.call("promote")


@shared_task
def score(job_id: int) -> None:
    with working(job_id) as work:
        prm = PRMVersion.objects.serving()
        if work and prm:
            solutions = Solution.objects.unscored_by(prm).order_by("pk").select_related("problem")
            score_stage.score(
                solutions=list(solutions.prefetch_related("steps")[:SCORE_BATCH]),
                prm=prm,
                scorer=_scorer(prm),
                progress=_between(work),
            )
    waiting.call("score", "enqueue", "benchmark")


@shared_task
def enqueue(job_id: int) -> None:
    with working(job_id) as work:
        prm = PRMVersion.objects.serving()
        if work and prm:
            places = RoundProblem.objects.ready_to_choose(prm).order_by("pk").select_related("round")
            enqueue_stage.enqueue(places=list(places[:ENQUEUE_BATCH]), prm=prm, progress=work.progress)
            # All ranks shift when one item comes in: in full at the end of a round and for a new PRM, not every time.
            going_on = RoundProblem.objects.unchosen().exists()
            queues = enqueue_stage.out_of_order(prm) if going_on else enqueue_stage.wholly_scored(prm)
            for queue in queues:
                enqueue_stage.reorder(queue=queue, prm=prm)
    waiting.call("enqueue")


@shared_task
def agreement(job_id: int) -> None:
    with working(job_id) as work:
        if work:
            work.result = agreement_stage.measure()


@shared_task
def snapshot(job_id: int) -> None:
    with working(job_id) as work:
        if work:
            taken = snapshot_stage.snapshot()
            work.message = retrain_stage.request_training(snapshot=taken, by=work.job.requested_by)


@shared_task
def retrain(job_id: int) -> None:
    with working(job_id) as work:
        if work:
            prm = PRMVersion.objects.serving()
            candidate = retrain_stage.retrain(
                snapshot=Snapshot.objects.get(pk=work.job.payload["snapshot"]),
                trainer=runtime.train,
                serving=(prm, _scorer(prm)) if prm else None,
                progress=_between(work),
            )
            work.message = f"{candidate} is trained" if candidate else "nothing new since the last training"
    waiting.call("promote")


@shared_task
def promote(job_id: int) -> None:
    with working(job_id) as work:
        if work:
            for candidate in PRMVersion.objects.candidates().filter(decision="").order_by("number"):
                decided = promote_stage.decide(candidate=candidate)
                work.message = f"{decided} is {decided.get_status_display()}: {decided.decision}"
    waiting.call("score", "enqueue", "generate", "benchmark")


@shared_task
def benchmark(job_id: int) -> None:
    with working(job_id) as work:
        measurement = Measurement.objects.waiting().select_related("benchmark", "version").first()
        if work and measurement:
            benchmark_stage.measure(
                measurement=measurement,
                load=lambda: _scorer(measurement.version),
                progress=_between(work),
            )
    waiting.call("benchmark")


@shared_task
def propose(job_id: int) -> None:
    """A person waits for this one; where the worker is at longer work, that does it between two of its steps."""
    propose_stage.serve(job_id, runtime.generator)


@shared_task(expires=30)  # the next one is on its way by then
def sweep() -> None:
    waiting.sweep()
    free_expired()
    uploads.forget_files()


@shared_task
def retrain_if_due() -> None:
    """By schedule: on whatever labels there are. Where nothing is new, the snapshot stage finds that out."""
    retrain_stage.request_retrain()


def _between(work: Work) -> ProgressCallback:
    return propose_stage.people_first(work.progress, runtime.generator)


def _scorer(prm: PRMVersion) -> StepScorer:
    """The version's model. Its base may lie elsewhere on this host than where it was trained."""
    moved = Path(prm.base).is_absolute() and not Path(prm.base).is_dir()
    return runtime.prm(fetch(prm.checkpoint), base=settings.PRM_BASE if moved else None)
