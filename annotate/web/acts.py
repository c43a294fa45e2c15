"""A button's press: one verb, its word or its refusal as a message, and back to the page it was pressed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from annotate.errors import PlumblineError

from .access import PersonRequest


def act(request: PersonRequest, do: Callable[[], str], *, back_to: str) -> HttpResponse:
    """Call `do`, tell what it says, and redirect to the form's `next` within this site, else to `back_to`.

    htmx follows the redirect and receives the page's live fragment; without it the browser shows the page.
    """
    try:
        messages.success(request, do())
    except PlumblineError as error:
        messages.error(request, str(error))
    here = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(here, {request.get_host()}, require_https=request.is_secure())
    # An address only: redirect() takes other words for the name of a page, and fails where there is none.
    return redirect(here if here.startswith("/") and safe else back_to)


def first_behind(waiting: QuerySet[Any], later: Q) -> int | None:
    """The first that waits behind what is answered now, else the first behind the last; None where none waits."""
    ids = waiting.values_list("pk", flat=True)
    return ids.filter(later).first() or ids.first()


def on_to(page: str, pk: int | None, *, otherwise: str) -> str:
    """The page of the next one to answer; where there is none, `otherwise`, a page's name."""
    return otherwise if pk is None else reverse(page, args=[pk])
