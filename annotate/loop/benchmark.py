"""The benchmark stage: PRM versions measured on solutions with a known first error (ProcessBench). Promotes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import PurePath
from typing import Any, BinaryIO

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.kept_files import keep_once
from annotate.models import Benchmark, Measurement, Person, PRMVersion
from prm_backend.evaluation.processbench import ProcessBench, crossed, processbench
from prm_backend.text.rows import ReadLimits, Refused
from prm_backend.text.step_labels import read_step_labels, to_dict
from prm_backend.types import LabelledSolution, Progress, ProgressCallback, StepScorer, silent

LARGEST = ReadLimits(file_bytes=64 * 2**20)
MOST = 20_000  # samples: hours on two cores
_TOGETHER = 16  # samples between two signs of progress


class BenchmarkRefused(PlumblineError):
    """The file is no benchmark."""


def add_benchmark(*, file: BinaryIO | File, by: Person | None = None) -> Benchmark:
    """Keep a file of labelled solutions whose name tells its format, and ask for the serving version's measure on it.

    One that is there already is returned as it is. Raises BenchmarkRefused for a file with a row that cannot be read:
    figures on a part of it could not be compared with anybody's.
    """
    name = PurePath(str(file.name).replace("\\", "/")).name.partition(".")[0][:200]

    def fill(keep: Callable[[bytes], object]) -> dict[str, Any]:
        count = erroneous = 0
        for count, sample in enumerate(_samples(file), start=1):
            if count > MOST:
                most = _("%(name)s has more than %(n)s solutions: take a part of them.")
                raise BenchmarkRefused(most % {"name": name, "n": f"{MOST:,}"})
            erroneous += sample.first_error >= 0
            keep(f"{json.dumps(to_dict(sample), sort_keys=True)}\n".encode())
        if erroneous in (0, count):
            needs = _("%(name)s needs solutions with an error and solutions without one.")
            raise BenchmarkRefused(needs % {"name": name})
        return {"name": name, "n_samples": count, "n_erroneous": erroneous, "added_by": by}

    benchmark, added = keep_once(Benchmark, "benchmarks", fill)
    if added and (serving := PRMVersion.objects.serving()):
        ask_to_measure(version=serving)
    return benchmark


def remove_benchmark(*, benchmark: Benchmark) -> None:
    """Forget a benchmark and what was measured on it; the same file, sent again, is measured anew."""
    benchmark.delete()
    default_storage.delete(benchmark.path)


@transaction.atomic
def ask_to_measure(*, version: PRMVersion) -> int:
    """Let the workers measure the version on each benchmark it has no figures on; returns on how many."""
    version.measurements.filter(figures__has_key="refused").delete()
    missing = Benchmark.objects.exclude(measurements__version=version)
    rows = [Measurement(benchmark=benchmark, version=version) for benchmark in missing]
    return len(Measurement.objects.bulk_create(rows, ignore_conflicts=True))


def measure(
    *, measurement: Measurement, load: Callable[[], StepScorer], progress: ProgressCallback = silent
) -> None:
    """Write the version's figures, or why there are none; `load` gives its model. Figures that are there stay.

    F1 at three thresholds: its own, each half's tuned on the other, and the best on these very samples.
    """
    try:
        found = _figures(measurement, load(), progress)
    except (ValueError, OSError) as error:  # its checkpoint is gone or refused: others must not wait for it
        found = {"refused": str(error) or type(error).__name__}
    waiting = Measurement.objects.filter(pk=measurement.pk, figures__isnull=True)
    waiting.update(figures=found, measured_at=timezone.now())


def _figures(measurement: Measurement, scorer: StepScorer, progress: ProgressCallback) -> dict[str, Any]:
    with default_storage.open(measurement.benchmark.path) as stored:
        samples = list(_samples(stored))
    problems = [sample.problem for sample in samples]
    steps = [sample.steps for sample in samples]
    scored = []
    for start in range(0, len(samples), _TOGETHER):
        progress(Progress(start, len(samples), f"measuring {measurement.version} on {measurement.benchmark}"))
        scored += scorer.score(problems[start : start + _TOGETHER], steps[start : start + _TOGETHER])
    first_errors = [sample.first_error for sample in samples]
    crosswise = crossed(scored, first_errors, problems)
    return {
        "own": _told(processbench(scored, first_errors, threshold=1 - measurement.version.threshold)),
        "crossed": crosswise and _told(crosswise),
        "tuned": _told(processbench(scored, first_errors)),
    }


def _told(found: ProcessBench) -> dict[str, Any]:
    """The figures with the threshold on p(bad), as a version's own is told."""
    return asdict(found) | {"threshold": 1 - found.threshold}


def _samples(file: BinaryIO | File) -> Iterator[LabelledSolution]:
    for sample in read_step_labels(file, limits=LARGEST):  # type: ignore[arg-type]
        if isinstance(sample, Refused):
            none = _("This is no file of labelled solutions. Line %(line)s: %(why)s")
            raise BenchmarkRefused(none % {"line": f"{sample.line:,}", "why": sample.reason})
        yield sample
