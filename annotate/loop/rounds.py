"""Start a Round: which problems, sampled how, chosen by which rule. Samples nothing itself."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.jobs import enqueue_job
from annotate.models import Person, Problem, Round, RoundProblem, Turn
from prm_backend.config import SelectionConfig
from prm_backend.generators import default_prompt_template
from prm_backend.types import Sampling

PROBLEMS = 40
SAMPLES_PER_PROBLEM = 8


class RoundRefused(PlumblineError):
    """No round can be started now."""


def start_round(
    *,
    problems: int = PROBLEMS,
    samples_per_problem: int = SAMPLES_PER_PROBLEM,
    selection: SelectionConfig | None = None,
    sampling: Sampling | None = None,
    generator: str = "",
    seed: int | None = None,
    by: Person | None = None,
    force: bool = False,
) -> Round:
    """Give `problems` problems places in a new Round and call the workers: untouched problems first, then those
    that were in the fewest rounds.

    `generator` is MODEL where it is empty. Raises RoundRefused where no problem is usable, where a number makes no
    sense, or while another round runs, unless `force`.
    """
    generator, selection = generator or settings.MODEL, selection or SelectionConfig()
    sampling = sampling or Sampling(prompt_template=default_prompt_template(generator))
    if problems < 1 or samples_per_problem < 1:
        raise RoundRefused(_("A round needs at least one problem and one sample for each."))
    with transaction.atomic():
        Turn.ROUND.take()  # two clicks at once start one round
        running = Round.objects.running().first()
        if running is not None and not force:
            raise RoundRefused(
                _("Round %(number)s still runs: wait until all its problems are chosen from.")
                % {"number": running.number}
            )
        taken = _next_problems()[:problems].values_list("pk", flat=True)
        if not taken:
            raise RoundRefused(_("There is no problem with an answer to grade against. Import some first."))
        newest = Round.objects.aggregate(number=Max("number"))["number"] or 0
        new = Round.objects.create(
            number=newest + 1,
            generator=generator,
            seed=secrets.randbits(32) if seed is None else seed,
            samples_per_problem=samples_per_problem,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_new_tokens=sampling.max_new_tokens,
            prompt_template=sampling.prompt_template,
            quota=selection.quota,
            wrong_share=selection.wrong_share,
            control_share=selection.control_share,
            started_by=by,
        )
        RoundProblem.objects.bulk_create(
            (RoundProblem(round=new, problem_id=pk, position=i) for i, pk in enumerate(taken)),
            batch_size=5000,
        )
        enqueue_job("generate", by=by)
    return new


def _next_problems() -> QuerySet[Problem]:
    return Problem.objects.usable().annotate(rounds_before=Count("places")).order_by("rounds_before", "pk")
