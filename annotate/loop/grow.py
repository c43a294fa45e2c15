"""Step by step (PRM800K's phase 1): a solution grows by the option that is chosen, or by a step the person writes."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotate.errors import InvalidRating
from annotate.loop.draft import Draft, open_draft
from annotate.loop.proposals import ask
from annotate.loop.proposed import Proposed
from annotate.loop.work import Work, followed
from annotate.models import Person, StepRating, Way
from prm_backend.text.steps import split_steps, storable

LONGEST_STEP = 1000  # characters a person may write


@transaction.atomic
def choose(*, person: Person, item: int, step_index: int, option: int, active_ms: int = 0) -> Work:
    """Go on with an option (0-based) that is rated great, once all of that step are rated; the model then goes on.

    Choosing again what is chosen changes nothing. Raises InvalidRating where it cannot be gone on with, otherwise as
    `annotate.loop.label.rate` does.
    """
    draft = open_draft(person, item)
    before = draft.look()
    chosen = [row.option for row in followed(draft.others)]
    if step_index < len(chosen) and chosen[step_index] == option:
        return before
    proposed = _open(before, step_index)
    _refuse_unrated(proposed)
    if option not in [great.index for great in proposed.great]:
        raise InvalidRating(_("Only a step that is rated great can be gone on with."))
    row = draft.row(option)
    row.chosen = True
    row.save(update_fields=("chosen",))
    return draft.since(before, active_ms)


@transaction.atomic
def write_step(*, person: Person, item: int, step_index: int, text: str, active_ms: int = 0) -> Work:
    """Go on with a step of one's own, where no option is great, or where none can come. Raises as `choose` does."""
    draft = open_draft(person, item)
    before = draft.look()
    steps = split_steps(storable(text))
    path = followed(draft.others)
    if steps and step_index < len(path) and path[step_index].text == steps[0]:
        return before  # sent twice
    proposed = _open(before, step_index)
    if proposed.options:
        _refuse_unrated(proposed)
    elif not proposed.done:
        raise InvalidRating(_("The model is still writing: rate its steps first."))
    if proposed.great:
        raise InvalidRating(_("An option is rated great: go on with that one."))
    if len(steps) != 1 or len(steps[0]) > LONGEST_STEP:
        raise InvalidRating(
            _("Write one step, on one line, of at most %(most)s characters.") % {"most": LONGEST_STEP}
        )
    written = StepRating.objects.create(
        label=draft.label,
        step_index=step_index,
        source=StepRating.Source.HUMAN,
        text=steps[0],
        flagged=False,
    )
    draft.others.append(written)
    return draft.since(before, active_ms)


@transaction.atomic
def propose_again(*, person: Person, item: int) -> Work:
    """Ask the model once more, after it failed; does nothing where it is at work or has written."""
    draft = open_draft(person, item)
    work = draft.look()
    if work.proposed is not None and not work.proposed.options:
        ask(draft.label, work.proposed.step_index, again=True)
    return draft.look()


@transaction.atomic
def look_again(*, person: Person, item: int) -> Work:
    """The work as it stands, for a page that waits for the model."""
    return open_draft(person, item).look()


def reopen(draft: Draft) -> None:
    """Take back how the last step was gone on from; its ratings stay. Options that nobody rated yet go."""
    path = followed(draft.others)
    if not path:
        return
    last = path[-1]
    unrated = [row.pk for row in draft.others if row.step_index > last.step_index]
    gone = [*unrated, last.pk] if last.source == StepRating.Source.HUMAN else unrated
    draft.label.ratings.filter(pk__in=gone).delete()
    draft.others = [row for row in draft.others if row.pk not in gone]
    if last.pk not in gone:
        last.chosen = False
        last.save(update_fields=("chosen",))


def _open(work: Work, step_index: int) -> Proposed:
    if work.way != Way.STEP_BY_STEP or work.proposed is None:
        raise InvalidRating(_("There is nothing to go on with here."))
    if work.proposed.step_index != step_index:
        raise InvalidRating(
            _("You stand at step %(step)s: another tab has gone on, or gone back.")
            % {"step": work.proposed.step_index + 1}
        )
    return work.proposed


def _refuse_unrated(proposed: Proposed) -> None:
    missing = proposed.unrated
    if missing is not None:
        raise InvalidRating(
            _("Option %(letter)s is not rated yet: every option is rated before going on.")
            % {"letter": missing.letter}
        )
    if not proposed.options:
        raise InvalidRating(_("There is no option yet."))
