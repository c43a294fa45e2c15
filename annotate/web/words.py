"""Template filters of managers' pages: durations and names as people say them."""

from __future__ import annotations

from django import template

from annotate.loop import keymap

from .benchmarks import f1
from .report import figure

register = template.Library()


register.filter("shown", keymap.shown)


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


register.filter("benchmark_f1", f1)
register.filter("figure", figure)


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
