"""What the labelling page sends with an act: which step and value, when it was given, how much time it took."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotate.errors import InvalidRating


def step_and_value(request: HttpRequest, name: str) -> tuple[int, int | None]:
    """The pressed button's value, "index:value"; the value "none" is None. Raises InvalidRating."""
    index, _colon, value = request.POST.get(name, "").partition(":")
    try:
        return int(index), None if value == "none" else int(value)
    except ValueError:
        raise InvalidRating(
            _("%(name)s must be a step's index and a value, like 0:1.") % {"name": name}
        ) from None


def given_at(request: HttpRequest) -> datetime | None:
    """When the act was given, by the page's clock set to the server's; None where no script said so."""
    try:
        return datetime.fromtimestamp(int(request.POST["at"]) / 1000, UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def active_ms(request: HttpRequest) -> int:
    """Active milliseconds on the item so far."""
    return _whole(request.POST.get("active_ms", ""))


def step_ms(request: HttpRequest) -> dict[int, int]:
    """Active milliseconds by step index, sent as "0:1200,3:500"."""
    pairs = (pair.partition(":") for pair in request.POST.get("step_ms", "").split(",")[:1000])
    return {_whole(index): _whole(ms) for index, separator, ms in pairs if separator}


def number(request: HttpRequest, name: str) -> int | None:
    text = request.POST.get(name, "")
    return _whole(text) if text else None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0
