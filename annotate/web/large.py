"""A body too large for where it goes is refused by its Content-Length, before a byte of it is read or kept."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from annotate.loop import benchmark, uploads

# What the pages take that take files, in bytes.
_PAGES = {"upload": uploads.LARGEST, "benchmark_send": benchmark.LARGEST.file_bytes}
_BESIDE_FILES = 64 * 1024  # bytes of the form around them


def refuse_large_bodies(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """A middleware. Only managers may send files, and only where files are taken.

    The API's own permissions come before its body is read; a form is read by the CSRF check, before any view.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        most, length = settings.DATA_UPLOAD_MAX_MEMORY_SIZE, _length(request)
        if length > most:
            most = max(most, _most_of_files(request))
        if length <= most + _BESIDE_FILES:
            return get_response(request)
        said = _("That is too large: %(sent)s MB were to come, at most %(most)s MB are taken here.") % {
            "sent": f"{length / 2**20:.0f}",
            "most": f"{most / 2**20:.0f}",
        }
        if request.path.startswith("/api/"):
            return JsonResponse({"detail": said, "code": "too_large"}, status=413)
        return HttpResponse(said, status=413, content_type="text/plain; charset=utf-8")

    return middleware


def _most_of_files(request: HttpRequest) -> int:
    """How many bytes of files may come to this address; 0 where none may."""
    if request.path == reverse("api:problem-upload"):
        return uploads.LARGEST
    if getattr(request.user, "is_manager", False):
        return next((most for name, most in _PAGES.items() if request.path == reverse(name)), 0)
    return 0


def _length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0  # Django reads none of it
