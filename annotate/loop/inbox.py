"""What managers do about a Concern: correct the answer, retire the problem, or write back. Raises none itself."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.draft import NOBODY
from annotate.loop.jobs import enqueue_job
from annotate.models import Concern, Gold, Person, Problem, QueueItem, Solution
from prm_backend.text.gold import AnswerKind
from prm_backend.text.problems import answer_rule
from prm_backend.text.steps import storable


class Answered(PlumblineError):
    """Another manager was first."""

    status = 409


@transaction.atomic
def fix_answer(*, concern: Concern, answer: str, by: Person, reply: str = "") -> int:
    """Correct the problem's answer and have all its solutions graded anew; returns how many wait for that.

    Labels keep the answer they were served. Every open dispute of this answer is resolved, and gold of the problem,
    which shows the old answer, is retired. Raises PlumblineError for an empty answer, the one it has, or one that
    nothing could be graded against; Answered where the concern is resolved.
    """
    _lock(concern)
    problem = Problem.objects.select_for_update().get(pk=concern.problem_id)
    correct = storable(answer).strip()
    if not correct or correct == problem.answer:
        raise PlumblineError(
            _("Write the right answer.") if not correct else _("That is the answer the problem has already.")
        )
    _refuse_what_no_import_takes(problem, correct)
    problem.answer = correct
    problem.save(update_fields=("answer",))
    regraded = Solution.objects.filter(problem=problem, round__isnull=False).update(
        outcome=None, grade_reason="", grade_opinions=[], grade_ms=None, graded_at=None
    )
    _retire_gold(problem.pk)
    _resolve(concern, Concern.Action.ANSWER_FIXED, by, reply)
    if regraded:
        enqueue_job("grade", by=by)
    return regraded


@transaction.atomic
def retire_problem(*, concern: Concern, by: Person, reply: str = "") -> None:
    """Take the problem out of use: no round takes it, and its open items are handed out no more.

    Who has one in hand may finish it, but not what was fetched ahead; labels stay. Gold of it is retired, too. Every
    open report of it as a bad problem is resolved. Raises Answered where the concern is resolved.
    """
    _lock(concern)
    Problem.objects.filter(pk=concern.problem_id, retired_at=None).update(retired_at=timezone.now())
    of_it = Q(solution__problem=concern.problem_id) | Q(problem=concern.problem_id)
    QueueItem.objects.fetched_ahead().filter(of_it).update(**NOBODY)
    _retire_gold(concern.problem_id)
    _resolve(concern, Concern.Action.PROBLEM_RETIRED, by, reply)


@transaction.atomic
def write_back(*, concern: Concern, reply: str, by: Person) -> None:
    """Answer the annotator, who sees it in My work. Raises PlumblineError without a word, Answered where it was."""
    _lock(concern)
    if not reply.strip():
        raise PlumblineError(_("Write a word to the annotator."))
    _resolve(concern, Concern.Action.REPLIED, by, reply)


def _refuse_what_no_import_takes(problem: Problem, answer: str) -> None:
    if problem.kind == AnswerKind.CODE:
        raise PlumblineError(
            _(
                "Programs are held against tests, not an answer: retire the problem, and import it with right ones."
            )
        )
    try:
        answer_rule({"kind": problem.kind, "tolerance": problem.tolerance, "answer": answer})
    except ValueError:  # it says of which key, which this form does not have
        raise PlumblineError(_("The answer to a choice is a letter from A to J, such as B.")) from None


def _retire_gold(problem: int) -> None:
    """Served on, it would be told by what it shows: a problem nobody else is given, an answer that was corrected."""
    Gold.objects.in_use().filter(solution__problem=problem).update(retired_at=timezone.now())


def _lock(concern: Concern) -> None:
    if not Concern.objects.open().select_for_update().filter(pk=concern.pk).exists():
        raise Answered(_("This was answered already."))


def _resolve(concern: Concern, action: Concern.Action, by: Person, reply: str) -> None:
    """This one; and where the act settles the problem, all that say the same of it."""
    same = Concern.objects.open().filter(pk=concern.pk)
    if action != Concern.Action.REPLIED:
        same = Concern.objects.open().filter(problem=concern.problem_id, kind=concern.kind)
    same.update(action=action, reply=storable(reply).strip(), resolved_by=by, resolved_at=timezone.now())
