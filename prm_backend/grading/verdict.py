"""Two graders, one verdict: correct, wrong, or undecided with the reasons. Never a guess.

| normaliser | math-verify | verdict |
|---|---|---|
| final (both sides plain, or the same) | not asked | the normaliser's |
| decided | the same | that |
| decided | the opposite | undecided, with both reasons |
| cannot tell | decided | math-verify's |
| decided | cannot tell | the normaliser's |
| cannot tell | cannot tell | undecided, with both reasons |

So it is for mathematics. A choice, a text and a plain number within a tolerance have one grader each, and code has its
tests: what runs outranks what is read.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple

from prm_backend.grading.code import run_tests
from prm_backend.grading.kinds import opinion_of_kind
from prm_backend.grading.normalise import normaliser_opinion
from prm_backend.grading.policy import DEFAULT_POLICY, GradingPolicy
from prm_backend.grading.pool import GradingLimits, Question, WorkerPool
from prm_backend.text.gold import AnswerKind, Gold, final_answer
from prm_backend.types import GraderOpinion, Outcome, Verdict

NO_ANSWER = "no answer"
_DEFAULT_LIMITS = GradingLimits()


class Dispute(NamedTuple):
    """What a judge is asked about: the whole problem, one answer and the gold one."""

    problem: str
    answer: str
    gold: str


class GraderPool:
    """All graders, with `size` killable processes for those that may hang; code runs in sandboxes of its own.

    A context manager; threads may share it. The processes start when first needed, about a second each.
    Grading raises WorkerFailed where they cannot start at all.
    """

    def __init__(
        self, size: int = 2, limits: GradingLimits = _DEFAULT_LIMITS, policy: GradingPolicy = DEFAULT_POLICY
    ) -> None:
        self.limits, self.policy = limits, policy
        self._workers = WorkerPool(size, limits)
        self._sandboxes = ThreadPoolExecutor(size, thread_name_prefix="sandbox")

    def grade(self, answer: str, gold: str | Gold) -> Verdict:
        """Compare one bare answer with the gold one."""
        return self.grade_many([(answer, gold)])[0]

    def grade_many(self, pairs: Sequence[tuple[str, str | Gold]]) -> list[Verdict]:
        """Compare each (answer, gold), two bare answers; verdicts come in the same order.

        A gold answer that is only a text is one of mathematics. The answer to a problem of code is its program.
        """
        held = [(answer, Gold(gold) if isinstance(gold, str) else gold) for answer, gold in pairs]
        programs = {
            i: self._sandboxes.submit(run_tests, answer, gold.tests)
            for i, (answer, gold) in enumerate(held)
            if gold.kind is AnswerKind.CODE
        }
        verdicts: dict[int, Verdict] = {}
        opened: dict[int, tuple[GraderOpinion, float]] = {}
        for i, (answer, gold) in enumerate(held):
            if i in programs:
                continue
            if refusal := self._refusal(answer, gold.answer):
                verdicts[i] = Verdict(Outcome.UNDECIDED, refusal)
                continue
            started = time.monotonic()
            opinion, final = self._first_opinion(answer, gold)
            milliseconds = (time.monotonic() - started) * 1000
            if final:
                verdicts[i] = Verdict(opinion.outcome, opinion.reason, (opinion,), milliseconds)
            else:
                opened[i] = (opinion, milliseconds)
        asked = self._workers.ask_many([self._question(*held[i]) for i in opened])
        for (i, (first, before)), (mathverify, after) in zip(opened.items(), asked, strict=True):
            verdicts[i] = _combined(first, mathverify, before + after)
        verdicts |= {i: program.result() for i, program in programs.items()}
        return [verdicts[i] for i in range(len(pairs))]

    def grade_solutions(self, pairs: Sequence[tuple[str, str | Gold]]) -> list[Verdict]:
        """Extract each (solution text, gold)'s final answer and compare it, as `grade_solution` does."""
        kinds = [gold.kind if isinstance(gold, Gold) else AnswerKind.MATHEMATICS for _, gold in pairs]
        answers = [final_answer(text, kind) for (text, _), kind in zip(pairs, kinds, strict=True)]
        found = [
            (answer, gold) for answer, (_, gold) in zip(answers, pairs, strict=True) if answer is not None
        ]
        graded = iter(self.grade_many(found))
        return [
            Verdict(Outcome.UNDECIDED, NO_ANSWER) if answer is None else next(graded) for answer in answers
        ]

    def _first_opinion(self, answer: str, gold: Gold) -> tuple[GraderOpinion, bool]:
        """What is said without a process, and whether that is final."""
        if _is_mathematics(gold):
            return normaliser_opinion(answer, gold.answer, self.policy)
        if opinion := opinion_of_kind(answer, gold, self.policy):
            return opinion, True
        return GraderOpinion("number", Outcome.UNDECIDED, "not two plain numbers"), False

    def _question(self, answer: str, gold: Gold) -> Question:
        tolerance = None if _is_mathematics(gold) else str(gold.tolerance)
        return Question(answer, gold.answer, self.policy.rounded, tolerance)

    def close(self) -> None:
        """End the processes."""
        self._workers.close()
        self._sandboxes.shutdown()

    def _refusal(self, answer: str, gold: str) -> str:
        for name, text in (("gold answer", gold), ("answer", answer)):
            if not text.strip():
                return f"the {name} is empty"
            if len(text) > self.limits.answer_characters:
                return f"the {name} has {len(text)} characters; {self.limits.answer_characters} are the most"
        return ""

    def __enter__(self) -> GraderPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def grade(
    answer: str,
    gold: str | Gold,
    *,
    policy: GradingPolicy = DEFAULT_POLICY,
) -> Verdict:
    """Compare two bare answers with a pool kept for this process; for many pairs, or other limits, make a GraderPool.

    >>> str(grade("0.5", "1/2").outcome)
    'correct'
    """
    return _shared_pool(policy).grade(answer, gold)


