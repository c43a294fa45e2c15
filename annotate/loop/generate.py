"""The generate stage: places in a round become sampled solutions with their steps. Grades nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from annotate.models import Round, RoundProblem, Solution, Step
from prm_backend.generators import GenerationFailed
from prm_backend.text.gold import AnswerKind, final_answer
from prm_backend.text.steps import storable, text_hash
from prm_backend.types import Generator, Progress, ProgressCallback, Sample, silent


def generate(
    *, places: Sequence[RoundProblem], generator: Generator, progress: ProgressCallback = silent
) -> int:
    """Sample each place's solutions and write them, a round's places as one batch; returns how many solutions.

    Writes once: a place that was sampled meanwhile keeps what it has. A problem the generator refuses (ValueError)
    is marked with the reason and stops nobody else. A server that failed for some problems raises ConnectionError
    after the others are written; any other error of the generator is raised as it is.
    """
    written = 0
    for _, batch in groupby(places, key=lambda place: place.round_id):
        ours = list(batch)
        progress(Progress(0, len(ours), f"sampling solutions of {len(ours)} problems"))
        try:
            samples = _sample(ours, generator, progress)
        except GenerationFailed as failed:  # keep what was paid for; the others go on waiting
            got = [(place, found) for place, found in zip(ours, failed.samples, strict=True) if found]
            _write([place for place, _ in got], [found for _, found in got], generator.name)
            raise ConnectionError(str(failed)) from failed
        written += _write(ours, samples, generator.name)
    progress(Progress(len(places), len(places), f"{written} solutions sampled"))
    return written


def _sample(
    places: Sequence[RoundProblem], generator: Generator, progress: ProgressCallback
) -> list[list[Sample] | str]:
    """Each place's samples, or why the generator refuses its problem."""
    where = places[0].round
    try:
        return list(
            generator.sample(
                [place.problem.text for place in places],
                n=where.samples_per_problem,
                sampling=where.sampling,
                seed=_seed(where, places[0].position),
                progress=progress,
            )
        )
    except ValueError as error:
        if len(places) == 1:
            return [str(error) or "the generator refused the problem"]
        return [outcome for place in places for outcome in _sample([place], generator, progress)]


def _seed(where: Round, position: int) -> int:
    """The same place in the same round draws the same samples, and no two places share a stream."""
    return int.from_bytes(hashlib.sha256(f"{where.seed}/{position}".encode()).digest()[:4])


@transaction.atomic
def _write(places: Sequence[RoundProblem], outcomes: Iterable[list[Sample] | str], generator: str) -> int:
    short = RoundProblem.objects.filter(generated_at__isnull=True).order_by("pk").select_for_update()
    waiting = set(short.filter(pk__in=[place.pk for place in places]).values_list("pk", flat=True))
    solutions: list[Solution] = []
    steps: list[tuple[str, ...]] = []
    for place, outcome in zip(places, outcomes, strict=True):
        if place.pk not in waiting:
            continue
        place.generated_at = timezone.now()
        place.failure = outcome if isinstance(outcome, str) else ""
        place.save(update_fields=("generated_at", "failure"))
        for index, sample in enumerate([] if isinstance(outcome, str) else outcome):
            solutions.append(_solution(place, index, sample, generator))
            steps.append(sample.steps)
    Solution.objects.bulk_create(solutions)
    Step.objects.bulk_create(
        Step(solution=solution, index=index, text=storable(text))
        for solution, texts in zip(solutions, steps, strict=True)
        for index, text in enumerate(texts)
    )
    return len(solutions)


def _solution(place: RoundProblem, index: int, sample: Sample, generator: str) -> Solution:
    text = storable(sample.text)
    is_code = place.problem.kind == AnswerKind.CODE
    answer = final_answer(text, AnswerKind.CODE) if is_code else sample.answer
    return Solution(
        problem_id=place.problem_id,
        round_id=place.round_id,
        sample_index=index,
        generator=generator,
        text=text,
        text_hash=text_hash(text),
        answer=None if answer is None else storable(answer),
        truncated=sample.truncated,
        n_tokens=sample.n_tokens,
    )
