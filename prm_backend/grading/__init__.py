"""Grading: is a final answer correct, wrong or undecided? In processes that can be killed."""

from prm_backend.grading.pool import GradingLimits, WorkerFailed
from prm_backend.grading.verdict import NO_ANSWER, GraderPool, grade, grade_solution
from prm_backend.types import Outcome, Verdict

__all__ = [
    "NO_ANSWER",
    "GraderPool",
    "GradingLimits",
    "Outcome",
    "Verdict",
    "WorkerFailed",
    "grade",
    "grade_solution",
]
