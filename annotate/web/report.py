"""A PRM version's report as rows and charts. Knows the engine's names of metrics, and shows those it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotate.models import PRMVersion
from prm_backend.evaluation.intervals import wilson

from .plots import Line, Span, confusion_chart, figure_of, interval_chart, line_chart
from .records import told

# Name in the report: what people read, digits, and whether more is better (None: neither).
Known = dict[str, tuple[str | Promise, int, bool | None]]
_DECIDES: Known = {
    "log_likelihood": (_("Log-likelihood of a rating (decides)"), 4, True),
    "base_log_likelihood": (_("Log-likelihood of guessing by the shares"), 4, None),
    "auc": (_("AUC, bad against other steps"), 3, True),
    "macro_auc": (_("AUC, mean of each rating against the rest"), 3, True),
    "rating_accuracy": (_("Exact rating of the three"), 3, True),
}
_AT_THRESHOLD: Known = {
    "threshold": (_("p(bad) above which a step is called wrong"), 3, None),
    "first_error_f1": (_("F1 of the first error, as ProcessBench has it"), 3, True),
    "error_accuracy_at_threshold": (_("found exactly, of solutions with an error"), 3, True),
    "correct_accuracy_at_threshold": (_("none raised, of solutions without"), 3, True),
    "first_error_accuracy_at_threshold": (_("either, of all solutions"), 3, True),
    "balanced_accuracy_at_threshold": (_("Steps right, bad and other steps weighing alike"), 3, True),
    "step_accuracy_at_threshold": (_("Steps right"), 3, True),
}
_AT_HALF: Known = {
    "step_accuracy": (_("Steps right"), 3, True),
    "majority_accuracy": (_("Steps right by guessing the commoner"), 3, None),
    "balanced_accuracy": (_("Steps right, bad and other steps weighing alike"), 3, True),
    "first_error_accuracy": (_("First error found exactly, or none where none is"), 3, True),
    "error_accuracy": (_("found, of solutions with an error"), 3, True),
    "correct_accuracy": (_("none raised, of solutions without"), 3, True),
}
_CALIBRATION: Known = {
    "calibration_error": (_("Calibration error of p(bad)"), 3, False),
    "calibration_error_before": (_("before it was calibrated"), 3, None),
    "temperature": (_("Temperature"), 3, None),
    "offset_bad": (_("Offset of “bad”"), 3, None),
    "offset_okay": (_("Offset of “okay”"), 3, None),
    "offset_great": (_("Offset of “great”"), 3, None),
}
_DATA: Known = {
    "solutions": (_("Held-out solutions"), 0, None),
    "steps": (_("Held-out steps"), 0, None),
    "bad_steps": (_("of them rated bad"), 0, None),
    "human_steps": (_("of them rated by people"), 0, None),
    "unscorable": (_("Held-out solutions refused"), 0, None),
    "train_solutions": (_("Solutions trained on"), 0, None),
    "train_steps": (_("Steps trained on"), 0, None),
    "train_unusable": (_("Training solutions left out"), 0, None),
    "tuning_solutions": (_("Solutions set aside for tuning"), 0, None),
    "tuning_steps": (_("Steps set aside for tuning"), 0, None),
    "train_loss": (_("Loss at the end of training"), 3, None),
    "seconds": (_("Seconds it took"), 0, None),
    "cpu_seconds": (_("Seconds of processor time"), 0, None),
}
SECTIONS: tuple[tuple[str | Promise, Known], ...] = (
    (_("Order and probabilities"), _DECIDES),
    (_("At its own threshold"), _AT_THRESHOLD),
    (_("Where p(bad) is above a half"), _AT_HALF),
    (_("Calibration"), _CALIBRATION),
    (_("Made of"), _DATA),
)
KNOWN: Known = {name: known for _heading, names in SECTIONS for name, known in names.items()}
# Of a part of the held-out labels: heading and digits.
SLICED: dict[str, tuple[str | Promise, int]] = {
    "solutions": (_("solutions"), 0),
    "steps": (_("steps"), 0),
    "bad_steps": (_("bad"), 0),
    "log_likelihood": (_("log-likelihood"), 3),
    "auc": (_("AUC"), 3),
    "balanced_accuracy_at_threshold": (_("balanced accuracy"), 3),
    "first_error_accuracy_at_threshold": (_("first error"), 3),
}
KINDS: dict[str, str | Promise] = {
    "length": _("Steps of a solution"),
    "subject": _("Subject"),
    "level": _("Level"),
    "source": _("Source"),
}
RATINGS = (_("bad"), _("okay"), _("great"))  # as the engine orders them


@dataclass(frozen=True)
class Figure:
    """One metric of a version, beside the version that served when it was trained."""

    name: str | Promise
    value: str
    before: str
    better: bool | None  # None where they are equal, cannot be compared, or neither is better


def figures(version: PRMVersion) -> list[tuple[str | Promise, list[Figure]]]:
    """Every metric that has a value, by section; those nobody here knows come last."""
    metrics = version.report.get("metrics", {})
    before = version.report.get("serving", {}).get("metrics", {})
    further: Known = {name: (words(name), 3, None) for name in sorted(set(metrics) - set(KNOWN))}
    found = []
    for heading, names in (*SECTIONS, (gettext("Further"), further)):
        rows = [
            _figure(known, metrics[name], before.get(name))
            for name, known in names.items()
            if name in metrics and (metrics[name], before.get(name)) != (None, None)
        ]
        if rows:
            found.append((heading, rows))
    return found


def unmeasured(version: PRMVersion) -> bool:
    """Whether there was no held-out label to measure it on, as for the first versions of a young project."""
    return version.report.get("metrics", {}).get("steps") == 0


def figure(version: PRMVersion, name: str) -> str:
    """One metric as a list of versions shows it, with three digits."""
    return number(version.report.get("metrics", {}).get(name), 3)


@dataclass(frozen=True)
class Cell:
    heading: str | Promise
    value: str


@dataclass(frozen=True)
class Slices:
    """The held-out labels in parts: a heading, and for each part its name and figures."""

    heading: str | Promise
    rows: list[tuple[str, list[Cell]]]


def slices(version: PRMVersion) -> list[Slices]:
    """By length, and by each kind of problem that there are two of."""
    return [
        Slices(
            KINDS.get(kind, words(kind)),
            [
                (
                    told(row["name"]),
                    [Cell(heading, number(row.get(name), n)) for name, (heading, n) in SLICED.items()],
                )
                for row in rows
            ],
        )
        for kind, rows in _told_apart(version)
    ]


def charts(version: PRMVersion) -> list[tuple[str, SafeString]]:
    """How training went, where its probabilities and its ratings err: titles and those charts that can be drawn."""
    tables = version.report.get("tables", {})
    drawn = {
        (title := gettext("Loss while training")): _training(title, version.report.get("curve", ())),
        (title := gettext("Calibration of p(bad)")): _reliability(title, tables),
        (title := gettext("Held-out steps, at the threshold")): _confusion(title, tables, "confusion_at_threshold"),
        (title := gettext("Held-out steps, most probable rating")): _confusion(title, tables, "confusion"),
    }  # fmt: skip
    for kind, rows in _told_apart(version):
        title = gettext("First error found: %(kind)s") % {"kind": KINDS.get(kind, words(kind))}
        drawn[title] = _first_errors(title, rows)
    return [(title, chart) for title, chart in drawn.items() if chart is not None]


def words(name: str) -> str:
    """`train_loss` as "Train loss"."""
    return name.replace("_", " ").capitalize()


def number(value: Any, digits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else str(value)
    return figure_of(value, digits if isinstance(value, float) else 0)


def _told_apart(version: PRMVersion) -> list[tuple[str, list[dict[str, Any]]]]:
    found: dict[str, list[dict[str, Any]]] = version.report.get("slices", {})
    return [(kind, rows) for kind, rows in found.items() if kind == "length" or len(rows) > 1]


def _training(title: str, curve: Sequence[dict[str, Any]]) -> SafeString | None:
    names = {
        "loss": gettext("loss"),
        "tuning_nll": gettext("on labels set aside, which choose the epoch"),
        "held_out_nll": gettext("on held-out labels"),
    }
    lines = [
        Line(legend, [(p["step"], p[name]) for p in curve if name in p], dots=name != "loss")
        for name, legend in names.items()
    ]
    highest = max((y for line in lines for _, y in line.points), default=1)
    return line_chart(
        title=title,
        lines=lines,
        x_label=gettext("step"),
        y_label=gettext("loss"),
        y_range=(0, 1.05 * highest or 1),
    )


def _reliability(title: str, tables: dict[str, Any]) -> SafeString | None:
    """Each tenth of p(bad) against the share of its steps that people called bad."""
    named = {"reliability": gettext("as it is"), "reliability_before": gettext("before it was calibrated")}
    lines = [
        Line(legend, [(row[0], row[1]) for row in tables.get(name, ())], dots=True)
        for name, legend in named.items()
    ]
    return line_chart(
        title=title,
        lines=[*lines, Line(gettext("if it meant what it says"), [(0, 0), (1, 1)], reference=True)],
        x_label=gettext("p(bad)"),
        y_label=gettext("share that is bad"),
        x_range=(0, 1),
        y_range=(0, 1),
    )


def _confusion(title: str, tables: dict[str, Any], name: str) -> SafeString | None:
    counts = [[int(count) for count in row] for row in tables.get(name, ())]
    return confusion_chart(
        title=title,
        names=[str(name) for name in RATINGS],
        counts=counts,
        rows=gettext("given"),
        columns=gettext("predicted"),
    )


def _first_errors(title: str, rows: Sequence[dict[str, Any]]) -> SafeString | None:
    spans = []
    for row in rows:
        share, n = row.get("first_error_accuracy_at_threshold"), row["solutions"]
        ends = (None, None) if share is None else wilson(round(share * n), n)
        spans.append(Span(f"{told(row['name'])} ({n:,})", share, *ends))
    return interval_chart(title=title, spans=spans, x_range=(0, 1))


def _figure(known: tuple[str | Promise, int, bool | None], value: Any, before: Any) -> Figure:
    name, digits, up = known
    comparable = up is not None and _is_number(value) and _is_number(before)
    better = (value > before) == up if comparable and value != before else None
    return Figure(name, number(value, digits), number(before, digits), better)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
