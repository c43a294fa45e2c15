"""Jobs are claimed once, end with a word why, and are taken back from the dead; on a real broker and database."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from annotate.celery import app
from annotate.errors import PlumblineError
from annotate.loop import jobs
from annotate.models import Job, JobStatus
from prm_backend.types import Cancelled, Progress
from tests.waiting import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _on_a_real_broker(broker: str) -> None:
    pass


def messages(queue: str = "quick") -> int:
    """How many messages wait in the broker's queue."""
    with app.connection_for_read() as here:
        return here.default_channel.client.llen(queue)


def failing(error: Exception) -> Job:
    job = jobs.enqueue_job("grade")
    with jobs.working(job.pk):
        raise error
    job.refresh_from_db()
    return job


def test_asking_twice_makes_one_job_and_one_message() -> None:
    assert jobs.enqueue_job("grade") == jobs.enqueue_job("grade")
    assert Job.objects.count() == 1
    assert messages() == 1


def test_many_who_ask_at_once_get_the_same_job() -> None:
    found = at_once(lambda: jobs.enqueue_job("retrain").pk, times=8)
    assert len(set(found)) == 1


def test_a_message_that_comes_twice_is_worked_on_once() -> None:
    job = jobs.enqueue_job("grade")
    with jobs.working(job.pk) as first, jobs.working(job.pk) as second:
        assert first is not None
        assert second is None
    with jobs.working(job.pk) as late:
        assert late is None


def test_a_job_that_is_gone_is_no_error() -> None:
    with jobs.working(12345) as work:
        assert work is None


def test_progress_shows_on_the_row_and_the_last_word_stays() -> None:
    job = jobs.enqueue_job("grade")
    with jobs.working(job.pk) as work:
        assert work is not None
        work.progress(Progress(3, 10, "comparing"))
        job.refresh_from_db()
        assert (job.done, job.total, job.message, job.status) == (3, 10, "comparing", JobStatus.RUNNING)
        work.progress(Progress(10, 10, "10 solutions graded"))
    job.refresh_from_db()
    assert (job.status, job.message, job.done) == (JobStatus.DONE, "10 solutions graded", 10)


def test_an_error_ends_on_the_row_with_its_reason_and_holds_the_stage() -> None:
    job = failing(RuntimeError("no weights"))
    assert (job.status, job.message) == (JobStatus.FAILED, "RuntimeError: no weights")
    until = jobs.held_until("grade")
    assert until is not None
    assert timedelta(0) < until - timezone.now() <= timedelta(minutes=1)
    failing(RuntimeError("no weights"))
    longer = jobs.held_until("grade")
    assert longer is not None
    assert longer - timezone.now() > timedelta(minutes=3)
    assert jobs.held_until("score") is None


def test_a_manager_retries_at_once_what_failed_and_nothing_else() -> None:
    job = failing(RuntimeError("no weights"))
    again = jobs.retry(job)
    assert again.status == JobStatus.QUEUED
    with jobs.working(again.pk):
        pass
    assert jobs.held_until("grade") is None
    again.refresh_from_db()
    with pytest.raises(PlumblineError, match="did not fail"):
        jobs.retry(again)


def test_a_transient_error_is_tried_again_and_not_for_ever() -> None:
    job = jobs.enqueue_job("grade")
    for attempt in range(1, jobs.MAX_ATTEMPTS + 1):
        job.refresh_from_db()
        assert (job.status, job.attempts) == (JobStatus.QUEUED, attempt - 1)
        with jobs.working(job.pk):
            raise ConnectionError("the model server is away")
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    assert job.message == "tried 3 times: ConnectionError: the model server is away"


def test_a_queued_job_is_cancelled_at_once_and_a_running_one_at_its_next_sign() -> None:
    queued = jobs.enqueue_job("grade")
    jobs.cancel(queued)
    queued.refresh_from_db()
    assert queued.status == JobStatus.CANCELLED
    running = jobs.enqueue_job("retrain")
    with jobs.working(running.pk) as work:
        assert work is not None
        jobs.cancel(running)
        work.progress(Progress(1, 2))
        pytest.fail("it went on")
    running.refresh_from_db()
    assert (running.status, running.message) == (JobStatus.CANCELLED, "cancelled on request")


def test_a_cancelled_stage_waits_until_somebody_asks_again() -> None:
    jobs.cancel(jobs.enqueue_job("grade"))
    assert jobs.held_until("grade") is not None
    with jobs.working(jobs.enqueue_job("grade").pk):
        pass
    assert jobs.held_until("grade") is None


