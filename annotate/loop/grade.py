"""The grade stage: a solution's final answer is compared with the problem's. Undecided is an outcome of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.models import Person, Queue, Solution
from prm_backend.grading.verdict import Dispute, judged
from prm_backend.text.gold import AnswerKind, Gold
from prm_backend.types import GraderOpinion, Outcome, Progress, ProgressCallback, Verdict, silent

NO_ANSWER = Verdict(Outcome.UNDECIDED, "the solution reaches no final answer")
NO_GOLD = Verdict(Outcome.UNDECIDED, "the problem has no answer to compare with")


class Graders(Protocol):
    """What compares pairs of (answer, gold); prm_backend.grading.GraderPool does, in processes it can kill."""

    def grade_many(self, pairs: Sequence[tuple[str, str | Gold]]) -> list[Verdict]: ...


class Judge(Protocol):
    """What is asked where graders do not decide; prm_backend.grading.judge.Judge asks a model."""

    def opinions(
        self, disputes: Sequence[Dispute], progress: ProgressCallback = ...
    ) -> list[GraderOpinion]: ...


def asks_judge() -> bool:
    """Whether the queue that rounds fill wants the judge model asked before people."""
    return Queue.objects.filter(takes_rounds=True, asks_judge=True).exists()


def grade(
    *,
    solutions: Sequence[Solution],
    graders: Graders,
    judge: Judge | None = None,
    progress: ProgressCallback = silent,
) -> int:
    """Write each solution's verdict where there is none yet; returns how many were written.

    Only the extracted answers are compared, never the text around them. Where graders heard both sides and did not
    decide, `judge` is asked; what it leaves undecided goes to people.
    """
    asked: list[tuple[Solution, tuple[str, str | Gold]]] = [
        (solution, (solution.answer, gold))
        for solution in solutions
        if solution.answer is not None and (gold := solution.problem.gold) is not None
    ]
    progress(Progress(0, len(solutions), f"comparing {len(asked)} answers"))
    verdicts = {solution.pk: NO_ANSWER if solution.answer is None else NO_GOLD for solution in solutions}
    given = graders.grade_many([pair for _, pair in asked])
    verdicts |= {solution.pk: verdict for (solution, _), verdict in zip(asked, given, strict=True)}
    if judge is not None:
        _ask(judge, [solution for solution, _ in asked], verdicts, progress)
    written = _write(solutions, verdicts)
    progress(Progress(len(solutions), len(solutions), f"{written} solutions graded"))
    return written


@transaction.atomic
def decide(*, solution: Solution, outcome: Outcome, by: Person) -> int:
    """A person's word on an undecided answer, for every solution of the problem that gives it; returns how many.

    It stands beside the graders' opinions. Raises PlumblineError where it was decided meanwhile.
    """
    same = Solution.objects.undecided().filter(problem=solution.problem_id, answer=solution.answer)
    decided = list(same.order_by("pk").select_for_update(of=("self",)))
    if outcome is Outcome.UNDECIDED or not decided:
        raise PlumblineError(_("This answer is not undecided any more."))
    for row in decided:
        row.outcome, row.grade_reason = outcome, f"decided by {by}"
        row.grade_opinions = [*row.grade_opinions, asdict(GraderOpinion(str(by), outcome, "by hand"))]
    Solution.objects.bulk_update(decided, ("outcome", "grade_reason", "grade_opinions"))
    return len(decided)


def _ask(
    judge: Judge, solutions: Sequence[Solution], verdicts: dict[int, Verdict], progress: ProgressCallback
) -> None:
    """Put the judge's opinion beside the graders'. What a program does when it is run is no matter of opinion."""
    disputes = {
        solution.pk: Dispute(solution.problem.text, solution.answer or "", solution.problem.answer or "")
        for solution in solutions
        if verdicts[solution.pk].outcome is Outcome.UNDECIDED
        and verdicts[solution.pk].opinions
        and solution.problem.kind != AnswerKind.CODE
    }
    for pk, opinion in zip(disputes, judge.opinions(list(disputes.values()), progress), strict=True):
        verdicts[pk] = judged(verdicts[pk], opinion)


@transaction.atomic
def _write(solutions: Sequence[Solution], verdicts: dict[int, Verdict]) -> int:
    ungraded = Solution.objects.filter(pk__in=list(verdicts), outcome__isnull=True)
    locked = ungraded.order_by("pk").select_for_update(of=("self",))
    waiting = dict(locked.values_list("pk", "problem__answer"))
    # Where the answer was corrected meanwhile, the verdict is about the old one: it still waits.
    graded = [s for s in solutions if s.pk in waiting and waiting[s.pk] == s.problem.answer]
    for solution in graded:
        verdict = verdicts[solution.pk]
        solution.outcome = verdict.outcome
        solution.grade_reason = verdict.reason
        solution.grade_opinions = [asdict(opinion) for opinion in verdict.opinions]
        solution.grade_ms = verdict.milliseconds
        solution.graded_at = timezone.now()
    Solution.objects.bulk_update(
        graded, ("outcome", "grade_reason", "grade_opinions", "grade_ms", "graded_at")
    )
    return len(graded)
