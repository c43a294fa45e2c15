"""Search: from many solutions of a problem to the one to believe. Asks generators and PRMs, knows neither's inside."""

from prm_backend.search.best_of_n import SCORES, best_of_n, rank
from prm_backend.search.solve import Solved, solve
from prm_backend.search.verifier import Layer, facts, people, prm, verify
from prm_backend.search.voting import Vote, majority_vote, same_answer

__all__ = [
    "SCORES",
    "Layer",
    "Solved",
    "Vote",
    "best_of_n",
    "facts",
    "majority_vote",
    "people",
    "prm",
    "rank",
    "same_answer",
    "solve",
    "verify",
]
