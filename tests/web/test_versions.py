"""The report on a PRM version, and the charts it draws."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

from django.test import Client

from annotate.web.plots import Line, confusion_chart, line_chart
from tests.factories import PRMVersionFactory, ServingPRMFactory, SnapshotFactory


def test_a_report_stands_beside_that_of_the_version_that_served(as_manager: Client) -> None:
    ServingPRMFactory.create(number=0)
    PRMVersionFactory.create(
        number=1,
        snapshot=SnapshotFactory.create(sha256="ab" * 32),
        n_labels=300,
        config={"epochs": 2},
        decision="better by held-out mean log-likelihood",
        report={
            "metrics": {
                "log_likelihood": -0.51,
                "step_accuracy": 0.7,
                "calibration_error": 0.2,
                "auc": None,
                "novel": 3,
            },
            "serving": {
                "number": 0,
                "metrics": {"log_likelihood": -0.9, "step_accuracy": 0.8, "calibration_error": 0.3},
            },
            "curve": [{"epoch": 1, "step": 1, "loss": 1.0}, {"epoch": 1, "step": 2, "loss": 0.5}],
            "notes": ["2 held-out solutions could not be scored"],
            "tables": {
                "confusion": [[8.0, 1.0, 1.0], [0.0, 2.0, 3.0], [1.0, 1.0, 9.0]],
                "reliability": [[0.05, 0.1, 12.0], [0.9, 0.8, 14.0]],
            },
        },
    )
    html = as_manager.get("/versions/1/").content.decode()
    for expected in (
        "better</span> −0.5100",
        "worse</span> 0.700",
        "better</span> 0.200",  # an error that fell
        "Novel",
        "v0, serving then",
        "2 held-out solutions could not be scored",
        "better by held-out mean log-likelihood",
        "ab" * 32,
        "epochs",
        "loss falls from 1 to 0.5 at 2.",
        "held-out steps rises from 0.1 to 0.8 at 0.9.",
        "given bad: 8 bad, 1 okay, 1 great",
    ):
        assert expected in html, expected


def test_a_version_without_a_report_has_a_page_all_the_same(as_manager: Client) -> None:
    PRMVersionFactory.create(number=0, report={})
    html = as_manager.get("/versions/0/").content.decode()
    assert "No figures were recorded" in html
    assert "<svg" not in html


def test_a_version_measured_on_nothing_says_so_in_place_of_empty_figures(as_manager: Client) -> None:
    PRMVersionFactory.create(number=0, report={"metrics": {"steps": 0, "auc": None, "train_steps": 171}})
    html = as_manager.get("/versions/0/").content.decode()
    assert "There were none yet to measure it on" in html
    assert "AUC" not in html
    assert "171" in html


def _svg(text: str | None) -> ElementTree.Element:
    assert text
    return ElementTree.fromstring(text.split("</svg>")[0] + "</svg>")


def test_a_chart_says_in_words_what_it_shows() -> None:
    chart = _svg(
        line_chart(title="Loss", lines=[Line("loss", [(0, 1.0), (9, 0.25)])], x_label="step", y_label="")
    )
    assert chart.get("role") == "img"
    title, words = chart.find("title"), chart.find("desc")
    assert title is not None
    assert words is not None
    assert chart.get("aria-labelledby") == f"{title.get('id')} {words.get('id')}"
    assert words.text == "loss falls from 1 to 0.25 at 9."


def test_a_chart_stays_within_its_frame_and_leaves_out_what_is_not_a_number() -> None:
    points = [(0, 1e-3), (1, math.nan), (2, 4e5), (3, math.inf), (4, 7.0)]
    chart = _svg(line_chart(title="t", lines=[Line("a", points)], x_label="", y_label=""))
    (polyline,) = chart.iter("polyline")
    drawn = [tuple(map(float, pair.split(","))) for pair in polyline.get("points", "").split()]
    assert len(drawn) == 3
    assert all(0 <= x <= 440 and 0 <= y <= 220 for x, y in drawn)


def test_a_flat_line_is_drawn_and_an_empty_one_is_not() -> None:
    assert line_chart(title="t", lines=[Line("a", [(0, 2.0), (1, 2.0)])], x_label="", y_label="")
    assert line_chart(title="t", lines=[Line("a", [])], x_label="", y_label="") is None
    assert (
        line_chart(title="t", lines=[Line("a", [(0, 1), (1, 1)], reference=True)], x_label="", y_label="")
        is None
    )


def test_names_in_a_chart_are_escaped() -> None:
    chart = line_chart(title="<i>", lines=[Line("</desc><script>", [(0, 1), (1, 2)])], x_label="", y_label="")
    assert chart
    assert "<script>" not in chart
    assert "<i>" not in chart


def test_a_confusion_matrix_tells_its_counts_in_words() -> None:
    chart = _svg(
        confusion_chart(
            title="Ratings",
            names=("bad", "great"),
            counts=((8, 2), (1, 9)),
            rows="given",
            columns="predicted",
        )
    )
    words = chart.find("desc")
    assert words is not None
    assert words.text == "given bad: 8 bad, 2 great; given great: 1 bad, 9 great."
    assert [text.text for text in chart.iter("text") if text.text in {"8", "2", "1", "9"}] == [
        "8",
        "2",
        "1",
        "9",
    ]
    assert confusion_chart(title="t", names=("a",), counts=((0,),), rows="", columns="") is None
