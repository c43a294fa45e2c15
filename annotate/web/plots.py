"""Small charts as geometry: numbers in, coordinates out; templates/versions/*.svg draw them. Knows no rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

WIDTH, HEIGHT = 440, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 14, 38
CELL = 76  # of a confusion matrix
ROW, INTERVALS_LEFT = 26, 176  # of an interval chart

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One named curve. Points with a value that is not finite are left out."""

    name: str
    points: Sequence[Point]
    reference: bool = False  # a diagonal or a baseline: drawn soft and dashed
    dots: bool = False


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def line_chart(
    *,
    title: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    x_range: Point | None = None,
    y_range: Point | None = None,
) -> SafeString | None:
    """An SVG line chart with a title and a description in words; None where there is nothing to draw."""
    lines = [Line(line.name, _finite(line.points), line.reference, line.dots) for line in lines]
    drawn = [line for line in lines if len(line.points) >= (1 if line.dots else 2)]
    if not any(not line.reference for line in drawn):
        return None
    points = [point for line in drawn for point in line.points]
    x = _Scale(*(x_range or _range([p[0] for p in points])), LEFT, WIDTH - RIGHT)
    y = _Scale(*(y_range or _range([p[1] for p in points])), HEIGHT - BOTTOM, TOP)
    curves = [
        {
            "name": line.name,
            "reference": line.reference,
            "number": number,
            "path": " ".join(f"{x(px)},{y(py)}" for px, py in line.points),
            "dots": [(x(px), y(py)) for px, py in line.points] if line.dots else (),
        }
        for number, line in enumerate(drawn, start=1)
    ]
    return _draw(
        "line",
        title,
        description=" ".join(_in_words(line) for line in drawn if not line.reference),
        curves=curves,
        x_ticks=[(x(tick), _short(tick)) for tick in _ticks(x.low, x.high, 5)],
        y_ticks=[(y(tick), _short(tick)) for tick in _ticks(y.low, y.high, 4)],
        x_label=x_label,
        y_label=y_label,
        frame={"left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": HEIGHT - BOTTOM},
    )


@dataclass(frozen=True)
class Span:
    """A value with its interval, where there is one; a value that is None is drawn as a gap with its reason."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def interval_chart(
    *, title: str, spans: Sequence[Span], x_range: Point, mark: float | None = None
) -> SafeString | None:
    """An SVG with a row a value: a dot, its interval as a bar, and a line at `mark`. None where there is nothing."""
    if not any(span.value is not None for span in spans):
        return None
    x = _Scale(*x_range, INTERVALS_LEFT, WIDTH - 62)
    rows = []
    for number, span in enumerate(spans):
        low, high = (
            (span.value, span.value) if span.low is None or span.high is None else (span.low, span.high)
        )
        drawn = span.value is not None and low is not None and high is not None
        rows.append(
            {
                "y": TOP + 14 + number * ROW,
                "name": span.name if len(span.name) <= 27 else span.name[:26] + "…",
                "figure": "–" if span.value is None else figure_of(span.value, 2),
                "ends": (x(_within(low, x_range)), x(_within(high, x_range))) if drawn else None,
                "x": x(_within(span.value, x_range)) if drawn else None,
            }
        )
    bottom = TOP + 6 + len(spans) * ROW
    return _draw(
        "intervals",
        title,
        description="; ".join(map(_span_in_words, spans)) + ".",
        rows=rows,
        ticks=[(x(tick), _short(tick)) for tick in _ticks(x.low, x.high, 4)],
        mark=None if mark is None else x(mark),
        frame={"left": INTERVALS_LEFT, "right": WIDTH - 62, "top": TOP, "bottom": bottom},
        tall=bottom + 24,
    )


def confusion_chart(
    *, title: str, names: Sequence[str], counts: Sequence[Sequence[int]], rows: str, columns: str
) -> SafeString | None:
    """An SVG confusion matrix, `counts[given][predicted]`, shaded by the share of its row; None where empty."""
    if not any(map(any, counts)):
        return None
    cells, words = [], []
    for i, row in enumerate(counts):
        whole = sum(row) or 1
        for j, count in enumerate(row):
            cells.append(
                {
                    "x": LEFT + 44 + j * CELL,
                    "y": TOP + 22 + i * CELL * 0.6,
                    "count": count,
                    "opacity": round(
                        0.45 * count / whole, 2
                    ),  # pale enough to read its number on, in light and dark
                    "right": i == j,
                }
            )
        words.append(
            f"{rows} {names[i]}: " + ", ".join(f"{n} {name}" for n, name in zip(row, names, strict=True))
        )
    return _draw(
        "confusion",
        title,
        description="; ".join(words) + ".",
        cells=cells,
        size={"width": CELL - 4, "height": CELL * 0.6 - 4},
        row_names=[(TOP + 22 + (i + 0.55) * CELL * 0.6, name) for i, name in enumerate(names)],
        column_names=[(LEFT + 42 + (j + 0.5) * CELL, name) for j, name in enumerate(names)],
        rows=rows,
        columns=columns,
    )


def _draw(kind: str, title: str, **context: object) -> SafeString:
    slug = "".join(c if c.isalnum() else "-" for c in title.lower())
    return render_to_string(
        f"versions/{kind}.svg", {"title": title, "slug": slug, "width": WIDTH, "height": HEIGHT, **context}
    )


def _finite(points: Sequence[Point]) -> list[Point]:
    return [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]


def _range(values: Sequence[float]) -> Point:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers within [low, high], about `about` of them."""
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def figure_of(value: float, digits: int) -> str:
    """A number with so many digits behind the point, as the reader's language writes it."""
    return _in_figures(f"{value:.{digits}f}")


def _short(value: float, digits: int = 6) -> str:
    """With so many digits in all, at most."""
    return _in_figures(f"{value:.{digits}g}")


def _in_figures(rounded: str) -> str:
    # number_format cuts digits off: it is given no more than are to be shown.
    return number_format(Decimal(rounded), force_grouping=True).replace("-", "−")


def _within(value: float | None, ends: Point) -> float:
    assert value is not None
    return min(max(value, ends[0]), ends[1])


def _span_in_words(span: Span) -> str:
    if span.value is None:
        return _("%(name)s: undefined") % {"name": span.name}
    if span.low is None or span.high is None:
        return f"{span.name}: {figure_of(span.value, 2)}"
    return _("%(name)s: %(value)s, between %(low)s and %(high)s") % {
        "name": span.name,
        "value": figure_of(span.value, 2),
        "low": figure_of(span.low, 2),
        "high": figure_of(span.high, 2),
    }


def _in_words(line: Line) -> str:
    (_start, first), (end, last) = line.points[0], line.points[-1]
    if last > first:
        words = _("%(name)s rises from %(first)s to %(last)s at %(end)s.")
    elif last < first:
        words = _("%(name)s falls from %(first)s to %(last)s at %(end)s.")
    else:
        words = _("%(name)s stays from %(first)s to %(last)s at %(end)s.")
    told = {"first": _short(first, 3), "last": _short(last, 3), "end": _short(end)}
    return words % {"name": line.name, **told}
