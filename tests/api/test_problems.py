"""Problems by script: added one by one or as a file that a worker imports."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from annotate.loop.uploads import import_upload
from annotate.models import Job, Problem
from prm_backend.types import silent
from tests.factories import ProblemFactory

pytestmark = pytest.mark.django_db


def add(client: APIClient, **body: Any) -> Any:
    return client.post("/api/problems/", json.dumps(body), content_type="application/json")


def send(client: APIClient, name: str, content: bytes) -> Any:
    return client.post(
        "/api/problems/import/", {"file": SimpleUploadedFile(name, content)}, format="multipart"
    )


def test_a_problem_is_added_with_what_the_body_says(manager: APIClient) -> None:
    response = add(manager, problem="How many?", answer="3", subject="Counting", level=2)
    assert response.status_code == 201
    problem = Problem.objects.get()
    assert response.json()["id"] == problem.pk
    assert (problem.text, problem.answer, problem.subject, problem.level) == ("How many?", "3", "Counting", 2)
    assert problem.source == "api"


def test_a_problem_that_is_there_is_answered_as_it_is(manager: APIClient) -> None:
    known = ProblemFactory.create(text="How many?", answer="3")
    response = add(manager, problem="How  many?", answer="4")
    assert response.status_code == 200
    assert response.json()["id"] == known.pk
    assert response.json()["answer"] == "3"


@pytest.mark.parametrize(
    "extra", ["held_out", "retired_at", "text_hash", "id", "created_at", "rounds", "labels", "line"]
)
def test_what_the_server_decides_cannot_be_assigned(manager: APIClient, extra: str) -> None:
    response = add(manager, problem="How many?", **{extra: "1"})
    assert response.status_code == 400
    assert list(response.json()["fields"]) == [extra]
    assert not Problem.objects.exists()


@pytest.mark.parametrize(
    ("body", "at_fault"),
    [
        ({}, "problem"),
        ({"problem": "   "}, "problem"),
        ({"problem": 7.5}, None),
        ({"problem": ["How many?"]}, "problem"),
        ({"problem": "NUL \x00"}, "problem"),
        ({"problem": "half \ud83d"}, "problem"),
        ({"problem": "x" * 100_001}, "problem"),
        ({"problem": "How many?", "level": 10**12}, "level"),
        ({"problem": "How many?", "source": "s" * 101}, "source"),
    ],
)
def test_a_problem_that_cannot_be_one_is_refused_with_the_key_at_fault(
    manager: APIClient, body: dict[str, Any], at_fault: str | None
) -> None:
    response = add(manager, **body)
    if at_fault is None:
        assert response.status_code == 201
    else:
        assert response.status_code == 400
        assert list(response.json()["fields"]) == [at_fault]


def test_a_file_becomes_a_job_whose_result_tells_what_was_refused(manager: APIClient) -> None:
    lines = b'{"problem": "How many?", "answer": "3"}\n{broken\n'
    response = send(manager, "mine.jsonl.gz", gzip.compress(lines))
    assert response.status_code == 202
    job = Job.objects.get(pk=response.json()["id"])
    assert (job.kind, job.status) == ("import_problems", "queued")
    result = import_upload(payload=job.payload, progress=silent)  # what the worker does with it
    assert (result["added"], result["n_refused"]) == (1, 1)
    assert Problem.objects.get().source == "mine"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("virus.exe", b"MZ"),
        ("mine.pickle", b"\x80"),
        ("mine.jsonl", b""),
        ("../../etc/passwd", b"root"),
        (".jsonl.sh", b"x"),
    ],
)
def test_a_file_of_no_known_kind_or_without_content_is_refused(
    manager: APIClient, name: str, content: bytes
) -> None:
    response = send(manager, name, content)
    assert response.status_code == 400
    assert response.json()["code"] in ("upload_refused", "invalid")
    assert not Job.objects.exists()


def test_the_name_a_file_came_with_never_becomes_a_path(manager: APIClient) -> None:
    send(manager, "../../../tmp/evil.jsonl", b"{}")
    path = Job.objects.get().payload["path"]
    assert path.startswith("uploads/")
    assert "evil" not in path
    assert ".." not in path


def test_a_gzip_bomb_ends_as_refused_rows_in_bounded_memory(manager: APIClient) -> None:
    import tracemalloc

    bomb = gzip.compress(b"[" * 300_000_000, compresslevel=1)
    assert len(bomb) < 3_000_000
    send(manager, "bomb.jsonl.gz", bomb)
    job = Job.objects.get()
    tracemalloc.start()
    result = import_upload(payload=job.payload, progress=silent)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result["added"] == 0
    assert result["n_refused"] >= 1
    assert peak < 50 * 2**20


def test_deeply_nested_json_in_a_file_is_one_refused_row(manager: APIClient) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    send(manager, "deep.jsonl", deep + b'\n{"problem": "How many?", "answer": "3"}\n')
    result = import_upload(payload=Job.objects.get().payload, progress=silent)
    assert (result["added"], result["n_refused"]) == (1, 1)


def test_a_problem_says_its_kind_of_answer(manager: APIClient) -> None:
    response = add(manager, problem="Add one.", kind="code", tests=["assert f(1) == 2"])
    assert response.status_code == 201
    assert (response.json()["kind"], response.json()["tests"]) == ("code", ["assert f(1) == 2"])
    response = add(manager, problem="How heavy?", answer="9.8", tolerance="1 %")
    assert (response.json()["kind"], response.json()["tolerance"]) == ("number", "1 %")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"kind": "essay"}, "essay"),
        ({"kind": "code"}, "needs `tests`"),
        ({"kind": "text", "tolerance": "1"}, "belongs to `kind` number"),
        ({"tests": {"input": "1"}}, "`tests` must be"),
        ({"tests": [5]}, "each of `tests`"),
    ],
)
def test_a_kind_that_does_not_fit_is_refused(manager: APIClient, body: Any, reason: str) -> None:
    response = add(manager, problem="How many?", answer="3", **body)
    assert response.status_code == 400
    assert reason in json.dumps(response.json()["fields"]["kind"])
    assert not Problem.objects.exists()
