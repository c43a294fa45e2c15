"""Every page of the site, and what every act of a manager answers, in a language of dots (tests/seen.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from annotate import urls
from annotate.loop.overlap import spread
from annotate.models import Benchmark, Concern, Gold, Person, PRMVersion, Queue, QueueItem, Way, Worker
from annotate.web import report
from annotate.web.benchmarks import THRESHOLDS
from tests.factories import (
    AnnotatorFactory,
    GoldFactory,
    GradedSolutionFactory,
    JobFactory,
    ManagerFactory,
    PRMVersionFactory,
    QueueFactory,
    RoundProblemFactory,
    ServingPRMFactory,
    SnapshotFactory,
    SolutionFactory,
)
from tests.loop.labelling import labelled
from tests.loop.proposing import a_model_worker
from tests.seen import item, left, look, problem, speak_dots, visitor

pytestmark = pytest.mark.django_db

NO_PAGES = {"logout", "export", "healthz", None}


@pytest.fixture(autouse=True)
def _dots(monkeypatch: pytest.MonkeyPatch) -> None:
    speak_dots(monkeypatch)


@pytest.fixture
def house(broker: str) -> dict[str, Any]:
    """Something on every page. What people wrote is Greek, so whatever is Latin is ours."""
    now = timezone.now()
    mara, ada, ben = (
        ManagerFactory.create(username="Μάρα"),
        AnnotatorFactory.create(username="Άντα"),
        AnnotatorFactory.create(username="Μπεν", suspended_at=now),
    )
    Person.objects.filter(pk=ben.pk).update(
        suspension="agreed with 3 of the latest 9 gold answers; the bar is 60%"
    )
    metrics: dict[str, Any] = dict.fromkeys(report.KNOWN, 0.5)
    confusion, reliability = [[3, 1, 0], [1, 2, 0], [0, 0, 5]], [[0.1, 0.2], [0.5, 0.4]]
    tables = {"confusion": confusion, "confusion_at_threshold": confusion}
    tables |= {"reliability": reliability, "reliability_before": reliability}
    point = {"epoch": 1, "tuning_nll": 0.5, "held_out_nll": 0.5}
    curve = [point | {"step": n, "loss": 1 / (1 + n)} for n in range(4)]
    part = dict.fromkeys(report.SLICED, 0.5) | {"solutions": 3}
    parts = [part | {"name": name} for name in ("1–3", "11 or more", "others")]
    PRMVersionFactory.create(number=0, status="retired", promoted_at=now, report={"metrics": metrics})
    ServingPRMFactory.create(
        number=1,
        snapshot=SnapshotFactory.create(),
        report={
            "metrics": metrics,
            "serving": {"number": 0, "metrics": metrics},
            "curve": curve,
            "tables": tables,
            "slices": dict.fromkeys(("length", "subject", "level", "source"), parts),
            "notes": [
                "3 held-out solutions could not be scored",
                "too few labels to set some aside for tuning: the last epoch, uncalibrated, and threshold 0.5 were "
                "taken",
                "epoch 5 and the calibration were chosen on 33 solutions of problems kept from training",
                "epoch 5, the calibration and the threshold 0.213 of p(bad) were chosen on 33 solutions of problems "
                "kept from training",
            ],
        },
        decision="the first PRM: nothing served before; 12 labels\nΜάρα: promoted by hand",
        decided_by=mara,
    )
    candidate = PRMVersionFactory.create(number=2, snapshot=SnapshotFactory.create())
    benchmarks = [
        Benchmark.objects.create(
            name=name, sha256=name, path=f"benchmarks/{name}.jsonl", n_samples=9, n_erroneous=4
        )
        for name in ("Α", "Β", "Γ")
    ]
    f1 = {
        "f1": 0.3,
        "low": 0.2,
        "high": 0.4,
        "error_accuracy": 0.2,
        "correct_accuracy": 0.4,
        "threshold": 0.2,
    }
    for benchmark, figures in zip(benchmarks[:2], (dict.fromkeys(THRESHOLDS, f1), None), strict=True):
        for version in PRMVersion.objects.filter(number__lt=2):
            version.measurements.create(benchmark=benchmark, figures=figures)
    queue = QueueFactory.create(name="Ουρά", overlap=2, hints=True, takes_rounds=True)
    QueueFactory.create(name="Βήματα", way=Way.STEP_BY_STEP, paused_at=now)
    apart = item(queue=queue)
    spread(queue=queue)
    labels = [labelled(ada, 1, -1), labelled(AnnotatorFactory.create(username="Ζωή"), 1, 1, 1, 1)]
    concerns = [
        Concern.objects.create(
            kind=kind, label=labels[0], problem=labels[0].problem, text="Ορίστε.", step_index=at
        )
        for kind, at in ((Concern.Kind.UNSURE, 1), (Concern.Kind.ANSWER, None), (Concern.Kind.PROBLEM, None))
    ]
    golds = [
        GoldFactory.create(
            solution=item(queue=queue).solution, accepted=accepted, explanation="Το δύο.", screens=screens
        )
        for accepted, screens in (([1], False), ([-1, 2], False), ([0], True))
    ]
    Gold.objects.filter(pk=golds[1].pk).update(retired_at=now)
    Gold.objects.update(question=labels[0].question)
    QueueItem.objects.filter(done_at=None).update(done_at=now)
    held = item(queue=queue, leased_by=ada, lease_expires_at=now + timedelta(minutes=9))
    opinions = [{"grader": "κριτής", "outcome": "undecided", "reason": "neither shown equal nor different"}]
    doubtful = GradedSolutionFactory.create(
        problem=problem(), text="4", outcome="undecided", grade_opinions=opinions
    )
    problem(answer=None, kind="code", tests=["x"], retired_at=now)
    SolutionFactory.create(problem=problem())
    RoundProblemFactory.create(problem=problem())
    Worker.objects.create(name="q", queues="quick", started_at=now, seen_at=now - timedelta(hours=2))
    a_model_worker()
    running = {"status": "running", "done": 40, "total": 100, "started_at": now, "attempts": 2}
    file = {"name": "αρχείο", "path": "x", "size": 100}
    runs = JobFactory.create(kind="retrain", message="training, epoch 1 of 2", **running)
    failed = JobFactory.create(
        kind="score", status="failed", finished_at=now, message="its worker died; it starts again"
    )
    JobFactory.create(kind="generate", status="failed", finished_at=now)
    JobFactory.create(kind="import_problems", payload=file, message="12 rows of αρχείο", **running)
    JobFactory.create(kind="import_problems", payload=file)
    found = {
        "added": 7,
        "known": 2,
        "n_refused": 400,
        "refused": [[3, "the problem is empty"], [0, "it is no JSON: ξ"]],
    }
    JobFactory.create(kind="import_problems", payload=file, status="done", finished_at=now, result=found)
    JobFactory.create(kind="import_problems", payload=file, status="cancelled", message="cancelled by Μάρα")
    one = {"value": 0.5, "low": 0.4, "high": 0.6, "units": 9, "solutions": 3}
    none = {"value": None, "low": None, "high": None, "units": 0, "solutions": 0}
    JobFactory.create(
        kind="agreement",
        status="done",
        finished_at=now,
        result={
            "solutions": 3,
            "labels": 6,
            "steps": one | {"low": None},
            "first_error": none | {"why": "no first error is given by two people yet"},
            "pairs": [{"people": [ada.pk, ben.pk], "kappa": one}],
        },
    )
    return {
        "mara": mara, "ada": ada, "ben": ben, "queue": queue, "candidate": candidate, "held": held, "runs": runs,
        "failed": failed, "doubtful": doubtful, "concerns": concerns, "golds": golds, "labels": labels, "apart": apart,
        "benchmark": benchmarks[2],
    }  # fmt: skip


def places(house: dict[str, Any]) -> dict[str, list[Any]]:
    """What stands in the address of a page that is about one thing."""
    return {
        "work_label": [house["labels"][0].pk],
        "problem": [house["labels"][0].problem_id],
        "person": [house["ada"].pk],
        "person_label": [house["labels"][0].pk],
        "instructions_version": [1],
        "version": [1],
        "queue_edit": [house["queue"].pk],
        "gold_make": [house["labels"][0].pk],
        "gold_correct": [house["golds"][0].pk],
        "dispute": [house["apart"].solution_id],
        "concern": [house["concerns"][0].pk],
        "label_proposed": [house["held"].pk],
    }


def test_no_page_has_a_text_of_its_own(house: dict[str, Any]) -> None:
    both = ManagerFactory.create(username="Όλα", roles=["manager", "annotator"], practised_at=timezone.now())
    clients = {
        "nobody": visitor(None),
        "mara": visitor(house["mara"]),
        "ada": visitor(house["ada"]),
        "both": visitor(both),
    }
    found: dict[str, list[str]] = {}
    seen = set()
    for name in {pattern.name for pattern in urls.urlpatterns if hasattr(pattern, "name")} - NO_PAGES | {
        "api:docs"
    }:
        path = reverse(name, args=places(house).get(name, ())) if name in places(house) else _plain(name)
        for who, client in clients.items():
            response = client.get(path or "/") if path else None
            if response is not None and response.status_code in (200, 403, 404):
                seen.add(name) if response.status_code == 200 else None
                if texts := left(response.content.decode()):
                    found[f"{name} for {who}"] = texts
    assert not found, "\n".join(f"{where}: {texts}" for where, texts in sorted(found.items()))
    assert len(seen) > 30, sorted(seen)


def _plain(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""  # of one thing, and only to be posted to


def test_managers_acts_say_nothing_of_their_own(house: dict[str, Any]) -> None:
    page, ben, queue = visitor(house["mara"]), house["ben"].pk, house["queue"].pk
    one, other, third = (concern.pk for concern in house["concerns"])
    gold, label = house["golds"][0].pk, house["labels"][0].pk
    acts: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("round_start", [], {"problems": 0, "samples_per_problem": 1, "quota": 1}),
        ("round_start", [], {"problems": 1, "samples_per_problem": 1, "quota": 1}),
        ("retrain", [], {}),
        ("job_cancel", [house["runs"].pk], {}),
        ("job_retry", [house["failed"].pk], {}),
        ("job_retry", [house["runs"].pk], {}),
        ("version_promote", [2], {}),
        ("version_reject", [2], {}),
        ("roll_back", [], {"reason": ""}),
        ("version_reject", [1], {}),
        ("benchmark_send", [], {}),
        ("version_measure", [1], {}),
        ("benchmark_remove", [house["benchmark"].pk], {}),
        ("upload", [], {}),
        ("undecided_decide", [house["doubtful"].pk], {"outcome": "x"}),
        ("undecided_decide", [house["doubtful"].pk], {"outcome": "wrong"}),
        ("undecided_decide", [house["doubtful"].pk], {"outcome": "wrong"}),
        ("queue_add", [], {"name": "Νέα"}),
        (
            "queue_add",
            [],
            {"name": "Νέα", "way": "every_step", "options": 2, "overlap": 1, "overlap_share": 1},
        ),
        *((name, [queue], {}) for name in ("queue_pause", "queue_resume", "queue_take_rounds")),
        ("queue_put_problems", [queue], {"problems": 0}),
        ("queue_put_problems", [queue], {"problems": 1}),
        ("queue_put_problems", [Queue.objects.get(way=Way.STEP_BY_STEP).pk], {"problems": 1}),
        ("item_reassign", [house["held"].pk], {"to": "Μπεν"}),
        ("item_reassign", [house["held"].pk], {"to": "Μάρα"}),
        ("item_reassign", [house["held"].pk], {}),
        ("agreement_measure", [], {}),
        ("quality_policy", [], {"gold_every": -1}),
        ("gold_make", [label], {"accepted": "9"}),
        ("gold_make", [label], {"accepted": "1"}),
        ("gold_correct", [gold], {"accepted": "9"}),
        ("gold_correct", [gold], {"accepted": "0"}),
        ("gold_correct", [gold], {"withdraw": "1"}),
        ("gold_retire", [gold], {}),
        ("gold_use", [gold], {}),
        ("dispute_decide", [house["apart"].solution_id], {}),
        ("dispute_decide", [house["apart"].solution_id], {"label": label}),
        ("dispute_decide", [house["apart"].solution_id], {"label": label}),
        ("concern_reply", [one], {}),
        ("concern_reply", [one], {"reply": "Ναι."}),
        ("concern_reply", [one], {"reply": "Ναι."}),
        ("concern_fix_answer", [other], {"answer": "7"}),
        ("concern_retire", [third], {}),
        ("concern", [third], {}),
        ("person_add", [], {"username": "a b", "role": "annotator"}),
        ("person_add", [], {"username": "Μπεν", "role": "annotator"}),
        ("person_add", [], {"username": "Νέος", "role": "χ"}),
        ("person_add", [], {"username": "Νέος", "role": "annotator"}),
        ("person_reset_password", [ben], {}),
        ("person_roles", [ben], {"roles": ["annotator", "manager"]}),
        ("person_roles", [ben], {}),
        ("person_roles", [house["mara"].pk], {}),
        *(
            (f"person_{name}", [ben], {})
            for name in ("deactivate", "reactivate", "lift", "admit", "screen_again")
        ),
        ("person_deactivate", [house["mara"].pk], {}),
        ("instructions_edit", [], {"text": ""}),
        ("instructions_edit", [], {"text": "Νέοι κανόνες."}),
        ("instructions_edit", [], {"text": "Νέοι κανόνες."}),
    ]
    for name, args, data in acts:
        look(page, reverse(name, args=args), **data, sent="1")
