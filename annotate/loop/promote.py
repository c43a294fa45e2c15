"""Which PRM serves: decided by the recorded criterion, or by a manager with a reason; one step back at any time.

Promotion moves no queue item: the workers score what is open again, and only the order follows.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.jobs import enqueue_job
from annotate.models import Person, PRMStatus, PRMVersion, Turn
from prm_backend.evaluation import promotion
from prm_backend.text.steps import storable
from prm_backend.types import Report


class MovedOn(PlumblineError):
    """Another manager was first."""

    status = 409


@transaction.atomic
def promote(*, version: PRMVersion, by: Person | None = None, reason: str = "") -> PRMVersion:
    """Let this version serve, whatever its status was; the one that served is retired. Serving already: nothing."""
    Turn.PROMOTION.take()
    version = PRMVersion.objects.get(pk=version.pk)
    if version.status == PRMStatus.PROMOTED:
        return version
    PRMVersion.objects.filter(status=PRMStatus.PROMOTED).update(status=PRMStatus.RETIRED)
    version.promoted_at = timezone.now()
    _decide(version, PRMStatus.PROMOTED, by, reason or "promoted")
    enqueue_job("score")
    return version


@transaction.atomic
def reject(*, version: PRMVersion, by: Person | None = None, reason: str = "") -> PRMVersion:
    """Turn a candidate down. Raises PlumblineError where it is none."""
    Turn.PROMOTION.take()
    version = PRMVersion.objects.get(pk=version.pk)
    if version.status != PRMStatus.CANDIDATE:
        raise PlumblineError(
            _("%(version)s is no candidate: it is %(status)s.")
            % {"version": f"v{version.number}", "status": version.get_status_display()}
        )
    _decide(version, PRMStatus.REJECTED, by, reason or "rejected")
    return version


@transaction.atomic
def roll_back(*, by: Person | None = None, reason: str = "", to: int | None = None) -> PRMVersion:
    """Let the version that served before serve again, and turn down the one that serves now.

    `to` is its number as the caller knows it, so that a button pressed twice, or by two managers, goes back one step.
    Raises PlumblineError where another one served before, or none.
    """
    Turn.PROMOTION.take()
    serving, previous = PRMVersion.objects.serving(), PRMVersion.objects.previous()
    if serving is not None and serving.number == to:
        return serving
    if serving is None or previous is None:
        raise PlumblineError(_("There is no earlier PRM to go back to."))
    if to not in (None, previous.number):
        raise MovedOn(
            _(
                "Before v%(serving)s it was v%(previous)s that served: somebody has decided meanwhile. Look again."
            )
            % {"serving": serving.number, "previous": previous.number}
        )
    _decide(serving, PRMStatus.REJECTED, by, reason or f"rolled back to {previous}")
    return promote(version=previous, by=by, reason=f"serves again after {serving} was rolled back")


@transaction.atomic
def decide(*, candidate: PRMVersion) -> PRMVersion:
    """Promote a candidate that beats the serving PRM on the held-out labels; else write down why not.

    A worse one is rejected. One that cannot be compared stays a candidate, for a manager to decide on. A version
    that is decided already stays as it is.
    """
    Turn.PROMOTION.take()
    candidate = PRMVersion.objects.get(pk=candidate.pk)
    if candidate.status != PRMStatus.CANDIDATE or candidate.decision:
        return candidate
    serving = PRMVersion.objects.serving()
    if serving is None:
        labels = "it knows no human labels" if candidate.outcome_only else f"{candidate.n_labels} labels"
        return promote(version=candidate, reason=f"the first PRM: nothing served before; {labels}")
    compared = candidate.report.get("serving", {})
    if compared.get("number") != serving.number:
        reason = f"it was not compared with {serving}, which serves now; a manager decides"
        _decide(candidate, PRMStatus.CANDIDATE, None, reason)
        return candidate
    candidate_report, serving_report = Report(candidate.report["metrics"]), Report(compared["metrics"])
    try:
        decision = promotion.decide(candidate_report, serving_report)
    except ValueError as error:
        decision = promotion.Decision(False, str(error))
    if decision.better:
        return promote(version=candidate, reason=decision.reason)
    comparable = (candidate.report["metrics"].get("human_steps") or 0) >= promotion.MIN_STEPS
    _decide(candidate, PRMStatus.REJECTED if comparable else PRMStatus.CANDIDATE, None, decision.reason)
    return candidate


def _decide(version: PRMVersion, status: PRMStatus, by: Person | None, reason: str) -> None:
    """Earlier decisions stay above the new one."""
    version.status = status
    who = f"{by}: " if by else ""
    version.decision = f"{version.decision}\n{who}{storable(reason)}".strip()
    version.decided_by = by
    version.save(update_fields=("status", "decision", "decided_by", "promoted_at"))
