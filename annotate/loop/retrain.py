"""The retrain stage: a snapshot of the labels becomes a candidate PRM, measured beside the one that serves.

The candidate decides nothing: promotion is the next stage.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from django.conf import settings
from django.core.files.storage import default_storage

from annotate.errors import PlumblineError
from annotate.loop.jobs import enqueue_job
from annotate.loop.train import Trainer, TrainingInputs, current_inputs, report_json, train_version
from annotate.models import Job, Label, Person, PRMVersion, Problem, Snapshot
from prm_backend.evaluation.settle import settle
from prm_backend.evaluation.steps import judge
from prm_backend.text.prm800k import Record, parse_record
from prm_backend.text.step_labels import to_dict
from prm_backend.text.steps import text_hash
from prm_backend.text.supervision import alternatives, labelled_solution
from prm_backend.types import FinishReason, LabelledSolution, Progress, ProgressCallback, StepScorer, silent

_UNFINISHED = (FinishReason.GIVE_UP, FinishReason.BAD_PROBLEM)
_KINDS = ("subject", "level", "source")  # of problem, that a report tells apart
_CHUNK = 1000  # labels whose problems are looked up at once


def retrain_due() -> bool:
    """Enough labels wait that no version has seen."""
    return Label.objects.untrained().count() >= settings.RETRAIN_AFTER_LABELS


def request_retrain(*, by: Person | None = None) -> Job:
    """Take a snapshot of the labels and train on it; the job that is doing so already, where there is one."""
    running = Job.objects.active().filter(kind="retrain").first()
    return running or enqueue_job("snapshot", by=by)


def request_training(*, snapshot: Snapshot, by: Person | None = None) -> str:
    """Queue the training on a snapshot, unless it was done; returns what was decided, in words."""
    if not snapshot.n_labels:
        return "there is no label to train on yet"
    known = inputs_of(training_data(snapshot)).version()
    if known is not None:
        return f"nothing new: {known} was trained on these labels, from this base, in this way"
    job = enqueue_job("retrain", payload={"snapshot": snapshot.pk}, by=by)
    return f"{snapshot.n_labels} labels kept; {job} trains on them"


def retrain(
    *,
    snapshot: Snapshot,
    trainer: Trainer,
    serving: tuple[PRMVersion, StepScorer] | None,
    progress: ProgressCallback = silent,
) -> PRMVersion | None:
    """Train a candidate on the snapshot; None where its inputs were trained on before.

    Its report holds its own figures on the held-out labels and, beside them, those of the `serving` version, scored
    by its own model. Raises PlumblineError where the snapshot holds nothing to train on.
    """
    train, held_out = data = training_data(snapshot)
    inputs = inputs_of(data)
    if inputs.version() is not None:
        return None
    if not train:
        raise PlumblineError(
            f"None of the {snapshot.n_labels} labels can be trained on: they are on held-out problems "
            f"({len(held_out)}), were given up, or rate no step."
        )
    progress(Progress(0, 1, f"{len(train)} labels train, {len(held_out)} are held out"))
    beside = {"serving": _measure(*serving, held_out)} if serving else {}
    return train_version(
        inputs=inputs,
        train=train,
        held_out=held_out,
        snapshot=snapshot,
        beside=beside,
        trainer=trainer,
        progress=progress,
    )


@dataclass(frozen=True)
class _Opinion:
    labelled: LabelledSolution
    alternatives: list[LabelledSolution]
    decides: bool


TrainingData = tuple[list[LabelledSolution], list[LabelledSolution]]


def inputs_of(data: TrainingData) -> TrainingInputs:
    """The inputs that this data and the settings make. Who labelled, when, and what trains nothing make no difference:
    new answers to gold alone are no reason to train again."""
    digest = hashlib.sha256()
    for part in data:
        digest.update(f"{len(part)}\n".encode())
        for solution in part:
            row = to_dict(replace(solution, id="", groups=()))
            digest.update(json.dumps(row | {"ratings": solution.ratings}).encode())
    return current_inputs(f"labels:{digest.hexdigest()}")


def training_data(snapshot: Snapshot) -> TrainingData:
    """The snapshot's labels that train and those that only evaluate, by their problem.

    Quality-control and screening rows, unfinished labels and those without a rating are dropped, as PRM800K's
    authors did. Rated alternatives train, each behind its own prefix; evaluated are whole solutions alone. Several
    labels of one solution weigh as one: a decision alone, else the majority, else each its part (`settle`). Those
    that are evaluated carry what is known of their problem as groups.
    """
    beyond_error = settings.PRM_CONFIG.beyond_error
    solutions: dict[tuple[str, tuple[str, ...]], list[_Opinion]] = defaultdict(list)
    for record in _records(snapshot):
        if _teaches(record):
            labelled = labelled_solution(record, beyond_error=beyond_error)
            if any(rating is not None for rating in labelled.ratings):
                opinion = _Opinion(labelled, alternatives(record), record.extra.adjudicates)
                solutions[text_hash(record.problem), labelled.steps].append(opinion)
    known = _known_problems({digest for digest, _ in solutions})
    train: list[LabelledSolution] = []
    held_out: list[LabelledSolution] = []
    for (digest, _), opinions in solutions.items():
        weights = settle([o.labelled.first_error for o in opinions], [o.decides for o in opinions])
        for opinion, weight in zip(opinions, weights, strict=True):
            if not weight:
                continue
            held, groups = known.get(digest) or (Problem.is_held_out(digest), ())
            if held:
                held_out.append(replace(opinion.labelled, weight=weight, groups=groups))
            else:
                said = (opinion.labelled, *opinion.alternatives)
                train += [replace(one, weight=weight) for one in said]
    return train, held_out


def _records(snapshot: Snapshot) -> Iterator[Record]:
    with default_storage.open(snapshot.path) as file:
        for line in file:
            yield parse_record(json.loads(line))


def _teaches(record: Record) -> bool:
    judges_a_person = record.is_quality_control_question or record.is_initial_screening_question
    return not judges_a_person and record.finish_reason not in _UNFINISHED


def _known_problems(digests: set[str]) -> dict[str, tuple[bool, tuple[tuple[str, str], ...]]]:
    """Of the problems that are here, by text hash: whether they are held out, and what kinds of problem they are."""
    found: dict[str, tuple[bool, tuple[tuple[str, str], ...]]] = {}
    remaining = iter(digests)
    while chunk := list(islice(remaining, _CHUNK)):
        rows = Problem.objects.filter(text_hash__in=chunk)
        for digest, held_out, *kinds in rows.values_list("text_hash", "held_out", *_KINDS):
            named = (
                (kind, str(name)) for kind, name in zip(_KINDS, kinds, strict=True) if name not in ("", None)
            )
            found[digest] = (held_out, tuple(named))
    return found


def _measure(
    version: PRMVersion, scorer: StepScorer, labels: Sequence[LabelledSolution]
) -> dict[str, object]:
    """The version's figures on these labels, by its own model and threshold, measured as a candidate's are."""
    report = judge(scorer, labels, threshold=version.threshold)
    return {"number": version.number, **report_json(report)}
