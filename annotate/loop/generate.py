"""The generate stage: places in a round become sampled solutions with their steps. Grades nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from django.db import transaction
from django.db.models import Count, OuterRef, Subquery
from django.utils import timezone

from annotate.models import Round, RoundProblem, Solution, Step
from prm_backend.generators import GenerationFailed, seed_of
from prm_backend.text.gold import AnswerKind, final_answer
from prm_backend.text.steps import storable, text_hash
from prm_backend.types import Generator, Progress, ProgressCallback, Sample, silent


def generate(
    *, places: Sequence[RoundProblem], generator: Generator, progress: ProgressCallback = silent
) -> int:
    """Sample each place's solutions and write them, a round's places as one batch; returns how many solutions.

    Writes once: a place that was sampled meanwhile keeps what it has. A problem the generator refuses (ValueError)
    is marked with the reason and stops nobody else. A server that failed for some problems raises ConnectionError
    after what it did write is kept: who has all samples is done, the others go on waiting for those they lack. Any
    other error of the generator is raised as it is.
    """
    written = 0
    there = _there(places)
    in_turn = sorted(places, key=lambda place: (place.round_id, there.get(place.pk, 0)))  # stable
    for (_, have), batch in groupby(in_turn, key=lambda place: (place.round_id, there.get(place.pk, 0))):
        ours = list(batch)
        progress(Progress(0, len(ours), f"sampling solutions of {len(ours)} problems"))
        try:
            samples = _sample(ours, have, generator, progress)
        except GenerationFailed as failed:  # keep what was paid for
            _write(ours, [found or [] for found in failed.samples], generator.name, in_part=True)
            raise ConnectionError(str(failed)) from failed
        written += _write(ours, samples, generator.name)
    progress(Progress(len(places), len(places), f"{written} solutions sampled"))
    return written


def _there(places: Sequence[RoundProblem]) -> dict[int, int]:
    """How many samples places have that did not get all of theirs, by their key."""
    mine = Solution.objects.filter(round=OuterRef("round"), problem=OuterRef("problem")).order_by()
    n = Subquery(mine.values("problem").annotate(n=Count("pk")).values("n"))
    found = RoundProblem.objects.filter(pk__in=[place.pk for place in places]).annotate(n=n)
    return dict(found.filter(n__isnull=False).values_list("pk", "n"))


def _sample(
    places: Sequence[RoundProblem], have: int, generator: Generator, progress: ProgressCallback
) -> list[list[Sample] | str]:
    """The samples each place lacks, as all have so many, or why the generator refuses its problem."""
    where = places[0].round
    try:
        return list(
            generator.sample(
                [place.problem.text for place in places],
                n=max(1, where.samples_per_problem - have),
                sampling=where.sampling,
                seed=_seed(where, places[0].position, have),
                progress=progress,
            )
        )
    except ValueError as error:
        if len(places) == 1:
            return [str(error) or "the generator refused the problem"]
        return [outcome for place in places for outcome in _sample([place], have, generator, progress)]


def _seed(where: Round, position: int, have: int) -> int:
    """The same place in the same round draws the same samples, and no two places share a stream."""
    return seed_of(f"{where.seed}/{position}/{have}" if have else f"{where.seed}/{position}")


@transaction.atomic
def _write(
    places: Sequence[RoundProblem],
    outcomes: Iterable[list[Sample] | str],
    generator: str,
    *,
    in_part: bool = False,
) -> int:
    """`in_part`: a place that lacks samples still goes on waiting."""
    short = RoundProblem.objects.filter(generated_at__isnull=True).order_by("pk").select_for_update()
    waiting = set(short.filter(pk__in=[place.pk for place in places]).values_list("pk", flat=True))
    there = _there(places)
    solutions: list[Solution] = []
    steps: list[tuple[str, ...]] = []
    for place, outcome in zip(places, outcomes, strict=True):
        if place.pk not in waiting:
            continue
        have, most = there.get(place.pk, 0), place.round.samples_per_problem
        fresh = [] if isinstance(outcome, str) else outcome[: most - have]
        if not in_part or have + len(fresh) == most:
            place.generated_at = timezone.now()
            place.failure = outcome if isinstance(outcome, str) else ""
            place.save(update_fields=("generated_at", "failure"))
        for index, sample in enumerate(fresh, start=have):
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
