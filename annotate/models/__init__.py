"""The nouns of the web application, a file each, every QuerySet beside its model."""

from .job import Job, JobStatus, Worker
from .label import Label, StepRating
from .person import ANNOTATOR, MANAGER, ROLES, LoginAttempt, Person
from .prm import PRMStatus, PRMVersion, Snapshot
from .problem import Problem
from .queue import Queue, QueueItem
from .round import Round, RoundProblem
from .score import SolutionScore, StepScore
from .solution import Solution, Step

__all__ = [
    "ANNOTATOR",
    "MANAGER",
    "ROLES",
    "Job",
    "JobStatus",
    "Label",
    "LoginAttempt",
    "PRMStatus",
    "PRMVersion",
    "Person",
    "Problem",
    "Queue",
    "QueueItem",
    "Round",
    "RoundProblem",
    "Snapshot",
    "Solution",
    "SolutionScore",
    "Step",
    "StepRating",
    "StepScore",
    "Worker",
]
