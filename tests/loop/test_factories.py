"""The factories' rows satisfy every constraint, and stand where the QuerySets expect them."""

import pytest

from annotate.models import Solution
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_graded_solution_waits_for_the_serving_prm() -> None:
    prm = factories.ServingPRMFactory()
    solution = factories.GradedSolutionFactory()
    assert list(Solution.objects.unscored_by(prm)) == [solution]
    assert solution.steps.count() == 2


def test_queue_items_share_a_queue_and_a_prm() -> None:
    first, second = factories.QueueItemFactory.create_batch(2)
    assert (first.queue, first.prm) == (second.queue, second.prm)
    assert first.priority > second.priority


def test_people_have_the_role_they_are_made_for() -> None:
    assert factories.ManagerFactory().is_manager
    annotator = factories.AnnotatorFactory()
    assert annotator.is_annotator
    assert not annotator.is_manager
    assert annotator.check_password(factories.PASSWORD)


def test_a_label_row_can_be_made_from_the_parts() -> None:
    assert factories.ProblemFactory().pk
    assert factories.RoundProblemFactory().pk
    assert factories.SolutionScoreFactory().pk
    assert factories.JobFactory().pk
    assert factories.SnapshotFactory().pk
