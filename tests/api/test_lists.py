"""Lists: filtered by what is named, paged by a cursor; ids that are no row's."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.factories import ProblemFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "query",
    [
        "annotator__password__startswith=p",
        "requested_by__password__startswith=p",
        "answer__startswith=1",
        "text=a",
        "id=1",
        "held_out__in=1",
        "ordering=answer",
        "search=a",
        "limit=100000",
    ],
)
def test_a_list_is_filtered_by_named_filters_and_never_by_a_lookup(manager: APIClient, query: str) -> None:
    for path in ("problems", "jobs", "rounds", "versions"):
        response = manager.get(f"/api/{path}/?{query}")
        assert response.status_code == 400
        assert list(response.json()["fields"]) == [query.split("=")[0]]


def test_filters_that_are_named_filter(manager: APIClient) -> None:
    ProblemFactory.create(source="ours", held_out=True)
    ProblemFactory.create(source="theirs")

    def found(query: str) -> list[str]:
        return [problem["source"] for problem in manager.get(f"/api/problems/?{query}").json()["results"]]

    assert found("") == ["theirs", "ours"]
    assert found("held_out=true") == ["ours"]
    assert found("held_out=false&source=theirs") == ["theirs"]
    assert found("source=nobody") == []
    assert manager.get("/api/problems/?held_out=maybe").status_code == 400


def test_lists_are_paged_by_a_cursor_that_cannot_be_bent(manager: APIClient) -> None:
    ProblemFactory.create_batch(5)
    first = manager.get("/api/problems/?page_size=2").json()
    second = manager.get(first["next"]).json()
    third = manager.get(second["next"]).json()
    ids = [problem["id"] for page in (first, second, third) for problem in page["results"]]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 5
    assert third["next"] is None
    assert len(manager.get("/api/problems/?page_size=999999999").json()["results"]) == 5
    for cursor in ("nonsense", "cD1hJTI3JTIwb3Ig", "bz05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OQ==", "cD0lMDA="):
        assert manager.get(f"/api/problems/?cursor={cursor}").status_code in (200, 404)


def test_ids_beyond_any_row_are_simply_not_found(manager: APIClient, ada: APIClient) -> None:
    for number in ("0", "9" * 30):
        assert manager.get(f"/api/problems/{number}/").status_code == 404
        assert manager.get(f"/api/versions/{number}/").status_code == 404
        assert ada.post(f"/api/queue/{number}/heartbeat/").status_code == 404
