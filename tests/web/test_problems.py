"""Problems: the list, and files that managers send."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotate import tasks
from annotate.loop import uploads
from annotate.models import Job, JobStatus, Problem, StepScore
from annotate.web.problems import PAGE
from tests.factories import PRMVersionFactory, ProblemFactory, SolutionScoreFactory
from tests.loop.labelling import labels_of_one


@pytest.fixture(autouse=True)
def _storage(tmp_path: Path, settings: Any) -> None:
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        }
    }


def _send(client: Client, name: str, content: bytes) -> str:
    return client.post(
        "/problems/upload/", {"file": SimpleUploadedFile(name, content)}, follow=True
    ).content.decode()


def _rows(*rows: object) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


GOOD = {"problem": "What is 2 + 2?", "answer": "4"}


def test_a_file_is_imported_by_a_job_and_its_refused_rows_are_named(as_manager: Client) -> None:
    html = _send(as_manager, "new.jsonl", _rows(GOOD, {"prompt": "?"}, GOOD))
    assert "new.jsonl has arrived" in html
    assert "Waits for a worker" in html
    job = Job.objects.get()
    assert not Problem.objects.exists()  # the request itself imports nothing

    tasks.import_problems(job.pk)
    assert Problem.objects.get().source == "new"
    html = as_manager.get("/problems/upload/").content.decode()
    assert "1 added, 1 known already, 1 refused." in html
    assert "line 2: " in html


def test_a_packed_file_is_read_and_deleted_once_it_is_imported(as_manager: Client) -> None:
    _send(as_manager, "new.jsonl.gz", gzip.compress(_rows(GOOD)))
    job = Job.objects.get()
    path = job.payload["path"]
    assert default_storage.exists(path)
    tasks.import_problems(job.pk)
    assert Problem.objects.count() == 1
    assert not default_storage.exists(path)


def test_a_worker_killed_in_the_middle_leaves_the_file_for_the_next(as_manager: Client) -> None:
    _send(as_manager, "new.jsonl", _rows(GOOD))
    job = Job.objects.get()
    uploads.import_upload(payload=job.payload, progress=lambda _: None)  # imported, but nobody wrote so down
    tasks.import_problems(job.pk)
    job.refresh_from_db()
    assert (job.status, job.result["added"], job.result["known"]) == (JobStatus.DONE, 0, 1)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("evil.exe", b"MZ", "send a file that ends in .json"),
        ("new.jsonl", b"", "new.jsonl is empty"),
        ("../../etc/passwd", b"root", "passwd: send a file"),
        ("<script>.txt", b"x", "&lt;script&gt;.txt"),
    ],
)
def test_a_file_that_cannot_be_one_of_problems_is_refused(
    name: str, content: bytes, why: str, as_manager: Client
) -> None:
    assert why in _send(as_manager, name, content)
    assert not Job.objects.exists()


def test_a_file_that_is_too_large_is_refused_with_the_limit(
    as_manager: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LARGEST", 2**20)
    assert "at most 1 MB" in _send(as_manager, "big.csv", b"x" * (2**20 + 1))


def test_a_path_in_a_files_name_leads_nowhere(as_manager: Client, tmp_path: Path) -> None:
    _send(as_manager, "../../../tmp/pwned.jsonl", _rows(GOOD))
    (stored,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert stored.parent == tmp_path / "uploads"
    assert Job.objects.get().payload["name"] == "pwned.jsonl"


def test_no_file_at_all_is_said(as_manager: Client) -> None:
    assert "Choose a file first" in as_manager.post("/problems/upload/", follow=True).content.decode()


def test_several_files_are_a_job_each(as_manager: Client) -> None:
    files = [SimpleUploadedFile("a.jsonl", _rows(GOOD)), SimpleUploadedFile("b.jsonl", _rows(GOOD))]
    as_manager.post("/problems/upload/", {"file": files})
    assert Job.objects.count() == 2


def test_many_refused_rows_are_capped_and_counted(as_manager: Client) -> None:
    _send(as_manager, "bad.jsonl", _rows(*({"prompt": n} for n in range(uploads.REASONS_KEPT + 50))))
    tasks.import_problems(Job.objects.get().pk)
    html = as_manager.get("/problems/upload/").content.decode()
    assert html.count("<li>line ") == uploads.REASONS_KEPT
    assert f"{uploads.REASONS_KEPT + 50} in all" in html


def test_hostile_rows_and_names_are_shown_as_text(as_manager: Client) -> None:
    _send(as_manager, "<img src=x onerror=alert(1)>.jsonl", b'{"<script>alert(1)</script>": 1}\n')
    tasks.import_problems(Job.objects.get().pk)
    html = as_manager.get("/problems/upload/").content.decode()
    assert "<img" not in html
    assert "<script>alert" not in html


def test_the_list_goes_back_page_by_page(as_manager: Client) -> None:
    ProblemFactory.create_batch(PAGE + 2)
    first = as_manager.get("/problems/")
    older = f"?before={first.context['older']}"
    assert older in first.content.decode()
    second = as_manager.get(f"/problems/{older}")
    seen = [p.pk for p in first.context["problems"]] + [p.pk for p in second.context["problems"]]
    assert seen == sorted(Problem.objects.values_list("pk", flat=True), reverse=True)
    assert second.context["older"] is None


@pytest.mark.parametrize("before", ["x", "-1", "9" * 40, "²", "1;drop"])
def test_a_page_that_makes_no_sense_still_opens(before: str, as_manager: Client) -> None:
    assert as_manager.get("/problems/", {"before": before}).status_code == 200


def test_the_list_asks_the_same_number_of_queries_however_many_problems(as_manager: Client) -> None:
    ProblemFactory.create()
    as_manager.get("/problems/")
    with CaptureQueriesContext(connection) as few:
        as_manager.get("/problems/")
    ProblemFactory.create_batch(30)
    with CaptureQueriesContext(connection) as many:
        as_manager.get("/problems/")
    assert len(many) == len(few) <= 6


def test_a_hostile_problem_is_shown_as_text(as_manager: Client) -> None:
    ProblemFactory.create(text="<script>alert(1)</script> $\\href{javascript:alert(1)}{x}$", source="<b>")
    html = as_manager.get("/problems/").content.decode()
    assert "<script>alert" not in html
    assert 'href="javascript' not in html
    assert "<b>" not in html


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)  # a job's heart beats through a connection of its own
def test_the_whole_of_gsm8k_goes_in_through_the_page(broker: str, as_manager: Client) -> None:
    file = settings.BASE_DIR.parent / "shared" / "data" / "gsm8k_train.jsonl.gz"
    if not file.exists():
        pytest.skip(f"needs {file.name} beside the repository")
    _send(as_manager, file.name, file.read_bytes())
    tasks.import_problems(Job.objects.get().pk)
    job = Job.objects.get()
    assert (job.status, job.done, job.result["n_refused"]) == (JobStatus.DONE, job.total, 0)
    assert Problem.objects.count() == job.result["added"] > 7000


def test_the_list_says_what_kind_of_answer_a_problem_wants(as_manager: Client) -> None:
    ProblemFactory(answer=None, kind="code", tests=["assert f()", "assert g()"])
    ProblemFactory(answer="9.81", kind="number", tolerance="1 %")
    page = " ".join(as_manager.get("/problems/").content.decode().split())
    assert '2 tests <span class="tag">code</span>' in page
    assert '<math><mn>9.81</mn></math> ± 1 % <span class="tag">number</span>' in page
    assert "without an answer" not in page


def test_a_file_too_large_and_any_file_of_who_may_send_none_is_refused_unread(
    as_manager: Client, as_annotator: Client
) -> None:
    def sent(client: Client, path: str, megabytes: int) -> Any:
        kind = "multipart/form-data; boundary=x"
        return client.generic("POST", path, b"", content_type=kind, CONTENT_LENGTH=str(megabytes * 2**20))

    refused = sent(as_manager, "/problems/upload/", 513)
    assert refused.status_code == 413
    assert "at most 512 MB" in refused.content.decode()
    refused = sent(as_manager, "/versions/benchmarks/", 65)
    assert refused.status_code == 413
    assert "at most 64 MB" in refused.content.decode()
    assert sent(as_manager, "/versions/benchmarks/", 63).status_code != 413
    assert sent(as_annotator, "/versions/benchmarks/", 3).status_code == 413
    assert sent(as_annotator, "/problems/upload/", 3).status_code == 413
    assert sent(Client(), "/login/", 3).status_code == 413


@pytest.mark.django_db
def test_a_problem_is_found_by_its_words_or_its_number_page_by_page(as_manager: Client) -> None:
    sheep = [ProblemFactory.create(text=f"How many SHEEP are in field {n}?") for n in range(PAGE + 1)]
    other = ProblemFactory.create(text="100% of what?")

    def found(**asked: str | int) -> list[Problem]:
        return as_manager.get("/problems/", asked).context["problems"]

    assert found(q=" sheep ") == sheep[:0:-1]
    html = as_manager.get("/problems/", {"q": "sheep"}).content.decode()
    assert f'href="?before={sheep[1].pk}&amp;q=sheep"' in html
    assert found(q="sheep", before=sheep[1].pk) == sheep[:1]
    assert found(q="0% of") == [other]
    assert other in found(q=other.pk)
    assert "No problem has these words." in as_manager.get("/problems/?q=goats").content.decode()


@pytest.mark.django_db
def test_a_problems_page_has_its_solutions_with_the_newest_scores_and_labels(as_manager: Client) -> None:
    label, _ = labels_of_one((1, -1), (1, 1, 1, 1))
    solution = label.solution
    for number, p_bad in ((7, 0.9), (8, 0.25)):
        prm = PRMVersionFactory.create(number=number)
        SolutionScoreFactory.create(solution=solution, prm=prm, product=p_bad / 2)
        StepScore.objects.create(
            step=solution.steps.first(), prm=prm, p_bad=p_bad, p_okay=0, p_great=1 - p_bad
        )
    address = f"/problems/{solution.problem_id}/"
    assert f'<a href="{address}">' in as_manager.get("/problems/").content.decode()
    html = as_manager.get(address).content.decode()
    assert "v8: 0.125" in html
    assert "v7" not in html
    assert ">0.25</span>" in html
    assert f'<a href="/labels/{label.pk}/">the label by {label.annotator.username}</a>' in html
    assert f'<a href="{address}">' in as_manager.get(f"/labels/{label.pk}/").content.decode()


@pytest.mark.django_db
def test_a_problem_without_solutions_says_what_brings_them(as_manager: Client) -> None:
    html = as_manager.get(f"/problems/{ProblemFactory.create().pk}/").content.decode()
    assert "no round has taken it" in html
    assert "Start a round" in html


@pytest.mark.django_db
def test_only_managers_read_a_problem_with_its_scores(as_annotator: Client) -> None:
    assert as_annotator.get(f"/problems/{ProblemFactory.create().pk}/").status_code == 403
