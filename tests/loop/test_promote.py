"""One PRM serves: the better one by the recorded criterion, or the one a manager names, and back again."""

from __future__ import annotations

import pytest

from annotate.errors import PlumblineError
from annotate.loop.promote import decide, promote, reject, roll_back
from annotate.models import Job, PRMStatus, PRMVersion
from tests.factories import ManagerFactory, PRMVersionFactory, ServingPRMFactory, SnapshotFactory

pytestmark = pytest.mark.django_db


def status(version: PRMVersion) -> str:
    version.refresh_from_db()
    return version.status


def test_promotion_retires_the_one_that_served_and_calls_for_scores() -> None:
    old, new = ServingPRMFactory(), PRMVersionFactory()
    manager = ManagerFactory()
    promote(version=new, by=manager, reason="looks right to me")
    assert (status(old), status(new)) == (PRMStatus.RETIRED, PRMStatus.PROMOTED)
    assert PRMVersion.objects.serving() == new
    assert (new.decision, new.decided_by) == (f"{manager}: looks right to me", manager)
    assert [job.kind for job in Job.objects.all()] == ["score"]


def test_promoting_what_serves_changes_nothing() -> None:
    serving = ServingPRMFactory()
    promote(version=serving, reason="again")
    serving.refresh_from_db()
    assert serving.decision == ""


def test_a_rejected_version_can_still_be_promoted_and_both_decisions_stay() -> None:
    version = PRMVersionFactory()
    reject(version=version, reason="worse on long solutions")
    promote(version=version, reason="second thoughts")
    version.refresh_from_db()
    assert version.decision == "worse on long solutions\nsecond thoughts"
    with pytest.raises(PlumblineError, match="no candidate"):
        reject(version=version)


def test_each_rollback_goes_one_version_further_back() -> None:
    first, second, third = PRMVersionFactory.create_batch(3)
    with pytest.raises(PlumblineError, match="no earlier PRM"):
        roll_back()
    for version in (first, second, third):
        promote(version=version)
    assert roll_back() == second
    assert (status(third), status(second)) == (PRMStatus.REJECTED, PRMStatus.PROMOTED)
    assert roll_back() == first
    with pytest.raises(PlumblineError, match="no earlier PRM"):
        roll_back()


def test_the_first_version_serves_because_nothing_did_and_says_what_it_does_not_know() -> None:
    version = decide(candidate=PRMVersionFactory(outcome_only=True))
    assert version.status == PRMStatus.PROMOTED
    assert "no human labels" in version.decision


def test_a_candidate_compared_with_another_version_waits_for_a_manager() -> None:
    ServingPRMFactory(number=4)
    compared = {"serving": {"number": 3, "metrics": {}}, "metrics": {}}
    candidate = decide(candidate=PRMVersionFactory(number=5, snapshot=SnapshotFactory(), report=compared))
    assert candidate.status == PRMStatus.CANDIDATE
    assert "a manager decides" in candidate.decision
    assert decide(candidate=candidate).decision == candidate.decision
