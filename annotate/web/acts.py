"""A button's press: one verb, its word or its refusal as a message, and back to the page it was pressed on."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
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
