"""Who may see which page, and how people log in. Pages name their role with one of two decorators."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import Group
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.contrib.messages.views import SuccessMessageMixin
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse_lazy
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django_htmx.middleware import HtmxDetails

from annotate.models import Given, LoginAttempt, Person, Statement

View = Callable[..., HttpResponseBase]


class PersonRequest(HttpRequest):
    """A request as pages get it: the middleware has let only people who are logged in through."""

    user: Person
    htmx: HtmxDetails


def manager_required(view: View) -> View:
    """For managers' pages: anonymous visitors are sent to log in by the middleware, others get 403."""
    return _only(view, lambda person: person.is_manager, _("This page is for managers."))


def annotator_required(view: View) -> View:
    """For labelling pages: 403 for people who do not label."""
    return _only(view, lambda person: person.is_annotator, _("This page is for annotators."))


def _only(view: View, admits: Callable[[Person], bool], refusal: str | Promise) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not (isinstance(request.user, Person) and admits(request.user)):
            raise PermissionDenied(str(refusal))
        return view(request, *args, **kwargs)

    return guarded


def client_address(request: HttpRequest) -> str:
    """The visitor's address; behind a trusted proxy, the one that proxy saw."""
    if settings.CONFIG.trust_proxy:
        return request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()[:45]
    return request.META.get("REMOTE_ADDR", "")[:45]


def _with_roles() -> QuerySet[Person]:
    names = Group.objects.filter(user=OuterRef("pk")).values("name")
    return Person.objects.annotate(**{"group_names": ArraySubquery(names)}).filter(pk=Given("pk"))


_PERSON = Statement(_with_roles)


class Backend(ModelBackend):
    """Django's own, except that a request's person comes with their roles in the same query."""

    def get_user(self, user_id: int) -> Person | None:
        person = _PERSON.first(pk=user_id)
        if person is None or not self.user_can_authenticate(person):
            return None
        person.role_names = frozenset(person.group_names)
        return person


class LoginForm(AuthenticationForm):
    """Name and password, refused unread after too many failures (see LoginAttempt)."""

    def clean(self) -> dict[str, Any]:
        assert self.request is not None
        attempt = LoginAttempt.objects.admits(
            username=self.cleaned_data.get("username", ""), address=client_address(self.request)
        )
        if attempt is None:
            minutes = int(LoginAttempt.WINDOW.total_seconds() // 60)
            raise ValidationError(
                _("Too many attempts to log in. Wait %(minutes)s minutes, then try again."),
                params={"minutes": minutes},
                code="too_many",
            )
        cleaned = super().clean()  # raises where the password is wrong, and the attempt stays written
        attempt.delete()
        return cleaned


class Login(LoginView):
    """The one login page; it follows `next` only within this site (Django checks the host)."""

    template_name = "login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_invalid(form)
        if form.has_error("__all__", "too_many"):
            response.status_code = 429
        return response


class ChangePassword(SuccessMessageMixin, PasswordChangeView):
    """A person's own password; every other session of theirs ends (Django's session hash)."""

    template_name = "people/password.html"
    success_url = reverse_lazy("home")
    success_message = _("Your password is changed. Wherever else you were logged in, you are logged out.")
