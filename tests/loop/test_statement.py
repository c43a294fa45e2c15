"""Queries made once: they say what the query they are made of says, run after run, each time of other values."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from annotate.models import Change, Given, Label, Problem, QueueItem, Statement, StepRating, write
from tests.factories import AnnotatorFactory, ProblemFactory, QueueItemFactory

pytestmark = pytest.mark.django_db


def a_label() -> Label:
    person, problem = AnnotatorFactory.create(), ProblemFactory.create()
    return Label.objects.create(annotator=person, problem=problem, question={"problem": "1 + 1?"})


def test_a_statement_is_told_its_values_at_every_run() -> None:
    named = Statement(lambda: Problem.objects.filter(text=Given("text")).values_list("pk", "text"))
    one, other = ProblemFactory.create(text="one"), ProblemFactory.create(text="100 % of %s")
    assert list(named.rows(text="one")) == [(one.pk, "one")]
    assert list(named.rows(text="100 % of %s")) == [(other.pk, "100 % of %s")]
    assert list(named.rows(text="none")) == []
    with pytest.raises(KeyError):
        named.rows()


def test_its_rows_are_models_with_all_that_the_query_selects_beside_them() -> None:
    items = Statement(
        lambda: (
            QueueItem.objects.filter(pk=Given("pk"))
            .select_related("queue", "gold", "solution__problem")
            .annotate(also=F("priority"))
        )
    )
    item = QueueItemFactory.create()
    found = items.first(pk=item.pk)
    assert found is not None
    assert found == item
    assert (found.queue, found.gold, found.solution.problem) == (item.queue, None, item.solution.problem)
    assert (found.also, found.score, found._state.adding) == (item.priority, item.score, False)
    assert items.first(pk=0) is None


def test_what_a_column_keeps_as_json_is_read_as_what_it_was() -> None:
    label = a_label()
    assert (
        Statement(lambda: Label.objects.filter(pk=Given("pk"))).first(pk=label.pk).question == label.question
    )


def test_a_change_says_how_many_rows_it_changed_and_changes_no_others() -> None:
    rename = Change(lambda: Problem.objects.filter(text=Given("old")), text=Given("new"), retired_at=None)
    one, other = (
        ProblemFactory.create(text="one", retired_at=timezone.now()),
        ProblemFactory.create(text="other"),
    )
    assert rename.run(old="one", new="two") == 1
    assert rename.run(old="one", new="two") == 0
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.text, one.retired_at, other.text) == ("two", None, "other")


def test_writing_a_row_does_what_saving_it_does() -> None:
    label = a_label()
    row = StepRating(label=label, step_index=0, option=0, text="2", rating=1)
    write(row)
    assert StepRating.objects.filter(pk=row.pk, label=label, text="2", rating=1, flagged=None).exists()
    row.rating, row.text = -1, "3"
    write(row, ("rating",))
    assert StepRating.objects.filter(pk=row.pk, text="2", rating=-1).exists()
    write(row)
    assert StepRating.objects.get() == row
    assert StepRating.objects.filter(text="3", rating=-1).exists()
    with pytest.raises(IntegrityError), transaction.atomic():
        write(StepRating(label=label, step_index=0, text="2", option=row.option))


def test_a_row_with_a_key_of_its_own_choosing_keeps_it() -> None:
    made = QueueItemFactory.create()
    item = QueueItem(
        queue=made.queue, problem=ProblemFactory.create(), random_key=0.5, priority=0, strategy="x"
    )
    write(item)
    again = QueueItem.objects.get(pk=item.pk)
    assert again.created_at is not None
    assert again.problem_id == item.problem_id


def test_what_is_asked_again_is_planned_no_more() -> None:
    """The database prepares it: half of what it does for an annotator would be planning the same again."""
    named = Statement(lambda: Problem.objects.filter(text=Given("text")).values_list("retired_at"))
    for _ in range(5):
        named.rows(text="any")
    with connection.cursor() as cursor:
        cursor.execute("select statement from pg_prepared_statements")
        prepared = [one for (one,) in cursor.fetchall()]
    assert any('SELECT "annotate_problem"."retired_at"' in one for one in prepared)
