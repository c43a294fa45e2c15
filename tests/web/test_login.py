"""Signing in and out: the limit, where one lands, and what becomes of sessions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotate.models import ANNOTATOR, MANAGER, LoginAttempt, Person
from tests.factories import PASSWORD, PersonFactory


def _sign_in(client: Client, username: str, password: str = PASSWORD, **more: str) -> object:
    return client.post("/login/", {"username": username, "password": password, **more})


@pytest.mark.parametrize(
    ("roles", "place"),
    [((MANAGER,), "/progress/"), ((ANNOTATOR,), "/label/"), ((ANNOTATOR, MANAGER), "/progress/")],
)
def test_everybody_lands_at_their_own_work(roles: tuple[str, ...], place: str, stranger: Client) -> None:
    PersonFactory.create(username="cleo", roles=roles)
    _sign_in(stranger, "cleo")
    assert stranger.get("/")["Location"] == place


def test_a_person_without_a_role_is_told_whom_to_ask(stranger: Client) -> None:
    PersonFactory.create(username="nobody")
    _sign_in(stranger, "nobody")
    response = stranger.get("/")
    assert response.status_code == 403
    assert "Ask a manager" in response.content.decode()


@pytest.mark.parametrize(
    "evil", ["//evil.example", "https://evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_next_leads_nowhere_else(evil: str, annotator: Person, stranger: Client) -> None:
    assert _sign_in(stranger, "ada", next=evil)["Location"] == "/"


def test_next_leads_back_within_the_site(annotator: Person, stranger: Client) -> None:
    assert _sign_in(stranger, "ada", next="/work/?page=2")["Location"] == "/work/?page=2"


def test_who_is_signed_in_skips_the_login_page(as_annotator: Client) -> None:
    assert as_annotator.get("/login/").status_code == 302


def test_a_session_gets_a_new_key_at_sign_in(annotator: Person, stranger: Client) -> None:
    session = stranger.session
    session["planted"] = True
    session.save()
    before = stranger.cookies["sessionid"] = session.session_key  # type: ignore[assignment]
    _sign_in(stranger, "ada")
    assert stranger.session.session_key != before


def test_signing_out_takes_a_post_and_ends_the_session(as_annotator: Client) -> None:
    assert as_annotator.get("/logout/").status_code == 405
    assert as_annotator.post("/logout/")["Location"] == "/login/"
    assert as_annotator.get("/work/").status_code == 302


def test_after_eight_wrong_passwords_even_the_right_one_must_wait(
    annotator: Person, stranger: Client
) -> None:
    for _ in range(LoginAttempt.LIMIT):
        assert _sign_in(stranger, "ada", "wrong").status_code == 200
    refused = _sign_in(stranger, "ada")
    assert refused.status_code == 429
    assert "Wait 15 minutes" in refused.content.decode()
    assert stranger.get("/work/").status_code == 302

    LoginAttempt.objects.update(at=timezone.now() - timedelta(minutes=16))
    assert _sign_in(stranger, "ada").status_code == 302


def test_case_and_names_nobody_has_count_too(stranger: Client) -> None:
    for name in ("Ghost", "ghost", "GHOST", "gHost") * 2:
        _sign_in(stranger, name)
    assert _sign_in(stranger, "ghost").status_code == 429


def test_one_persons_failures_do_not_lock_out_another(annotator: Person, stranger: Client) -> None:
    for _ in range(LoginAttempt.LIMIT + 3):
        _sign_in(stranger, "mallory", "wrong")
    assert _sign_in(stranger, "ada").status_code == 302


def test_an_address_that_tries_many_names_must_wait(annotator: Person, stranger: Client) -> None:
    LoginAttempt.objects.bulk_create(
        LoginAttempt(username=f"name{n}", address="127.0.0.1") for n in range(LoginAttempt.WIDE_LIMIT)
    )
    assert _sign_in(stranger, "ada").status_code == 429


def test_right_passwords_are_not_counted(annotator: Person) -> None:
    for _ in range(LoginAttempt.LIMIT + 2):
        assert _sign_in(Client(), "ada").status_code == 302
    assert not LoginAttempt.objects.exists()


def test_a_changed_password_ends_every_other_session(annotator: Person, as_annotator: Client) -> None:
    elsewhere = Client()
    _sign_in(elsewhere, "ada")
    new = "a rather different staple"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert as_annotator.post("/password/", form).status_code == 302
    assert as_annotator.get("/work/").status_code == 200
    assert elsewhere.get("/work/").status_code == 302


def test_a_weak_new_password_is_refused_with_the_reason(as_annotator: Client) -> None:
    form = {"old_password": PASSWORD, "new_password1": "password", "new_password2": "password"}
    assert "too common" in as_annotator.post("/password/", form).content.decode()
