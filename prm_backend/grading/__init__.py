"""Grading: is a final answer correct, wrong or undecided? In processes that can be killed."""

from prm_backend.grading.policy import DEFAULT_POLICY, GradingPolicy
from prm_backend.grading.pool import GradingLimits, WorkerFailed
from prm_backend.grading.verdict import NO_ANSWER, GraderPool, grade, grade_solution
from prm_backend.text.gold import AnswerKind, Gold, InputOutput, Tolerance
from prm_backend.types import Outcome, Verdict

__all__ = [
    "DEFAULT_POLICY",
    "NO_ANSWER",
    "AnswerKind",
    "Gold",
    "GraderPool",
    "GradingLimits",
    "GradingPolicy",
    "InputOutput",
    "Outcome",
    "Tolerance",
    "Verdict",
    "WorkerFailed",
    "grade",
    "grade_solution",
]
