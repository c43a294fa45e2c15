"""The process in which two answers meet: reads pairs as JSON lines, answers with opinions. Made to be killed.

Run as `python -m prm_backend.grading.worker CPU_SECONDS MEMORY_BYTES`; it ends when its standard input does.
The library is loaded once; a child forked from there compares, and another takes its place if it is killed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import TextIO

from prm_backend.grading.mathverify import mathverify_opinion
from prm_backend.grading.pool import OUT_OF_MEMORY, Question
from prm_backend.text.gold import Tolerance
from prm_backend.types import Outcome


def main(cpu_seconds: int, memory_bytes: int) -> None:
    """Keep one child serving: each is announced as `{"pid", "status"}`, the status being the former one's."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not look like a reply
    mathverify_opinion("\\frac{x}{y}", "\\sqrt{2}")  # what is loaded and cached at first use, every child has
    status = None
    while status not in (0, 1):  # 0: the input has ended; 1: a fault of this program, which would come again
        child = os.fork()
        if child == 0:
            print(json.dumps({"pid": os.getpid(), "status": status}), file=replies)
            _serve(replies, cpu_seconds, memory_bytes)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit(status)


def _serve(replies: TextIO, cpu_seconds: int, memory_bytes: int) -> None:
    """Answer each line, a Question, with `[outcome, reason]`, until there are no more."""
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    for line in sys.stdin:
        answer, gold, rounded, tolerance = Question(*json.loads(line))
        spent = resource.getrusage(resource.RUSAGE_SELF)
        # Should the parent be gone, this ends even a comparison that never does.
        _limit(resource.RLIMIT_CPU, int(spent.ru_utime + spent.ru_stime) + cpu_seconds)
        try:
            opinion = mathverify_opinion(
                answer,
                gold,
                rounded=Outcome(rounded),
                tolerance=None if tolerance is None else Tolerance.parse(tolerance),
            )
        except MemoryError:
            os._exit(OUT_OF_MEMORY)  # a heap that ran full once is not trusted again
        print(json.dumps([opinion.outcome, opinion.reason]), file=replies)


def _limit(kind: int, to: int) -> None:
    """Set a soft limit, within the hard one that the machine may have set already."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (to if hard == resource.RLIM_INFINITY else min(to, hard), hard))


if __name__ == "__main__":
    main(cpu_seconds=int(sys.argv[1]), memory_bytes=int(sys.argv[2]))
