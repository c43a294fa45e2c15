"""The inbox over HTTP: who sees it, what is kept when an act is refused, what the annotator is told."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import Concern, Problem
from tests.loop.labelling import raised

pytestmark = pytest.mark.django_db


def test_only_managers_see_and_answer(as_annotator: Client) -> None:
    concern = raised("answer")
    for path in (reverse("inbox"), reverse("concern", args=[concern.pk])):
        assert as_annotator.get(path).status_code == 403
    for name in ("concern_fix_answer", "concern_retire", "concern_reply"):
        assert as_annotator.post(reverse(name, args=[concern.pk]), {"reply": "x"}).status_code == 403
    assert Concern.objects.open().count() == 1


def test_each_kind_is_listed_and_answered_by_its_act(as_manager: Client, broker: str) -> None:
    answer, problem, unsure = raised("answer"), raised("problem"), raised("unsure", step_index=2)
    listed = as_manager.get("/inbox/").content.decode()
    assert "3 open" in listed
    assert "unsure of step 3" in listed
    as_manager.post(reverse("concern_fix_answer", args=[answer.pk]), {"answer": "77", "reply": "Thank you."})
    as_manager.post(reverse("concern_retire", args=[problem.pk]))
    as_manager.post(reverse("concern_reply", args=[unsure.pk]), {"reply": "It is great."})
    assert not Concern.objects.open().exists()
    assert Problem.objects.get(pk=answer.problem_id).answer == "77"
    assert Problem.objects.get(pk=problem.problem_id).retired_at
    page = as_manager.get(reverse("concern", args=[unsure.pk])).content.decode()
    assert "“It is great.”" in page
    assert '<form method="post" class' not in page


def test_an_answer_leads_to_the_next_concern_and_the_last_one_to_the_inbox(as_manager: Client) -> None:
    first, second, third = (raised("unsure", step_index=index) for index in range(3))
    Concern.objects.update(created_at=first.created_at)  # raised by one submit

    def reply(concern: Concern) -> str:
        return as_manager.post(reverse("concern_reply", args=[concern.pk]), {"reply": "It is great."}).url

    assert reply(second) == reverse("concern", args=[third.pk])
    assert reply(third) == reverse("concern", args=[first.pk])
    assert reply(first) == reverse("inbox")


def test_what_was_typed_is_kept_when_an_act_is_refused(as_manager: Client) -> None:
    concern = raised("answer")
    path = reverse("concern_fix_answer", args=[concern.pk])
    answer = as_manager.post(path, {"answer": "", "reply": "<b>so</b> sorry"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert 'role="alert"' in page
    assert "&lt;b&gt;so&lt;/b&gt; sorry</textarea>" in page


def test_the_second_answer_says_that_it_came_late(as_manager: Client) -> None:
    concern = raised("unsure", step_index=0)
    path = reverse("concern_reply", args=[concern.pk])
    as_manager.post(path, {"reply": "One."})
    assert "answered already" in as_manager.post(path, {"reply": "Two."}, follow=True).content.decode()
    concern.refresh_from_db()
    assert concern.reply == "One."


def test_the_list_costs_the_same_queries_however_many(as_manager: Client) -> None:
    raised("problem")
    as_manager.get("/inbox/")
    with CaptureQueriesContext(connection) as few:
        as_manager.get("/inbox/")
    for _ in range(6):
        raised("problem")
    with CaptureQueriesContext(connection) as many:
        as_manager.get("/inbox/")
    assert len(few) == len(many)
