"""Two graders, one verdict: correct, wrong, or undecided with the reasons. Never a guess.

| normaliser | math-verify | verdict |
|---|---|---|
| final (both sides plain, or the same) | not asked | the normaliser's |
| decided | the same | that |
| decided | the opposite | undecided, with both reasons |
| cannot tell | decided | math-verify's |
| decided | cannot tell | the normaliser's |
| cannot tell | cannot tell | undecided, with both reasons |
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from prm_backend.grading.normalise import normaliser_opinion
from prm_backend.grading.pool import GradingLimits, WorkerPool
from prm_backend.text.steps import extract_answer
from prm_backend.types import GraderOpinion, Outcome, Verdict

NO_ANSWER = "no answer"
_DEFAULT_LIMITS = GradingLimits()


class GraderPool:
    """Both graders, with `size` killable processes for the one that may hang.

    A context manager; threads may share it. The processes start when first needed, about a second each.
    Grading raises WorkerFailed where they cannot start at all.
    """

    def __init__(self, size: int = 2, limits: GradingLimits = _DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._workers = WorkerPool(size, limits)

    def grade(self, answer: str, gold: str) -> Verdict:
        """Compare one bare answer with the gold one."""
        return self.grade_many([(answer, gold)])[0]

    def grade_many(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Compare each (answer, gold), two bare answers; verdicts come in the same order."""
        verdicts: dict[int, Verdict] = {}
        open_pairs: dict[int, tuple[GraderOpinion, float]] = {}
        for i, (answer, gold) in enumerate(pairs):
            started = time.monotonic()
            if refusal := self._refusal(answer, gold):
                verdicts[i] = Verdict(Outcome.UNDECIDED, refusal)
                continue
            opinion, final = normaliser_opinion(answer, gold)
            milliseconds = (time.monotonic() - started) * 1000
            if final:
                verdicts[i] = Verdict(opinion.outcome, opinion.reason, (opinion,), milliseconds)
            else:
                open_pairs[i] = (opinion, milliseconds)
        asked = self._workers.ask_many([pairs[i] for i in open_pairs])
        for (i, (normaliser, before)), (mathverify, after) in zip(open_pairs.items(), asked, strict=True):
            verdicts[i] = _combined(normaliser, mathverify, before + after)
        return [verdicts[i] for i in range(len(pairs))]

    def grade_solutions(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Extract each (solution text, gold)'s final answer and compare it, as `grade_solution` does."""
        answers = [extract_answer(text) for text, _ in pairs]
        found = [
            (answer, gold) for answer, (_, gold) in zip(answers, pairs, strict=True) if answer is not None
        ]
        graded = iter(self.grade_many(found))
        return [
            Verdict(Outcome.UNDECIDED, NO_ANSWER) if answer is None else next(graded) for answer in answers
        ]

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

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


def grade(answer: str, gold: str, *, limits: GradingLimits = _DEFAULT_LIMITS) -> Verdict:
    """Compare two bare answers with a pool kept for this process; for many pairs make a GraderPool."""
    return _shared_pool(limits).grade(answer, gold)


def grade_solution(text: str, gold: str, *, limits: GradingLimits = _DEFAULT_LIMITS) -> Verdict:
    """Extract a solution's one final answer and compare that, never the text around it.

    A solution that states none is undecided, "no answer": nothing was compared, and the fault may be the
    extraction's. Whoever needs it to count as not correct (best-of-N, majority vote) can tell by that reason.
    """
    return _shared_pool(limits).grade_solutions([(text, gold)])[0]


def _combined(normaliser: GraderOpinion, mathverify: GraderOpinion, milliseconds: float) -> Verdict:
    opinions = (normaliser, mathverify)
    decided = [opinion for opinion in opinions if opinion.outcome is not Outcome.UNDECIDED]
    outcomes = {opinion.outcome for opinion in decided}
    if len(outcomes) == 1:
        return Verdict(decided[0].outcome, decided[0].reason, opinions, milliseconds)
    said = "; ".join(f"{opinion.grader}: {opinion.outcome}, {opinion.reason}" for opinion in opinions)
    return Verdict(Outcome.UNDECIDED, said, opinions, milliseconds)


_shared: dict[GradingLimits, GraderPool] = {}
_shared_by = os.getpid()
_shared_lock = threading.Lock()


def _shared_pool(limits: GradingLimits) -> GraderPool:
    """This process's own pool for these limits: what a fork inherited belongs to its parent."""
    global _shared_by
    with _shared_lock:
        if _shared_by != os.getpid():
            _shared.clear()
            _shared_by = os.getpid()
        if limits not in _shared:
            pool = _shared[limits] = GraderPool(size=1, limits=limits)
            atexit.register(pool.close)
        return _shared[limits]
