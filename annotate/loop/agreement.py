"""Agreement between people: measured now and again by a worker, and kept as that job's result. Judges nobody."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotate.models import Job, JobStatus, Label, StepRating
from annotate.models.label import LabelQuerySet

KIND = "agreement"  # of its jobs
SOLUTIONS = 2000  # the latest that several people have labelled
_PAUSE = timedelta(minutes=10)


def measure() -> dict[str, Any]:
    """Alpha on step ratings and on first errors, and kappa by pair, of the latest solutions several people labelled.

    JSON: `solutions`, `labels`, `steps`, `first_error` (a Coefficient each) and `pairs`, each with `people` (two
    Person pks) and `kappa`.
    """
    # Here, not above: scikit-learn takes a second and 100 MB, which web processes need not pay.
    from prm_backend.evaluation.agreement import Opinion, first_error_alpha, pairwise_kappa, step_alpha

    labels = list(_shared().order_by("-submitted_at").values_list("pk", "annotator", "solution"))
    latest = set(list(dict.fromkeys(solution for _, _, solution in labels))[:SOLUTIONS])
    labels = [label for label in labels if label[2] in latest]
    ratings: dict[int, dict[int, int | None]] = defaultdict(dict)
    rows = StepRating.objects.filter(label__in=[pk for pk, _, _ in labels], option=0)
    for pk, step, rating in rows.values_list("label", "step_index", "rating"):
        ratings[pk][step] = rating
    opinions = [
        Opinion(person, solution, tuple(ratings[pk].get(i) for i in range(max(ratings[pk], default=-1) + 1)))
        for pk, person, solution in labels
    ]
    return {
        "solutions": len(latest),
        "labels": len(opinions),
        "steps": asdict(step_alpha(opinions)),
        "first_error": asdict(first_error_alpha(opinions)),
        "pairs": [asdict(pair) for pair in pairwise_kappa(opinions)],
    }


def measured() -> Job | None:
    """The latest measurement, with what it found in `result`."""
    return Job.objects.filter(kind=KIND, status=JobStatus.DONE).order_by("-id").first()


def agreement_due() -> bool:
    """Whether several people have labelled something since the latest measurement, and that is not just over."""
    latest = measured()
    if latest is None or latest.finished_at is None:
        return _shared().exists()
    if timezone.now() - latest.finished_at < _PAUSE:
        return False
    return _shared().filter(submitted_at__gt=latest.finished_at).exists()


def _shared() -> LabelQuerySet:
    """Opinions on solutions that somebody else has an opinion on, too."""
    others = (
        Label.objects.opinions()
        .filter(solution=OuterRef("solution"))
        .exclude(annotator=OuterRef("annotator"))
    )
    return Label.objects.opinions().filter(Exists(others))
