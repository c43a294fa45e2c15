"""The admin: a manager reads every row without a query a row, and changes none."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.models import Job, Label, StepRating, Worker
from tests.factories import (
    AnnotatorFactory,
    ProblemFactory,
    QueueItemFactory,
    SnapshotFactory,
    SolutionScoreFactory,
)

OURS = sorted(
    model._meta.model_name or "" for model in admin.site._registry if model._meta.app_label == "annotate"
)


def _rows(n: int) -> None:
    now = timezone.now()
    for _ in range(n):
        ProblemFactory.create()
        item = QueueItemFactory.create(leased_by=AnnotatorFactory.create())
        SolutionScoreFactory.create(solution=item.solution, prm=item.prm)
        label = Label.objects.create(
            problem=item.solution.problem,
            solution=item.solution,
            annotator=AnnotatorFactory.create(),
            question={},
        )
        StepRating.objects.create(label=label, step_index=0, option=0, rating=1)
        Job.objects.create(kind="grade", key=str(item.pk), requested_by=item.leased_by)
        Worker.objects.create(name=str(item.pk), queues="quick", started_at=now, seen_at=now)
        SnapshotFactory.create()


@pytest.mark.parametrize("model", OURS)
def test_a_list_asks_the_same_number_of_queries_however_many_rows(model: str, as_manager: Client) -> None:
    _rows(1)
    path = f"/admin/annotate/{model}/"
    as_manager.get(path)
    with CaptureQueriesContext(connection) as few:
        as_manager.get(path)
    _rows(5)
    with CaptureQueriesContext(connection) as many:
        assert as_manager.get(path).status_code == 200
    assert len(many) == len(few)


@pytest.mark.parametrize("model", OURS)
def test_no_row_can_be_added_changed_or_deleted(model: str, as_manager: Client) -> None:
    _rows(1)
    row = next(m for m in admin.site._registry if m._meta.model_name == model).objects.first()
    path = f"/admin/annotate/{model}/"
    assert as_manager.get(f"{path}add/").status_code == 403
    html = as_manager.get(f"{path}{row.pk if row else 0}/change/", follow=True).content.decode()
    assert 'name="_save"' not in html
    if row:
        assert as_manager.post(f"{path}{row.pk}/change/", {}).status_code == 403
        assert as_manager.post(f"{path}{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_password_hash_is_never_shown(as_manager: Client) -> None:
    person = AnnotatorFactory.create()
    html = as_manager.get(f"/admin/annotate/person/{person.pk}/change/").content.decode()
    assert str(person.labeler) in html
    assert person.password not in html
    assert "md5" not in html


@pytest.mark.parametrize("model", OURS)
def test_search_does_not_reach_other_peoples_secrets(model: str, as_manager: Client) -> None:
    response = as_manager.get(
        f"/admin/annotate/{model}/", {"leased_by__password__startswith": "md5", "q": "x"}
    )
    assert response.status_code in (302, 400) or response.context["cl"].query == "x"
    assert "DisallowedModelAdminLookup" not in response.content.decode()