def grade_solution(
    text: str,
    gold: str | Gold,
    *,
    policy: GradingPolicy = DEFAULT_POLICY,
) -> Verdict:
    """Extract a solution's one final answer and compare that, never the text around it.

    A solution that states none is undecided, "no answer": nothing was compared, and the fault may be the
    extraction's. Whoever needs it to count as not correct (best-of-N, majority vote) can tell by that reason.
    """
    return _shared_pool(policy).grade_solutions([(text, gold)])[0]


def _is_mathematics(gold: Gold) -> bool:
    """A number without a tolerance is compared as any other mathematics."""
    return gold.kind is AnswerKind.MATHEMATICS or (gold.kind is AnswerKind.NUMBER and gold.tolerance is None)


def _combined(normaliser: GraderOpinion, mathverify: GraderOpinion, milliseconds: float) -> Verdict:
    opinions = (normaliser, mathverify)
    decided = [opinion for opinion in opinions if opinion.outcome is not Outcome.UNDECIDED]
    outcomes = {opinion.outcome for opinion in decided}
    if len(outcomes) == 1:
        return Verdict(decided[0].outcome, decided[0].reason, opinions, milliseconds)
    said = "; ".join(f"{opinion.grader}: {opinion.outcome}, {opinion.reason}" for opinion in opinions)
    return Verdict(Outcome.UNDECIDED, said, opinions, milliseconds)


def judged(verdict: Verdict, opinion: GraderOpinion) -> Verdict:
    """An undecided verdict after the judge: decided as it says, with its opinion beside the graders'."""
    opinions = (*verdict.opinions, opinion)
    if opinion.outcome is Outcome.UNDECIDED:
        reason = f"{verdict.reason}; {opinion.grader}: {opinion.reason}"
        return replace(verdict, reason=reason, opinions=opinions)
    reason = f"{opinion.grader}: {opinion.reason}"
    return replace(verdict, outcome=opinion.outcome, reason=reason, opinions=opinions)


_shared: dict[GradingPolicy, GraderPool] = {}
_shared_by = os.getpid()
_shared_lock = threading.Lock()


def _shared_pool(policy: GradingPolicy) -> GraderPool:
    """This process's own pool for this policy: what a fork inherited belongs to its parent."""
    global _shared_by
    with _shared_lock:
        if _shared_by != os.getpid():
            _shared.clear()
            _shared_by = os.getpid()
        if policy not in _shared:
            pool = _shared[policy] = GraderPool(size=1, policy=policy)
            atexit.register(pool.close)
        return _shared[policy]
