"""A PRM version's report as rows and charts. Knows the engine's names of metrics, and shows those it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from annotate.models import PRMVersion

from .plots import Line, confusion_chart, line_chart

# Name in the report: what people read, digits, and whether more is better (None: neither).
KNOWN: dict[str, tuple[str, int, bool | None]] = {
    "log_likelihood": ("Log-likelihood of a rating (decides)", 4, True),
    "step_accuracy": ("Steps judged bad or not as people did", 3, True),
    "balanced_accuracy": ("the same, bad and other steps weighing alike", 3, True),
    "rating_accuracy": ("Exact rating of the three", 3, True),
    "auc": ("AUC, bad against other steps", 3, True),
    "macro_auc": ("AUC, mean of each rating against the rest", 3, True),
    "first_error_accuracy": ("First error found exactly, or none where none is", 3, True),
    "error_accuracy": ("found, of solutions with an error", 3, True),
    "correct_accuracy": ("none raised, of solutions without", 3, True),
    "calibration_error": ("Calibration error of p(bad)", 3, False),
    "base_log_likelihood": ("Log-likelihood of guessing by the shares", 4, None),
    "majority_accuracy": ("Steps right by guessing the commoner", 3, None),
    "solutions": ("Held-out solutions", 0, None),
    "steps": ("Held-out steps", 0, None),
    "human_steps": ("of them rated by people", 0, None),
    "unscorable": ("Held-out solutions refused", 0, None),
    "train_solutions": ("Solutions trained on", 0, None),
    "train_steps": ("Steps trained on", 0, None),
    "train_unusable": ("Training solutions left out", 0, None),
    "train_loss": ("Loss at the end of training", 3, None),
}
RATINGS = ("bad", "okay", "great")  # as the engine orders them


@dataclass(frozen=True)
class Figure:
    """One metric of a version, beside the version that served when it was trained."""

    name: str
    value: str
    before: str
    better: bool | None  # None where they are equal, cannot be compared, or neither is better


def figures(version: PRMVersion) -> list[Figure]:
    """Every metric that has a value, the known ones first."""
    metrics = version.report.get("metrics", {})
    before = version.report.get("serving", {}).get("metrics", {})
    names = [name for name in KNOWN if name in metrics] + sorted(set(metrics) - set(KNOWN))
    known = [name for name in names if (metrics[name], before.get(name)) != (None, None)]
    return [_figure(name, metrics[name], before.get(name)) for name in known]


def unmeasured(version: PRMVersion) -> bool:
    """Whether there was no held-out label to measure it on, as for the first versions of a young project."""
    return version.report.get("metrics", {}).get("steps") == 0


def short(version: PRMVersion, name: str) -> str:
    """One metric as a list of versions shows it: a share as a percentage with one decimal."""
    value = version.report.get("metrics", {}).get(name)
    return "–" if not _is_number(value) else f"{100 * value:.1f}"


def charts(version: PRMVersion) -> list[tuple[str, SafeString]]:
    """How training went, where its probabilities and its ratings err: titles and those charts that can be drawn."""
    tables = version.report.get("tables", {})
    counts = [[int(count) for count in row] for row in tables.get("confusion", ())]
    drawn = {
        (title := "Loss while training"): _training(title, version.report.get("curve", ())),
        (title := "Calibration of p(bad)"): _reliability(title, tables.get("reliability", ())),
        (title := "Ratings of held-out steps"): confusion_chart(
            title=title, names=RATINGS, counts=counts, rows="given", columns="predicted"
        ),
    }
    return [(title, chart) for title, chart in drawn.items() if chart is not None]


def _training(title: str, curve: Sequence[dict[str, Any]]) -> SafeString | None:
    names = ("loss", "held_out_nll")
    lines = [
        Line(
            name.replace("_", "-", 1).replace("_", " "),
            [(p["step"], p[name]) for p in curve if name in p],
            dots=dots,
        )
        for name, dots in zip(names, (False, True), strict=True)
    ]
    highest = max((y for line in lines for _, y in line.points), default=1)
    return line_chart(
        title=title,
        lines=lines,
        x_label="step",
        y_label="loss",
        y_range=(0, 1.05 * highest or 1),
    )


def _reliability(title: str, rows: Sequence[Sequence[float]]) -> SafeString | None:
    """Each tenth of p(bad) against the share of its steps that people called bad."""
    return line_chart(
        title=title,
        lines=[
            Line("held-out steps", [(row[0], row[1]) for row in rows], dots=True),
            Line("if it meant what it says", [(0, 0), (1, 1)], reference=True),
        ],
        x_label="p(bad)",
        y_label="share that is bad",
        x_range=(0, 1),
        y_range=(0, 1),
    )


def _figure(name: str, value: Any, before: Any) -> Figure:
    words, digits, up = KNOWN.get(name, (name.replace("_", " ").capitalize(), 3, None))
    comparable = up is not None and isinstance(value, int | float) and isinstance(before, int | float)
    better = (value > before) == up if comparable and value != before else None
    return Figure(words, _number(value, digits), _number(before, digits), better)


def _number(value: Any, digits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    shown = f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"
    return shown.replace("-", "−")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
