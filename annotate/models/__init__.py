"""The nouns of the web application, a file each, every QuerySet beside its model."""

from .benchmark import Benchmark, Measurement
from .job import Job, JobStatus, Worker
from .label import HOW_FAR, Label, StepRating
from .person import ANNOTATOR, MANAGER, ROLE_NAMES, ROLES, LoginAttempt, Person
from .prm import PRMStatus, PRMVersion, Snapshot
from .problem import Problem
from .quality import Concern, Gold, Instructions, QualityPolicy
from .queue import ARMS, Queue, QueueItem, Way
from .round import Round, RoundProblem
from .score import SolutionScore, StepScore
from .solution import Solution, Step
from .statement import Change, Given, Statement, write
from .turns import Turn

__all__ = [
    "ANNOTATOR",
    "ARMS",
    "HOW_FAR",
    "MANAGER",
    "ROLES",
    "ROLE_NAMES",
    "Benchmark",
    "Change",
    "Concern",
    "Given",
    "Gold",
    "Instructions",
    "Job",
    "JobStatus",
    "Label",
    "LoginAttempt",
    "Measurement",
    "PRMStatus",
    "PRMVersion",
    "Person",
    "Problem",
    "QualityPolicy",
    "Queue",
    "QueueItem",
    "Round",
    "RoundProblem",
    "Snapshot",
    "Solution",
    "SolutionScore",
    "Statement",
    "Step",
    "StepRating",
    "StepScore",
    "Turn",
    "Way",
    "Worker",
    "write",
]
