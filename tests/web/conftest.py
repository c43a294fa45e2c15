"""The cast: a manager, an annotator who must see nothing of the managers' pages, and a stranger."""

from __future__ import annotations

import pytest
from django.test import Client

from annotate.models import Person
from tests.factories import AnnotatorFactory, ManagerFactory


@pytest.fixture
def manager(db: None) -> Person:
    return ManagerFactory.create(username="mara")


@pytest.fixture
def annotator(db: None) -> Person:
    return AnnotatorFactory.create(username="ada")


@pytest.fixture
def stranger(db: None) -> Client:
    return Client()


@pytest.fixture
def as_manager(manager: Person) -> Client:
    client = Client()
    client.force_login(manager)
    return client


@pytest.fixture
def as_annotator(annotator: Person) -> Client:
    client = Client()
    client.force_login(annotator)
    return client
