"""The report on a PRM version, and the charts it draws."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import translation

from annotate.loop.benchmark import measure
from annotate.models import Benchmark, Job, Measurement
from annotate.web.plots import Line, confusion_chart, line_chart
from tests.factories import PRMVersionFactory, ServingPRMFactory, SnapshotFactory
from tests.loop.benchmarks import Wary, rows


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
        "as it is rises from 0.1 to 0.8 at 0.9.",
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


def test_a_version_tells_its_threshold_what_parts_of_the_labels_say_and_how_it_was_calibrated(
    as_manager: Client,
) -> None:
    part = {"solutions": 9, "steps": 40, "bad_steps": 4, "log_likelihood": -0.4, "auc": 0.71}
    part |= {"balanced_accuracy_at_threshold": 0.66, "first_error_accuracy_at_threshold": 1 / 3}
    PRMVersionFactory.create(
        number=0,
        report={
            "metrics": {"threshold": 0.213, "first_error_f1": 0.31, "temperature": 1.12, "steps": 40},
            "tables": {
                "confusion_at_threshold": [[3.0, 0.0, 1.0], [0.0, 2.0, 3.0], [5.0, 1.0, 25.0]],
                "reliability": [[0.05, 0.1, 12.0]],
                "reliability_before": [[0.15, 0.1, 12.0]],
            },
            "slices": {
                "length": [part | {"name": "4–6"}],
                "subject": [part | {"name": "Algebra"}, part | {"name": "<b>Geometry"}],
                "source": [part | {"name": "the only one"}],
            },
        },
    )
    html = as_manager.get("/versions/0/").content.decode()
    for expected in (
        "p(bad) above which a step is called wrong",
        "0.213",
        "given bad: 3 bad, 0 okay, 1 great",
        "before it was calibrated stays from 0.1 to 0.1",
        "Steps of a solution",
        "Algebra (9): 0.33, between 0.12 and 0.65",
        "&lt;b&gt;Geometry",
        "−0.400",
    ):
        assert expected in html, expected
    assert "the only one" not in html  # it says what the whole says


def test_without_a_benchmark_a_version_says_how_to_get_one(as_manager: Client) -> None:
    PRMVersionFactory.create(number=0)
    assert "Qwen/ProcessBench" in as_manager.get("/versions/0/").content.decode()


def test_a_benchmark_is_sent_measured_shown_beside_the_version_before_and_removed(as_manager: Client) -> None:
    old = ServingPRMFactory.create(number=0)
    new = PRMVersionFactory.create(
        number=1, snapshot=SnapshotFactory.create(), report={"serving": {"number": 0, "metrics": {}}}
    )
    told = as_manager.post("/versions/benchmarks/", {"file": benchmark_file()}, follow=True).content.decode()
    assert "processbench is here" in told
    assert [one.version for one in Measurement.objects.waiting()] == [old]
    assert [job.kind for job in Job.objects.all()] == ["benchmark"]
    assert "waits for a worker" in as_manager.get("/versions/0/").content.decode()

    assert "Measure it" in as_manager.get("/versions/1/").content.decode()
    as_manager.post("/versions/1/measure/")
    for waits in list(Measurement.objects.waiting()):
        measure(measurement=waits, load=Wary)
    html = as_manager.get("/versions/1/").content.decode()
    assert "20 solutions, 10 with an error" in html
    assert "tuned on one half for the other" in html
    assert "F1 of v0" in html
    assert "Measure it" not in html
    listed = as_manager.get("/versions/").content.decode()
    assert f"v{new.number}: 1.00, between 1.00 and 1.00" in listed
    assert "F1 on processbench" in listed
    as_manager.post(f"/versions/benchmarks/{Benchmark.objects.get().pk}/remove/")
    assert not Measurement.objects.exists()


def test_a_file_that_is_no_benchmark_is_refused_with_the_reason(as_manager: Client) -> None:
    sent = SimpleUploadedFile("notes.json", b'[{"problem": "<script>"}]')
    html = as_manager.post("/versions/benchmarks/", {"file": sent}, follow=True).content.decode()
    assert "no file of labelled solutions" in html
    assert "steps must be a list" in html
    assert "Choose a file first" in as_manager.post("/versions/benchmarks/", follow=True).content.decode()


def test_benchmarks_are_for_managers(as_annotator: Client) -> None:
    for path in ("/versions/benchmarks/", "/versions/benchmarks/1/remove/", "/versions/0/measure/"):
        assert as_annotator.post(path).status_code == 403


def benchmark_file() -> SimpleUploadedFile:
    return SimpleUploadedFile("processbench.json", json.dumps(rows()).encode())


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


def test_a_chart_writes_figures_as_the_readers_language_does_and_coordinates_as_svg_does() -> None:
    with translation.override("de"):
        chart = str(
            line_chart(title="t", lines=[Line("a", [(0, 0.5), (2000, 1.25)])], x_label="", y_label="")
        )
    assert ">0,6<" in chart
    assert ">1.500<" in chart
    assert "0,5 auf 1,25" in chart
    assert 'points="46.0,182.0' in chart


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


def test_the_labels_a_version_was_trained_on_can_be_had_while_they_are_kept(
    as_manager: Client, as_annotator: Client, tmp_path: Path, settings: Any
) -> None:
    kept = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = settings.STORAGES | {"default": kept}
    snapshot = SnapshotFactory.create(path=default_storage.save("kept.jsonl", ContentFile(b"{}\n")))
    PRMVersionFactory.create(number=3, snapshot=snapshot)
    PRMVersionFactory.create(number=4)
    address = "/versions/3/labels.jsonl"
    assert f'href="{address}"' in as_manager.get("/versions/3/").content.decode()
    answer = as_manager.get(address)
    assert answer.getvalue() == b"{}\n"
    assert answer["Content-Disposition"] == 'attachment; filename="labels-v3.jsonl"'
    assert as_annotator.get(address).status_code == 403
    assert as_manager.get("/versions/4/labels.jsonl").status_code == 404
    default_storage.delete(snapshot.path)
    assert as_manager.get(address).status_code == 404
