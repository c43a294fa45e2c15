"""What the API says of itself: OpenAPI without a warning, a page of it, and a curl that works as it is written."""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from jsonschema import Draft4Validator
from pytest_django.live_server_helper import LiveServer
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from annotate.models import Concern, Label
from tests.factories import (
    AnnotatorFactory,
    GoldFactory,
    GradedSolutionFactory,
    JobFactory,
    ManagerFactory,
    PRMVersionFactory,
    RoundFactory,
)


def as_json_schema(part: Any) -> Any:
    """OpenAPI 3.0 says `nullable` where JSON Schema has a type for null."""
    if isinstance(part, list):
        return [as_json_schema(item) for item in part]
    if not isinstance(part, dict):
        return part
    plain = {key: as_json_schema(item) for key, item in part.items()}
    return {"anyOf": [plain, {"type": "null"}]} if plain.pop("nullable", None) is True else plain


def test_the_openapi_description_is_valid_and_made_without_a_warning() -> None:
    out = io.StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=out)
    assert "openapi: 3" in out.getvalue()


@pytest.mark.django_db
def test_the_description_names_the_token_and_the_refusals(manager: APIClient) -> None:
    schema = manager.get("/api/schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    assert "tokenAuth" in schema["components"]["securitySchemes"]
    for operations in schema["paths"].values():
        for operation in operations.values():
            assert operation["description"]
            assert operation["responses"]["4XX"]["content"]["application/json"]["schema"]["$ref"].endswith(
                "/Error"
            )


@pytest.mark.django_db
def test_what_lists_answer_is_what_the_description_says_also_where_nobody_did_it(manager: APIClient) -> None:
    """A generated client reads what is null or empty by the description alone."""
    JobFactory.create(requested_by=None)
    GoldFactory.create(created_by=None)
    RoundFactory.create(started_by=None)
    PRMVersionFactory.create(decided_by=None)
    solution = GradedSolutionFactory.create()
    label = Label.objects.create(
        problem=solution.problem,
        solution=solution,
        annotator=AnnotatorFactory.create(),
        question={},
        finish_reason="bad_problem",
        submitted_at=timezone.now(),
    )
    Concern.objects.create(label=label, problem=label.problem, kind=Concern.Kind.PROBLEM)
    schema = manager.get("/api/schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    for name in ("problems", "rounds", "labels", "gold", "disputes", "concerns", "versions", "jobs"):
        told = schema["paths"][f"/api/{name}/"]["get"]["responses"]["200"]["content"]["application/json"]
        whole = as_json_schema(told["schema"] | {"components": schema["components"]})
        answer = manager.get(f"/api/{name}/").json()
        assert answer["results"] or name == "disputes"
        assert not [error.message for error in Draft4Validator(whole).iter_errors(answer)], name


@pytest.mark.django_db
def test_the_description_says_that_bodies_take_no_other_keys(manager: APIClient) -> None:
    schema = manager.get("/api/schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    assert schema["components"]["schemas"]["RateBody"]["additionalProperties"] is False
    assert "additionalProperties" not in schema["components"]["schemas"]["Work"]


@pytest.mark.django_db
def test_the_page_tells_every_address_without_a_script_of_its_own() -> None:
    client = Client()
    client.force_login(AnnotatorFactory.create())
    response = client.get("/api/docs/")
    page = response.content.decode()
    for told in (
        "POST /api/queue/next/",
        "GET /api/labels/export/",
        "step_index",
        "multipart/form-data",
        "binary",
    ):
        assert told in page
    assert "unsafe" not in response["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert not re.search(r"\son\w+=|\sstyle=", page)


@pytest.mark.django_db
def test_the_page_is_for_people_who_signed_in() -> None:
    assert Client().get("/api/docs/").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_the_curl_on_the_page_works_as_it_is_written(live_server: LiveServer) -> None:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    person = ManagerFactory.create()
    client = Client(HTTP_HOST=live_server.url.removeprefix("http://"))
    client.force_login(person)
    page = client.get("/api/docs/").content.decode()
    command = html.unescape(re.search(r"<code>(curl .*?)</code>", page, re.DOTALL)[1])  # type: ignore[index]
    assert shlex.split(command)[0] == "curl"
    token = Token.objects.create(user=person).key
    result = subprocess.run(
        ["bash", "-c", command],
        env=os.environ | {"TOKEN": token, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert '"waiting"' in result.stdout, result.stderr
