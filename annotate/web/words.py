"""Template filters of managers' pages: durations and names as people say them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.translation import get_language

from annotate.loop import keymap
from annotate.loop.work import WorkStep
from annotate.models import PRMVersion

from .report import short

register = template.Library()


register.filter("shown", keymap.shown)


@register.simple_tag
def rates(step: WorkStep, keys: Mapping[str, str]) -> str:
    """The three ratings of a step as a radio group, with the person's keys."""
    return _rates(step.index, step.rating, keys["bad"], keys["okay"], keys["great"], get_language() or "")


@lru_cache(
    maxsize=4096
)  # the same few hundred for everybody, and a third of a page's cost if rendered each time
def _rates(index: int, rating: int | None, bad: str, okay: str, great: str, _language: str) -> str:
    context = {
        "index": index,
        "number": index + 1,
        "rating": rating,
        "bad": bad,
        "okay": okay,
        "great": great,
    }
    return render_to_string("label/_rates.html", context)


@register.filter
def minutes(milliseconds: float | None) -> str:
    """A working time as minutes and seconds, "1:48"."""
    if milliseconds is None:
        return "–"
    seconds = round(milliseconds / 1000)
    return f"{seconds // 60}:{seconds % 60:02}"


@register.filter
def about(seconds: float) -> str:
    """A time left, no more exact than it is known: "40 s", "3 min", "2 h"."""
    if seconds < 60:
        return f"{max(10, round(seconds, -1)):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


@register.filter
def metric(version: PRMVersion, name: str) -> str:
    """One figure of a version's report, for a table."""
    return short(version, name)


@register.filter
def share_of(part: int, whole: int) -> str:
    """A share in whole percent; a dash where there is no whole."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


@register.filter
def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %"


@register.filter
def compact(count: int) -> str:
    """A count that fits a tile: exact below 100,000, then "123k" and "1.2M"."""
    if count < 100_000:
        return f"{count:,}"
    return f"{count // 1000}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"
