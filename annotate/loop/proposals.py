"""Next steps that the model proposes while a person waits: asked for as a job, written once, asked again when lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import PlumblineError
from annotate.loop.jobs import enqueue_job, working
from annotate.loop.progress import workers_state
from annotate.loop.proposed import Waiting
from annotate.loop.work import followed, open_options, split
from annotate.models import Job, JobStatus, Label, StepRating, Way
from prm_backend.generators import GenerationFailed, default_prompt_template, seed_of
from prm_backend.generators.critique import critique
from prm_backend.text.steps import ink
from prm_backend.types import Generator, Progress, ProgressCallback, Sampling, silent

log = logging.getLogger(__name__)

KIND = "propose"
_LOOK_SECONDS = 0.5


class NothingProposed(PlumblineError):
    """The model wrote no whole step that differs from what was served."""


def ask(label: Label, step_index: int, *, again: bool = False) -> Waiting:
    """How the model's work on this step's options stands; asked for if nobody has, or `again` after a failure.

    Looking asks: so a job that was lost, or did its work for steps that were changed meanwhile, is asked for anew.
    """
    key = f"{label.pk}/{step_index}"
    job = Job.objects.filter(kind=KIND, key=key).order_by("-pk").first()
    failed = job is not None and job.status in (JobStatus.FAILED, JobStatus.CANCELLED)
    if job is None or job.status == JobStatus.DONE or (failed and again):
        job = enqueue_job(KIND, key, {"label": label.pk})
    elif failed:
        return Waiting("failed")  # why, with addresses of servers and the like, is for managers
    if job.status == JobStatus.RUNNING:
        return Waiting("running", job.message, job.done, job.total)
    worker = next(state for state in workers_state() if state.queue == "model")
    return Waiting("queued") if worker.alive else Waiting("no worker", since=worker.seen_at)


def serve(job_id: int, open_generator: Callable[[str], Generator]) -> None:
    """Do one proposal's job, if it is there to be claimed."""
    with working(job_id) as work:
        if work:
            generator = open_generator(settings.MODEL)
            propose(label=work.job.payload["label"], generator=generator, progress=work.progress)


def people_first(progress: ProgressCallback, open_generator: Callable[[str], Generator]) -> ProgressCallback:
    """The progress callback of long work, in whose steps the proposals that people wait for are done between.

    One worker samples, scores and trains, for minutes at a time: nobody could wait for that.
    """
    looked_at = 0.0

    def between(now: Progress) -> None:
        nonlocal looked_at
        progress(now)
        if time.monotonic() - looked_at < _LOOK_SECONDS:
            return
        for job in Job.objects.filter(kind=KIND, status=JobStatus.QUEUED).order_by("pk")[:8]:
            serve(job.pk, open_generator)
        looked_at = time.monotonic()

    return between


def propose(*, label: int, generator: Generator, progress: ProgressCallback = silent) -> int:
    """Write the options of the step that this draft waits for, and a critique of it if one is asked for.

    Returns how many options. Writes nothing where it waits for none any more, or by now for those of another step.
    Raises NothingProposed. A critique that cannot be had is left out: a person writes one just as well.
    """
    draft = Label.objects.drafts().select_related("queue_item__queue").filter(pk=label).first()
    wanted = None if draft is None else _wanted(draft)
    if draft is None or draft.queue_item is None or wanted is None:
        return 0
    step_index, before = wanted
    sampling = Sampling(prompt_template=default_prompt_template(settings.MODEL))
    served = draft.question.get("pre_generated_steps") or []
    known = {ink(served[step_index])} if served else set()
    options = draft.queue_item.queue.options
    texts = generator.next_steps(
        draft.question["problem"],
        before,
        n=options + len(known),  # what stands there already is likely among what the model would say
        sampling=sampling,
        seed=_seed(draft, before),
        progress=progress,
    )
    fresh = [text for text in texts if ink(text) not in known][:options]
    if not fresh:
        raise NothingProposed(_("The model wrote no whole next step."))
    said = ""
    if served and draft.queue_item.queue.critiques:
        said = _critique(draft, [*before, served[step_index]], generator, progress)
    with transaction.atomic():
        locked = Label.objects.drafts().select_for_update().filter(pk=label).first()
        if locked is None or _wanted(locked) != wanted:
            return 0
        first = 1 if served else 0  # phase 2 serves option 0
        # Rated null, now: a rating given before, of what stood in this place then, comes too late for it.
        blank = {"label": locked, "step_index": step_index, "flagged": False, "rated_at": timezone.now()}
        rows = [
            StepRating(option=option, text=text, **blank) for option, text in enumerate(fresh, start=first)
        ]
        if said:
            rows.append(StepRating(source=StepRating.Source.CRITIQUE, text=said, **blank))
        StepRating.objects.bulk_create(rows)
    return len(fresh)


def _critique(label: Label, steps: list[str], generator: Generator, progress: ProgressCallback) -> str:
    try:
        return critique(
            generator, label.question["problem"], steps, seed=_seed(label, steps), progress=progress
        )
    except (ValueError, ConnectionError, GenerationFailed) as error:
        log.warning("no critique for label %s: %s", label.pk, error)
        return ""


def _wanted(label: Label) -> tuple[int, list[str]] | None:
    """The step whose options the draft lacks, and the steps before it."""
    rows, others = split(label, label.ratings.all())
    opened = open_options(label, rows, others)
    if opened is None or opened[1]:
        return None
    if label.way == Way.STEP_BY_STEP:
        return opened[0], [row.text for row in followed(others)]
    return opened[0], label.question["pre_generated_steps"][: opened[0]]


def _seed(label: Label, before: list[str]) -> int:
    """Others for every person, and the same for the same steps."""
    return seed_of("\n".join([str(label.pk), *before]))