def test_the_heart_beats_while_the_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.05)
    job = jobs.enqueue_job("grade")
    with jobs.working(job.pk):
        before = Job.objects.get(pk=job.pk).heartbeat_at
        eventually(lambda: Job.objects.get(pk=job.pk).heartbeat_at > before)


def test_a_silent_workers_job_starts_again_and_the_silent_worker_can_write_nothing(
    settings: Settings,
) -> None:
    settings.JOB_SILENCE_SECONDS = 0
    job = jobs.enqueue_job("grade")
    with jobs.working(job.pk) as slow:
        assert slow is not None
        assert jobs.reap() == 1
        with jobs.working(job.pk) as quick:
            assert quick is not None
            with pytest.raises(jobs.LostJob):
                slow.progress(Progress(1, 2))
    job.refresh_from_db()
    assert (job.status, job.attempts) == (JobStatus.DONE, 2)
    assert messages() == 2


def test_a_worker_that_starts_again_takes_back_what_its_dead_self_held() -> None:
    job = jobs.enqueue_job("grade")
    assert jobs.claim_job(job.pk) is not None
    Job.objects.filter(pk=job.pk).update(worker="quick@here")
    assert jobs.reap(worker="quick@there") == 0
    assert jobs.reap(worker="quick@here") == 1
    job.refresh_from_db()
    assert (job.status, job.token, job.attempts) == (JobStatus.QUEUED, None, 1)


def test_a_job_that_kills_its_workers_fails_instead_of_killing_for_ever(settings: Settings) -> None:
    settings.JOB_SILENCE_SECONDS = 0
    job = jobs.enqueue_job("grade")
    for _ in range(jobs.MAX_ATTEMPTS):
        assert jobs.claim_job(job.pk) is not None
        assert jobs.reap() == 1
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    assert "died 3 times" in job.message


def test_a_dead_workers_cancelled_job_does_not_start_again(settings: Settings) -> None:
    settings.JOB_SILENCE_SECONDS = 0
    job = jobs.enqueue_job("grade")
    jobs.claim_job(job.pk)
    jobs.cancel(job)
    jobs.reap()
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED


def test_an_orderly_stop_gives_the_job_back_and_counts_as_no_attempt() -> None:
    job = jobs.enqueue_job("grade")
    with jobs.working(job.pk) as work:
        assert work is not None
        Job.objects.filter(pk=job.pk).update(worker="quick@here")
        assert jobs.give_back("model@here") == 0
        assert jobs.give_back("quick@here") == 1
        with pytest.raises(jobs.LostJob):
            work.progress(Progress(1, 2))
    job.refresh_from_db()
    assert (job.status, job.attempts) == (JobStatus.QUEUED, 0)
    assert messages() == 2


def test_a_lost_message_is_sent_again() -> None:
    job = jobs.enqueue_job("grade")
    assert jobs.send_again() == 0
    Job.objects.filter(pk=job.pk).update(sent_at=timezone.now() - timedelta(hours=1))
    assert jobs.send_again() == 1
    assert messages() == 2
    assert jobs.send_again() == 0


def test_old_jobs_that_ended_well_are_forgotten_but_never_the_newest_of_a_kind() -> None:
    jobs.cancel(jobs.enqueue_job("grade"))
    for _ in range(3):
        with jobs.working(jobs.enqueue_job("grade").pk):
            pass
    Job.objects.update(finished_at=timezone.now() - timedelta(days=2))
    jobs.forget_done("grade")
    assert [job.status for job in Job.objects.all()] == [JobStatus.DONE, JobStatus.CANCELLED]
    assert jobs.held_until("grade") is None


def test_cancelled_is_no_failure_even_when_the_engine_raises_it() -> None:
    job = failing(Cancelled())
    assert (job.status, job.message) == (JobStatus.CANCELLED, "cancelled")


def eventually(holds: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_broker_that_is_away_fails_no_page_and_the_message_goes_out_later(
    monkeypatch: pytest.MonkeyPatch, broker: str
) -> None:
    with monkeypatch.context() as away:
        away.setattr(app.amqp, "_producer_pool", None)
        away.setattr(app.conf, "broker_write_url", "redis+socket:///nowhere/valkey.sock")
        away.setattr(app, "_pool", None)
        job = jobs.enqueue_job("grade")
    assert messages() == 0
    Job.objects.filter(pk=job.pk).update(sent_at=timezone.now() - timedelta(hours=1))
    jobs.send_again()
    assert messages() == 1
