"""Every address of the site, tried by the whole cast. What is not listed here as an annotator's is a manager's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.factories import PRMVersionFactory, QueueFactory

FOR_EVERYBODY = {"login", "healthz"}
FOR_EVERYBODY_SIGNED_IN = {
    "home",
    "logout",
    "password",
    "settings",
    "settings_language",
    "instructions",
    "instructions_version",
}
FOR_ANNOTATORS = {"label", "label_rate", "label_flag", "label_undo", "label_submit", "label_heartbeat"}
FOR_ANNOTATORS |= {
    "label_dispute",
    "label_skip",
    "label_unskip",
    "work_take_back",
    "settings_keys",
    "practice",
}
FOR_ANNOTATORS |= {"practice_rate", "practice_done"}
FOR_ANNOTATORS |= {"label_ahead", "label_release", "screening", "work", "work_label"}
FOR_ANNOTATORS |= {"label_proposed", "label_again", "label_further", "label_choose", "label_write"}


def _patterns(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, str]]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield str(pattern.name), "/" + route.replace("<int:number>", "0").replace("<int:pk>", "1")
        elif not route.startswith(("admin/", "api/")):  # the admin is below, the API has tests of its own
            yield from _patterns(pattern, route)


PAGES = dict(_patterns(get_resolver()))
MANAGERS = sorted(set(PAGES) - FOR_EVERYBODY - FOR_EVERYBODY_SIGNED_IN - FOR_ANNOTATORS)


def test_the_lists_above_name_only_pages_that_exist() -> None:
    assert set(PAGES) >= FOR_EVERYBODY | FOR_EVERYBODY_SIGNED_IN | FOR_ANNOTATORS
    assert len(MANAGERS) > 15


@pytest.mark.parametrize("name", sorted(set(PAGES) - FOR_EVERYBODY))
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_stranger_is_sent_to_the_login_page_and_back(name: str, method: str, stranger: Client) -> None:
    path = PAGES[name].replace("<int:item>", "1")
    response = getattr(stranger, method)(path)
    if name == "logout":
        assert response.status_code in (302, 405)
    else:
        assert (response.status_code, response["Location"]) == (302, f"/login/?next={path}")


@pytest.mark.parametrize("name", MANAGERS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_annotator_is_refused_every_managers_page(name: str, method: str, as_annotator: Client) -> None:
    QueueFactory.create(pk=1)
    PRMVersionFactory.create(number=0)
    response = getattr(as_annotator, method)(PAGES[name])
    assert response.status_code == 403
    assert "This page is for managers." in response.content.decode()


@pytest.mark.parametrize("name", sorted(FOR_ANNOTATORS))
def test_a_manager_who_is_no_annotator_does_not_label(name: str, as_manager: Client) -> None:
    assert as_manager.get(PAGES[name].replace("<int:item>", "1")).status_code == 403


@pytest.mark.parametrize("path", ["/admin/", "/admin/annotate/label/", "/admin/annotate/person/1/change/"])
def test_the_admin_is_closed_to_annotators_and_strangers(
    path: str, as_annotator: Client, stranger: Client
) -> None:
    assert as_annotator.get(path, follow=True).status_code == 403
    assert stranger.get(path, follow=True).redirect_chain[-1][0].startswith("/login/?next=/admin/")


def test_a_managers_pages_open_on_an_empty_database(as_manager: Client) -> None:
    pages = ["progress", "versions", "problems", "upload", "queues", "people", "export", "password"]
    assert {name: as_manager.get(PAGES[name]).status_code for name in pages} == dict.fromkeys(pages, 200)


def test_acts_are_post_only(as_manager: Client) -> None:
    for name in ("round_start", "retrain", "roll_back", "person_add", "logout"):
        assert as_manager.get(PAGES[name]).status_code == 405, name


def test_a_form_without_its_token_changes_nothing(manager: object) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(manager)  # type: ignore[arg-type]
    response = client.post(PAGES["person_add"], {"username": "eve", "role": "manager"})
    assert response.status_code == 403
    assert "Please send it again" in response.content.decode()


def test_errors_have_pages_of_their_own(as_manager: Client) -> None:
    missing = as_manager.get("/versions/77/")
    assert missing.status_code == 404
    assert "There is nothing here" in missing.content.decode()


def test_the_policy_allows_no_inline_script_or_style_and_no_other_host(as_manager: Client) -> None:
    policy = as_manager.get("/progress/")["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for name in ("progress", "versions", "problems", "upload", "queues", "people"):
        html = as_manager.get(PAGES[name]).content.decode()
        assert " style=" not in html
        assert "<style" not in html
        assert "onclick" not in html
        assert "<script>" not in html
