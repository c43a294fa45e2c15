"""The people of the loop's tests."""

from __future__ import annotations

import pytest

from annotate.models import Person
from tests.factories import AnnotatorFactory


@pytest.fixture
def ada(db: None) -> Person:
    return AnnotatorFactory.create(username="ada")


@pytest.fixture
def ben(db: None) -> Person:
    return AnnotatorFactory.create(username="ben")
