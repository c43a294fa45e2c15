"""One shape for every refusal: `{"detail": what and how to mend it, "code": a word for programs}`.

Where a body is at fault, `fields` says which key and why. Addresses outside the API keep their pages.
"""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views import defaults
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from annotate.errors import PlumblineError


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's EXCEPTION_HANDLER. What nobody foresaw stays a 500 and is logged; None says so."""
    if isinstance(exception, PlumblineError):
        return Response({"detail": exception.message, "code": _code(exception)}, status=exception.status)
    if isinstance(exception, RequestDataTooBig):
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        detail = _("The body may hold %(bytes)s bytes; a file goes to an import address.") % {"bytes": limit}
        return Response({"detail": detail, "code": "too_large"}, status=413)
    response = exception_handler(exception, context)
    if response is None:
        return None
    if isinstance(exception, ValidationError):
        fields = _flat(response.data)
        words = "; ".join(f"{name}: {' '.join(reasons)}" for name, reasons in fields.items())
        response.data = {"detail": words, "code": "invalid", "fields": fields}
    else:
        detail = response.data["detail"]
        code = detail.code if isinstance(detail, ErrorDetail) else "error"
        response.data = {"detail": str(detail), "code": code}
    return response


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404: an address that is none, told to a script as every other refusal, to people by a page."""
    if not request.path.startswith("/api/"):
        return defaults.page_not_found(request, exception)
    detail = _("The address is wrong, or what it named is gone.")
    return JsonResponse({"detail": detail, "code": "not_found"}, status=404)


def broken(request: HttpRequest) -> HttpResponse:
    """Django's handler500, in the same two ways."""
    if not request.path.startswith("/api/"):
        return defaults.server_error(request)
    detail = _("Something broke on our side: the server’s log says what happened.")
    return JsonResponse({"detail": detail, "code": "error"}, status=500)


def _code(exception: Exception) -> str:
    """`LeaseLost` is "lease_lost"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(exception).__name__).lower()


def _flat(detail: Any, where: str = "body") -> dict[str, list[str]]:
    """Reasons by key, inner keys written `outer.inner`."""
    if isinstance(detail, dict):
        flat: dict[str, list[str]] = {}
        for key, inner in detail.items():
            name = "body" if key == "non_field_errors" else str(key)
            flat |= _flat(inner, name if where == "body" else f"{where}.{name}")
        return flat
    if isinstance(detail, list):
        if all(isinstance(item, str) for item in detail):
            return {where: [str(item) for item in detail]}
        return {
            k: v for i, item in enumerate(detail) if item for k, v in _flat(item, f"{where}[{i}]").items()
        }
    return {where: [str(detail)]}
