"""What the API says of itself: OpenAPI without a warning, a page of it, and a curl that works as it is written."""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import shutil
import subprocess

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from tests.factories import AnnotatorFactory, ManagerFactory


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
