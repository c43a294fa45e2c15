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


def test_a_rollback_that_names_its_version_goes_back_one_step_however_often_it_is_asked() -> None:
    first, second, third = PRMVersionFactory.create_batch(3)
    for version in (first, second, third):
        promote(version=version)
    assert roll_back(to=second.number) == roll_back(to=second.number) == second
    assert status(first) == PRMStatus.RETIRED
    with pytest.raises(PlumblineError, match="decided meanwhile"):
        roll_back(to=third.number)


def test_a_reason_may_hold_what_no_database_can_store() -> None:
    assert reject(version=PRMVersionFactory.create(), reason="a\x00b \ud800").decision == "a\ufffdb \ufffd"


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


def compared(candidate: float, serving: float, steps: int = 150) -> PRMVersion:
    """A candidate whose report holds both log-likelihoods on the same held-out steps."""
    old = ServingPRMFactory()

    def figures(log_likelihood: float) -> dict[str, float]:
        return {"steps": steps, "human_steps": steps, "log_likelihood": log_likelihood}

    report = {"metrics": figures(candidate), "serving": {"number": old.number, "metrics": figures(serving)}}
    return decide(candidate=PRMVersionFactory(snapshot=SnapshotFactory(), report=report))


def test_the_better_one_on_the_held_out_labels_is_promoted_and_the_figures_are_written_down() -> None:
    candidate = compared(-0.4, -0.7)
    assert candidate.status == PRMStatus.PROMOTED
    assert "-0.4000, serving -0.7000" in candidate.decision


def test_the_worse_one_is_rejected_and_the_old_one_goes_on_serving() -> None:
    candidate = compared(-0.9, -0.7)
    assert candidate.status == PRMStatus.REJECTED
    assert "not better" in candidate.decision
    assert PRMVersion.objects.serving() != candidate


def test_with_too_few_held_out_labels_a_manager_decides() -> None:
    candidate = compared(-0.4, -0.7, steps=20)
    assert candidate.status == PRMStatus.CANDIDATE
    assert "80 more, or a manager's decision" in candidate.decision
