"""A PRM version's report as rows and charts. Knows the engine's names of metrics, and shows those it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models import PRMVersion

from .plots import Line, confusion_chart, line_chart

# Name in the report: what people read, digits, and whether more is better (None: neither).
KNOWN: dict[str, tuple[Promise, int, bool | None]] = {
    "log_likelihood": (gettext_lazy("Log-likelihood of a rating (decides)"), 4, True),
    "step_accuracy": (gettext_lazy("Steps judged bad or not as people did"), 3, True),
    "balanced_accuracy": (gettext_lazy("the same, bad and other steps weighing alike"), 3, True),
    "rating_accuracy": (gettext_lazy("Exact rating of the three"), 3, True),
    "auc": (gettext_lazy("AUC, bad against other steps"), 3, True),
    "macro_auc": (gettext_lazy("AUC, mean of each rating against the rest"), 3, True),
    "first_error_accuracy": (gettext_lazy("First error found exactly, or none where none is"), 3, True),
    "error_accuracy": (gettext_lazy("found, of solutions with an error"), 3, True),
    "correct_accuracy": (gettext_lazy("none raised, of solutions without"), 3, True),
    "calibration_error": (gettext_lazy("Calibration error of p(bad)"), 3, False),
    "base_log_likelihood": (gettext_lazy("Log-likelihood of guessing by the shares"), 4, None),
    "majority_accuracy": (gettext_lazy("Steps right by guessing the commoner"), 3, None),
    "solutions": (gettext_lazy("Held-out solutions"), 0, None),
    "steps": (gettext_lazy("Held-out steps"), 0, None),
    "human_steps": (gettext_lazy("of them rated by people"), 0, None),
    "unscorable": (gettext_lazy("Held-out solutions refused"), 0, None),
    "train_solutions": (gettext_lazy("Solutions trained on"), 0, None),
    "train_steps": (gettext_lazy("Steps trained on"), 0, None),
    "train_unusable": (gettext_lazy("Training solutions left out"), 0, None),
    "train_loss": (gettext_lazy("Loss at the end of training"), 3, None),
}
RATINGS = (gettext_lazy("bad"), gettext_lazy("okay"), gettext_lazy("great"))  # as the engine orders them


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
        (title := _("Loss while training")): _training(title, version.report.get("curve", ())),
        (title := _("Calibration of p(bad)")): _reliability(title, tables.get("reliability", ())),
        (title := _("Ratings of held-out steps")): confusion_chart(
            title=title, names=list(map(str, RATINGS)), counts=counts, rows=_("given"), columns=_("predicted")
        ),
    }
    return [(title, chart) for title, chart in drawn.items() if chart is not None]


def _training(title: str, curve: Sequence[dict[str, Any]]) -> SafeString | None:
    drawn = (("loss", _("loss"), False), ("held_out_nll", _("held-out loss"), True))
    lines = [
        Line(words, [(p["step"], p[name]) for p in curve if name in p], dots=dots)
        for name, words, dots in drawn
    ]
    highest = max((y for line in lines for _, y in line.points), default=1)
    return line_chart(
        title=title,
        lines=lines,
        x_label=_("step"),
        y_label=_("loss"),
        y_range=(0, 1.05 * highest or 1),
    )


def _reliability(title: str, rows: Sequence[Sequence[float]]) -> SafeString | None:
    """Each tenth of p(bad) against the share of its steps that people called bad."""
    return line_chart(
        title=title,
        lines=[
            Line(_("held-out steps"), [(row[0], row[1]) for row in rows], dots=True),
            Line(_("if it meant what it says"), [(0, 0), (1, 1)], reference=True),
        ],
        x_label=_("p(bad)"),
        y_label=_("share that is bad"),
        x_range=(0, 1),
        y_range=(0, 1),
    )


def _figure(name: str, value: Any, before: Any) -> Figure:
    words, digits, up = KNOWN.get(name, (name.replace("_", " ").capitalize(), 3, None))
    comparable = up is not None and isinstance(value, int | float) and isinstance(before, int | float)
    better = (value > before) == up if comparable and value != before else None
    return Figure(str(words), _number(value, digits), _number(before, digits), better)


def _number(value: Any, digits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    shown = f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"
    return shown.replace("-", "−")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
