"""A first run fills an empty database once, and shows its random passwords once."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from annotate.loop.first_run import first_run
from annotate.models import Job, Person, Problem, Queue, Round
from tests.factories import PersonFactory

pytestmark = pytest.mark.django_db


def test_an_empty_database_gets_people_problems_and_a_round() -> None:
    made = first_run()
    assert made is not None
    assert made.manager.person.is_manager
    assert made.annotator.person.is_annotator
    assert not made.annotator.person.is_manager
    assert made.manager.password != made.annotator.password
    assert made.manager.person.check_password(made.manager.password)
    assert Problem.objects.count() == made.problems == 200
    assert 0 < Problem.objects.filter(held_out=True).count() < 50
    assert Round.objects.get().places.count() == 40
    assert Queue.objects.get().name == "default"
    assert Job.objects.get().kind == "generate"


def test_where_anybody_is_nothing_is_touched() -> None:
    PersonFactory()
    assert first_run() is None
    assert Person.objects.count() == 1
    assert not Problem.objects.exists()


def test_the_command_shows_the_passwords_once() -> None:
    first, second = io.StringIO(), io.StringIO()
    call_command("first_run", stdout=first)
    call_command("first_run", stdout=second)
    word = first.getvalue().split("manager")[1].split()[0]
    assert Person.objects.get(username="manager").check_password(word)
    assert second.getvalue() == ""
