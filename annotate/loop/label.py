"""The label stage: a person takes an item under a lease, rates its steps, submits. Nothing here ever shows a score.

Several people and several tabs meet on the same rows: every verb locks the person's draft and its queue item
first, and PostgreSQL's constraints (one lease a person, one label a person and solution) have the last word.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.errors import AlreadySubmitted, InvalidFinish, InvalidRating
from annotate.loop import further
from annotate.loop.concerns import raise_concerns
from annotate.loop.draft import NOBODY, Draft, begin, open_draft, raced
from annotate.loop.gold import judge, watch
from annotate.loop.grow import reopen
from annotate.loop.take import take, take_ahead
from annotate.loop.work import Work
from annotate.models import Change, Given, Label, Person, QueueItem, StepRating, Way, write
from prm_backend.text.steps import storable
from prm_backend.types import FinishReason, Rating

_SUBMITTED = (
    "finish_reason", "comment", "progress", "critique", "total_time", "submitted_at", "agrees_with_gold"
)  # fmt: skip
_DONE = Change(lambda: QueueItem.objects.filter(pk=Given("item")), done_at=Given("now"), **NOBODY)
_IN_WORDS = (FinishReason.GIVE_UP, FinishReason.BAD_PROBLEM)


def claim(*, person: Person) -> Work | None:
    """Give the person something to rate and lease it to them; None where nothing waits for them.

    Their own live lease comes first (so a second tab and a reload show the same item), then the one fetched ahead, then
    an item they began and nobody holds now, then the next free one of the queues that are not paused, or gold in its
    place.
    """
    return raced(lambda: _claim(person))


def fetch_ahead(*, person: Person, item: int) -> Work | None:
    """Lease the person what comes after the item they have in hand, so that their page has it when they submit.

    Asked again, the same one: its lease is not renewed until it ran out, so that nobody holds two for ever, and its
    time does not run. None where nothing is to come, or nothing that can be known before the submit (a screening goes
    on or not, a step by step the model writes first), and where the item is not what they have in hand.
    """
    return raced(lambda: _fetch_ahead(person, item))


def _claim(person: Person) -> Work | None:
    taken = take(person)
    return None if taken is None else begin(person, taken.item, taken.generation)


def _fetch_ahead(person: Person, item: int) -> Work | None:
    taken = take_ahead(person, item)
    # Begun now, so that a rating has a row to go to whatever becomes of the submit before it.
    return None if taken is None else begin(person, taken.item, taken.generation)


def rate(
    *,
    person: Person,
    item: int,
    step_index: int,
    rating: int | None,
    flagged: bool | None = None,
    given_at: datetime | None = None,
    step_ms: int = 0,
    active_ms: int = 0,
) -> Work:
    """Save one rating (-1, 0, +1; None takes it back), and whether the person is unsure (None leaves that as it was).

    `given_at` is when the person gave it, now if None: per step the newest counts, so one that is sent twice or late
    changes nothing. A late one given before the first error was seen is kept in the draft. `step_ms` and `active_ms`
    are active ms on the step and on the item, all together. Raises InvalidRating for a step that does not exist or
    comes after the first error; NotYourItem, LeaseLost and AlreadySubmitted where the item is not, or no longer,
    the person's to rate.
    """
    if rating is not None and rating not in list(Rating):
        raise InvalidRating(_("A rating is -1, 0 or 1, not %(rating)s.") % {"rating": rating})
    with transaction.atomic():
        draft = open_draft(person, item)
        before, given = draft.look(), _moment(given_at)
        row = draft.row(step_index)
        draft.step_time(row, step_ms)
        if row.rated_at is None or given > row.rated_at:
            if rating is not None:
                _refuse_after_error(draft, before, step_index, given)
            row.rating, row.rated_at = rating, given
            if not draft.is_option(step_index):  # an option is chosen by an act of its own, or never
                row.chosen = rating not in (None, Rating.BAD)
            if flagged is not None:
                row.flagged, row.flagged_at = draft.flagged(step_index, flagged), given
            write(row)
        return draft.since(before, active_ms)


def _refuse_after_error(draft: Draft, before: Work, step_index: int, given: datetime) -> None:
    error = before.first_error
    if error is None or step_index <= error or before.goes_on or draft.is_option(step_index):
        return
    seen_at = draft.rows[error].rated_at
    if seen_at is None or given >= seen_at:
        raise InvalidRating(
            _(
                "Step %(step)s comes after the first error, step %(error)s. "
                "If that is no error, change its rating first."
            )
            % {"step": step_index + 1, "error": error + 1}
        )


def flag(
    *,
    person: Person,
    item: int,
    step_index: int,
    unsure: bool,
    given_at: datetime | None = None,
    active_ms: int = 0,
) -> Work:
    """Mark a step as one the person is unsure of, or take the mark back. Of two, the newer counts, as in `rate`."""
    with transaction.atomic():
        draft = open_draft(person, item)
        before, given = draft.look(), _moment(given_at)
        row = draft.row(step_index)
        if row.flagged_at is None or given > row.flagged_at:
            # A mark is no rating: `rated_at` stays.
            row.flagged, row.flagged_at = draft.flagged(step_index, unsure), given
            row.save(update_fields=None if row.pk is None else ("flagged", "flagged_at"))
        return draft.since(before, active_ms)


def undo(*, person: Person, item: int, step_index: int | None = None, active_ms: int = 0) -> Work:
    """Take back the rating given last; does nothing where none is left. Raises as `rate` does.

    Step by step, where no option is rated, what is taken back is the way the step before went on.
    With `step_index`, only if that step's is the last: so the same button pressed twice takes back one.
    """
    with transaction.atomic():
        draft = open_draft(person, item)
        before = draft.look()
        if before.last_rated is not None and step_index in (None, before.last_rated):
            last = draft.row(before.last_rated)
            last.rating, last.chosen, last.rated_at = None, False, timezone.now()
            last.save()
        elif before.way == Way.STEP_BY_STEP and step_index is None:
            reopen(draft)
        return draft.since(before, active_ms)


def submit(
    *,
    person: Person,
    item: int,
    finish_reason: str = "",
    comment: str = "",
    progress: int | None = None,
    critique: str | None = None,
    given_at: datetime | None = None,
    step_ms: Mapping[int, int] | None = None,
    active_ms: int = 0,
) -> Label:
    """Make the draft final and the item done. An empty reason means whichever of found_error and solution holds.

    The label keeps the unbroken run of ratings from the first step to the first error; ratings of later steps,
    given before the error was seen, go (PRM800K has none), unless every step is rated. A give-up ends in PRM800K's
    all-null step, or in the error that was found. `progress` and `critique` are what `further.tell` takes.
    Submitting after the lease ran out is fine as long as nobody else took the item. `step_ms` are active ms by step
    index, all together. What the person was unsure of, and a bad problem, become concerns. Raises InvalidFinish for
    a reason that contradicts the ratings or lacks its words, AlreadySubmitted for one `given_at` before the label was
    taken back; otherwise as `rate` does.
    """
    with transaction.atomic():
        draft = open_draft(person, item)
        label, work = draft.label, draft.look()
        if label.reopened_at is not None and _moment(given_at) < label.reopened_at:
            raise AlreadySubmitted(_("That submit came late: you have taken this label back since."))
        reason = _finish(work, finish_reason, comment)
        further.note(label, progress, critique)
        if work.asks_further and reason is FinishReason.FOUND_ERROR:
            further.require(label, work.proposed)
        run = work.rated_run
        _drop_the_rest(draft, work)
        if reason is FinishReason.GIVE_UP and _ends_open(work):
            write(StepRating(label=label, step_index=run, source=StepRating.Source.BLANK))
        now = timezone.now()
        label.finish_reason, label.comment = reason, storable(comment).strip()
        label.total_time = draft.active_time(active_ms)
        label.submitted_at = now
        judge(label, work, reason)
        write(label, _SUBMITTED)
        _keep_step_times(draft, step_ms or {}, run)
        unsure = sorted(
            {step.index for step in work.steps[:run] if step.unsure}
            | {row.step_index for row in draft.others if row.flagged}
        )
        if unsure or reason is FinishReason.BAD_PROBLEM:
            raise_concerns(label, unsure)
        _DONE.run(item=item, now=now)
        watch(person, label)
        return label


def submit_and_claim(*, person: Person, **act: Any) -> tuple[Label, Work | None]:
    """`submit` and then `claim`, with one commit and so with one wait for the disk."""
    try:
        with transaction.atomic():
            return submit(person=person, **act), _claim(person)
    except (
        IntegrityError
    ):  # as in `claim`; each for itself then, so that the submit stands whatever the claim meets
        person.refresh_from_db()
        return submit(person=person, **act), claim(person=person)


def heartbeat(*, person: Person, item: int) -> datetime:
    """Keep the lease alive, or take it again if it ran out and nobody else has it; returns when it ends."""
    with transaction.atomic():
        return open_draft(person, item).extend_lease()


def release(*, person: Person, item: int, token: uuid.UUID | None = None) -> bool:
    """Give the item back, and what was fetched ahead; drafts stay. With a token, only if no page claimed it since.

    Returns whether it was held. A page that is left sends this late, perhaps after the reloaded page has
    claimed the item anew: that claim's new token makes the old page's release a no-op.
    """
    held = QueueItem.objects.open().filter(leased_by=person)
    this = held.filter(pk=item)
    if token is not None:
        this = this.filter(lease_token=token)
    with transaction.atomic():
        released = bool(this.update(**NOBODY))
        if released:
            held.filter(ahead=True).update(**NOBODY)
    return released


def _moment(given_at: datetime | None) -> datetime:
    """When an act was given; a clock that runs ahead is held to now."""
    now = timezone.now()
    return now if given_at is None else min(given_at, now)


def _keep_step_times(draft: Draft, step_ms: Mapping[int, int], run: int) -> None:
    kept = [row for index, row in draft.rows.items() if index < run and step_ms.get(index, 0) > row.active_ms]
    for row in kept:
        draft.step_time(row, step_ms[row.step_index])
    if kept:
        StepRating.objects.bulk_update(kept, ("active_ms",))


def _drop_the_rest(draft: Draft, work: Work) -> None:
    """What was rated after the run that counts, and options of a step that is not the first error after all."""
    if work.way == Way.STEP_BY_STEP:
        return
    run = work.rated_run
    if any(step.index >= run and (step.unsure or step.rating is not None) for step in work.steps):
        draft.label.ratings.filter(step_index__gte=run).delete()
    strays = [row for row in draft.others if row.step_index != work.first_error]
    if strays:
        draft.label.ratings.filter(pk__in=[row.pk for row in strays]).delete()
        draft.others = [row for row in draft.others if row.step_index == work.first_error]


def _ends_open(work: Work) -> bool:
    """Whether a give-up leaves nothing at the step it stopped at: neither ratings, options, nor an error before it."""
    if work.way == Way.STEP_BY_STEP:
        return work.proposed is not None and not work.proposed.options
    found = work.first_error is not None and work.first_error < work.rated_run
    return work.rated_run < len(work.steps) and not (found and work.goes_on)


def _finish(work: Work, given: str, comment: str) -> FinishReason:
    """The finish reason that holds, or InvalidFinish."""
    if given and given not in list(FinishReason):
        raise InvalidFinish(_("There is no finish reason “%(reason)s”.") % {"reason": given})
    if given in _IN_WORDS:
        if not comment.strip():
            raise InvalidFinish(_("Please say in a few words why."))
        return FinishReason(given)
    if work.finish is None:
        raise InvalidFinish(_missing(work))
    if given and given != work.finish:
        raise InvalidFinish(
            _("The ratings say “%(found)s”, not “%(given)s”.") % {"found": work.finish, "given": given}
        )
    return work.finish


def _missing(work: Work) -> str:
    if work.way == Way.STEP_BY_STEP:
        return _("The solution has no answer yet: go on with a step, or say why it cannot be finished.")
    if work.rated_run < work.needed:
        return _("Step %(step)s is not rated yet.") % {"step": work.rated_run + 1}
    option = work.proposed and work.proposed.unrated
    if not option:
        return _("The next steps to rate are still being written. Wait a moment.")
    return _("Option %(letter)s is not rated yet.") % {"letter": option.letter}
