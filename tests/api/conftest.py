"""A cast for the API's tests: a manager, two annotators, and somebody without a role, each with a token."""

from __future__ import annotations

import pytest
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from annotate.models import Person
from tests.factories import AnnotatorFactory, ManagerFactory, PersonFactory


def api(person: Person | None) -> APIClient:
    """A script that signs in with the person's token, or not at all."""
    client = APIClient(raise_request_exception=False)
    if person is not None:
        client.credentials(HTTP_AUTHORIZATION=f"Token {Token.objects.get_or_create(user=person)[0].key}")
    return client


@pytest.fixture
def manager(db: None) -> APIClient:
    return api(ManagerFactory.create())


@pytest.fixture
def ada(db: None) -> APIClient:
    """An annotator."""
    return api(AnnotatorFactory.create(username="ada"))


@pytest.fixture
def ben(db: None) -> APIClient:
    """Another annotator, who must see nothing of Ada's."""
    return api(AnnotatorFactory.create(username="ben"))


@pytest.fixture
def nobody(db: None) -> APIClient:
    """Somebody who may sign in and has no role."""
    return api(PersonFactory.create())
