"""Which language a page speaks: the one a person chose, else the browser's wish."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils import translation

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class LanguageMiddleware:
    """After authentication. Nothing in an address or a cookie says a language, so a link reads alike for everybody."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        chosen = getattr(request.user, "language", "")
        language = chosen or translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        if not chosen:
            response["Vary"] = ", ".join(filter(None, [response.get("Vary", ""), "Accept-Language"]))
        response.headers.setdefault("Content-Language", language)
        return response
