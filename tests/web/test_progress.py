"""The progress page: it shows the loop's own counts, tells what fails, and its buttons call the verbs."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.loop.promote import promote
from annotate.models import Job, JobStatus, Label, Person, PRMStatus, PRMVersion, Queue, Round, Worker
from tests.factories import (
    AnnotatorFactory,
    GradedSolutionFactory,
    PRMVersionFactory,
    ProblemFactory,
    QueueItemFactory,
    RoundProblemFactory,
    ServingPRMFactory,
    SnapshotFactory,
    SolutionFactory,
)

HTMX = {"HX-Request": "true"}


def _html(client: Client, path: str = "/progress/", **headers: str) -> str:
    html = client.get(path, headers=headers).content.decode()
    return re.sub(r">\s+<", "><", html)


def _stages(html: str) -> list[tuple[str, str]]:
    return re.findall(r'<li class="stage[^"]*"><b>([^<]*)</b><small>([^<]*)</small>', html)


def _label(annotator: Person, milliseconds: int, **more: object) -> Label:
    item = QueueItemFactory.create(done_at=timezone.now())
    fields = {"submitted_at": timezone.now(), "finish_reason": "found_error", "question": {}} | more
    return Label.objects.create(
        problem=item.solution.problem,
        solution=item.solution,
        annotator=annotator,
        queue_item=item,
        total_time=milliseconds,
        **fields,
    )


def _a_bit_of_everything() -> None:
    prm = PRMVersion.objects.serving() or ServingPRMFactory.create()
    QueueItemFactory.create(prm=prm)
    SolutionFactory.create()
    RoundProblemFactory.create()
    PRMVersionFactory.create()
    Job.objects.create(
        kind="import_problems", key=str(Job.objects.count()), status="running", total=9, done=3
    )
    Job.objects.create(kind="retrain", key=str(Job.objects.count()), status="failed", message="no memory")
    _label(AnnotatorFactory.create(), 60_000)


def test_the_eight_stages_show_what_waits(as_manager: Client) -> None:
    ServingPRMFactory.create(number=4)
    RoundProblemFactory.create_batch(3)
    SolutionFactory.create_batch(2)
    QueueItemFactory.create()
    assert _stages(_html(as_manager)) == [
        ("3", "to generate"),
        ("2", "to grade"),
        ("1", "to score"),
        ("0", "to choose"),
        ("1", "to label"),
        ("0", "new labels"),
        ("–", "retrain 02:00"),
        ("v4", "serving"),
    ]


def test_the_page_asks_the_same_number_of_queries_whatever_the_rows(as_manager: Client) -> None:
    _a_bit_of_everything()
    as_manager.get("/progress/")
    with CaptureQueriesContext(
        connection,
    ) as few:
        as_manager.get("/progress/", headers=HTMX)
    for _ in range(6):
        _a_bit_of_everything()
    with CaptureQueriesContext(connection) as many:
        as_manager.get("/progress/", headers=HTMX)
    assert len(many) == len(few) <= 18


def test_htmx_gets_the_fragment_the_page_itself_includes(as_manager: Client) -> None:
    _a_bit_of_everything()
    page, fragment = _html(as_manager), _html(as_manager, **HTMX)
    assert "<html" not in fragment
    strip = re.compile(r'csrfmiddlewaretoken" value="\w+"')
    assert strip.sub("", fragment).strip() in strip.sub("", page)


def test_an_unchanged_page_is_not_sent_again(as_manager: Client) -> None:
    ServingPRMFactory.create()
    again = re.search(r'hx-get="([^"]+)"', _html(as_manager))
    assert again
    assert as_manager.get(again[1], headers=HTMX).status_code == 204
    RoundProblemFactory.create()
    changed = as_manager.get(again[1], headers=HTMX)
    assert changed.status_code == 200
    assert "to generate" in changed.content.decode()


def test_version_0_says_that_it_knows_no_human_labels_wherever_it_is_shown(as_manager: Client) -> None:
    ServingPRMFactory.create(number=0)
    assert _html(as_manager).count("no human labels") == 2  # in the heading and in the table
    for path in ("/versions/", "/versions/0/"):
        assert "no human labels" in _html(as_manager, path)


def test_a_silent_worker_is_told_and_since_when(as_manager: Client) -> None:
    long_ago = timezone.now() - timedelta(hours=3)
    Worker.objects.create(name="a", queues="model", started_at=long_ago, seen_at=long_ago)
    Worker.objects.create(name="b", queues="quick", started_at=long_ago, seen_at=timezone.now())
    html = _html(as_manager)
    assert f'No model worker since <time datetime="{long_ago.isoformat(timespec="seconds")[:13]}' in html
    assert "No quick worker" not in html


def test_a_job_shows_how_far_it_is_and_the_time_left(as_manager: Client) -> None:
    Job.objects.create(
        kind="retrain",
        status=JobStatus.RUNNING,
        done=30,
        total=120,
        message="epoch 1 of 2",
        started_at=timezone.now() - timedelta(seconds=60),
    )
    html = _html(as_manager)
    assert "25 %, 3 min left" in html
    assert "30 of 120 · epoch 1 of 2" in html
    assert ("25 %", "training") in _stages(html)


def test_a_failure_shows_its_reason_until_it_is_tried_again(as_manager: Client) -> None:
    job = Job.objects.create(kind="score", status=JobStatus.FAILED, message="RuntimeError: <b>no</b> memory")
    html = _html(as_manager)
    assert "RuntimeError: &lt;b&gt;no&lt;/b&gt; memory" in html
    as_manager.post(f"/jobs/{job.pk}/retry/")
    assert Job.objects.active().filter(kind="score").count() == 1
    assert "no&lt;/b&gt; memory" not in _html(as_manager)


def test_a_running_job_is_asked_to_stop(as_manager: Client) -> None:
    job = Job.objects.create(kind="retrain", status=JobStatus.RUNNING)
    as_manager.post(f"/jobs/{job.pk}/cancel/")
    job.refresh_from_db()
    assert job.cancel_requested
    assert "stopping" in _html(as_manager)


def test_a_stage_that_was_stopped_says_so_until_somebody_lets_it_go_on(as_manager: Client) -> None:
    job = Job.objects.create(kind="score", status=JobStatus.CANCELLED, message="cancelled by mara")
    Job.objects.create(kind="import_problems", status=JobStatus.CANCELLED)  # wanted once, and wanted no more
    html = _html(as_manager)
    assert "cancelled by mara; nothing of this kind runs until somebody lets it go on." in html
    assert html.count("stopped</span>") == 1
    as_manager.post(f"/jobs/{job.pk}/retry/")
    assert Job.objects.active().get().kind == "score"
    assert "stopped</span>" not in _html(as_manager)


def test_a_round_starts_with_the_numbers_of_the_form(as_manager: Client, manager: Person) -> None:
    ProblemFactory.create_batch(3)
    as_manager.post("/progress/round/", {"problems": 2, "samples_per_problem": 5, "quota": 4})
    new = Round.objects.get()
    assert (new.places.count(), new.samples_per_problem, new.quota, new.started_by) == (2, 5, 4, manager)
    assert Job.objects.active().get().kind == "generate"


@pytest.mark.parametrize("bad", ["0", "-3", "many", "", "99999999999999999999"])
def test_a_number_that_makes_no_sense_is_refused_by_name(bad: str, as_manager: Client) -> None:
    ProblemFactory.create()
    response = as_manager.post("/progress/round/", {"problems": bad, "samples_per_problem": 5, "quota": 4})
    assert not Round.objects.exists()
    assert str(next(iter(get_messages(response.wsgi_request)))).startswith("Problems: ")


def test_a_second_round_is_refused_with_the_reason_unless_insisted_on(as_manager: Client) -> None:
    ProblemFactory.create_batch(3)
    form = {"problems": 2, "samples_per_problem": 5, "quota": 4}
    as_manager.post("/progress/round/", form)
    refused = as_manager.post("/progress/round/", form, follow=True).content.decode()
    assert "Round 1 still runs" in refused
    as_manager.post("/progress/round/", form | {"anyway": "on"})
    assert Round.objects.count() == 2


def test_two_clicks_on_retrain_ask_once(as_manager: Client) -> None:
    as_manager.post("/progress/retrain/")
    as_manager.post("/progress/retrain/")
    assert Job.objects.filter(kind="snapshot").count() == 1


def test_a_message_reaches_the_page_by_either_way(as_manager: Client) -> None:
    assert "Retraining is asked for" in as_manager.post("/progress/retrain/", follow=True).content.decode()
    as_manager.post("/progress/retrain/")
    fragment = _html(as_manager, **HTMX)
    assert 'id="messages"' in fragment
    assert "hx-swap-oob" in fragment
    assert 'id="messages"' not in _html(as_manager, **HTMX)  # said once


def test_a_press_returns_to_the_page_it_came_from_but_not_to_another_site(as_manager: Client) -> None:
    queue = Queue.objects.create(name="q")
    pause = f"/queues/{queue.pk}/pause/"
    assert as_manager.post(pause, {"next": "/progress/"})["Location"] == "/progress/"
    assert as_manager.post(pause, {"next": "//evil.example/"})["Location"] == "/queues/"
    assert as_manager.post(pause, {"next": "nowhere"})["Location"] == "/queues/"  # no page has that name


def test_a_manager_promotes_rejects_and_rolls_back(as_manager: Client, manager: Person) -> None:
    old = ServingPRMFactory.create(number=0)
    new = PRMVersionFactory.create(number=1, snapshot=SnapshotFactory.create())
    as_manager.post("/versions/1/promote/", {"reason": "it finds more"})
    new.refresh_from_db()
    assert (new.status, new.decided_by) == (PRMStatus.PROMOTED, manager)
    assert "mara: it finds more" in _html(as_manager, "/versions/1/")

    as_manager.post("/versions/roll-back/")
    assert PRMVersion.objects.serving() == old

    worse = PRMVersionFactory.create(number=2, snapshot=SnapshotFactory.create())
    as_manager.post("/versions/2/reject/")
    worse.refresh_from_db()
    assert worse.status == PRMStatus.REJECTED


def test_a_roll_back_pressed_twice_goes_back_one_step(as_manager: Client) -> None:
    first, second, third = PRMVersionFactory.create_batch(3)
    for version in (first, second, third):
        promote(version=version)
    pages = ("/progress/", "/versions/", third.get_absolute_url())
    assert all(f'name="to" value="{second.number}"' in _html(as_manager, page) for page in pages)
    for _ in range(2):
        as_manager.post("/versions/roll-back/", {"to": second.number})
        assert PRMVersion.objects.serving() == second


def test_nothing_to_roll_back_to_is_said(as_manager: Client) -> None:
    assert "no earlier PRM" in as_manager.post("/versions/roll-back/", follow=True).content.decode()


def test_people_today_have_their_solutions_and_median_time(as_manager: Client) -> None:
    ada, ben = AnnotatorFactory.create(username="ada"), AnnotatorFactory.create(username="ben")
    for milliseconds in (60_000, 108_000, 900_000):
        _label(ada, milliseconds)
    _label(ben, 40_000)
    _label(ben, 1_000, submitted_at=timezone.now() - timedelta(days=2))
    _label(ben, 1_000, submitted_at=None, finish_reason="")
    html = _html(as_manager)
    assert re.search(r"ada</th><td class=\"r\">3</td><td class=\"r\">1:48<", html)
    assert re.search(r"ben</th><td class=\"r\">1</td><td class=\"r\">0:40<", html)
    assert "4 labels today" in html


def test_a_round_shows_who_chose_it_and_the_share_that_is_right(as_manager: Client) -> None:
    prm = ServingPRMFactory.create(number=3)
    wrong = GradedSolutionFactory.create()
    GradedSolutionFactory.create(problem=wrong.problem, round=wrong.round, outcome="correct")
    SolutionFactory.create(problem=wrong.problem, round=wrong.round)
    QueueItemFactory.create(solution=wrong, prm=prm)
    cells = re.findall(
        r"<td[^>]*>([^<]*)</td>", _html(as_manager).split(f"Round {wrong.round.number}</th>")[1]
    )
    assert cells[:6] == ["PRM v3", "1", "3", "50 %", "1", "0"]
