"""What a person sees of the item they are rating. Built of harmless fields only: no score, grade, reason or gold.

Pages and the API both show a `Work` and nothing else, so what is not here cannot leak to an annotator.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from annotate.loop.proposed import Option, Proposed
from annotate.models import Label, QueueItem, StepRating, Way
from prm_backend.text.steps import ends_solution
from prm_backend.types import FinishReason, Rating

_PROPOSED = (StepRating.Source.MODEL, StepRating.Source.CRITIQUE)


@dataclass(frozen=True)
class WorkStep:
    """One step as the person sees it. `after_error`: an earlier step is rated -1; whether it is rated, its way says.

    `written`: a step of a grown solution that the person wrote.
    """

    index: int
    text: str
    rating: int | None
    unsure: bool
    after_error: bool
    active_ms: int = 0
    written: bool = False

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def look(self) -> tuple[int | None, bool, bool]:
        """All that can change in how it is shown."""
        return self.rating, self.unsure, self.after_error


@dataclass(frozen=True)
class Work:
    """A solution under rating: `item` names it in every verb of annotate.loop.label.

    `steps` are those that were served or, step by step, the ones chosen so far. `proposed` are next steps to rate: at
    the first error, where the queue asks further (then `progress` and `critique` belong to it), or step by step.

    `guess` is the current guess of the final answer (PRM800K shows labellers that, never the reference solution),
    `answer` the one this solution ends in. `last_rated` is the step whose rating was given last.
    `hint` is the first error as the PRM guesses it, -1 for none, where the person is to see it; else None.
    `changed` and `changed_options` list the indexes of what looks different since the verb before, `grew` says whether
    the steps are other ones (it also shrinks), `reproposed` whether the options are; `active_ms` is active time so far;
    `paused` and `disputed` say, when the item is claimed, whether its queue is, and what the person said of the guess.
    """

    item: int
    way: Way
    token: uuid.UUID | None
    lease_expires_at: datetime | None
    generation: int | None
    problem: str
    guess: str | None
    answer: str
    steps: tuple[WorkStep, ...]
    active_ms: int
    last_rated: int | None = None
    changed: tuple[int, ...] = ()
    changed_options: tuple[int, ...] = ()
    grew: bool = False
    reproposed: bool = False
    paused: bool = False
    disputed: str = ""
    asks_further: bool = False
    proposed: Proposed | None = None
    progress: int | None = None
    critique: str = ""
    hint: int | None = None

    @cached_property
    def first_error(self) -> int | None:
        """0-based index of the first step rated -1, or None."""
        return next((s.index for s in self.steps if s.rating == Rating.BAD), None)

    @property
    def goes_on(self) -> bool:
        """Whether steps after the first error are rated, too."""
        return self.way == Way.EVERY_STEP

    @cached_property
    def needed(self) -> int:
        """How many steps, from the first on, its way asks to be rated."""
        return len(self.steps) if self.first_error is None or self.goes_on else self.first_error + 1

    @cached_property
    def rated_run(self) -> int:
        """How many of those are rated, from the first on, without a gap."""
        return next((s.index for s in self.steps[: self.needed] if s.rating is None), self.needed)

    @property
    def next_open(self) -> int | None:
        """0-based index of the first step or option that still needs a rating, or None where none does."""
        if self.rated_run < self.needed:
            return self.rated_run
        if self.proposed is None:
            return None
        said = self.proposed.critique
        if said is not None and said.rating is None and not self.critique:
            return said.index
        missing = self.proposed.unrated
        return missing.index if missing else None

    @property
    def finish(self) -> FinishReason | None:
        """found_error or solution once everything that its way asks for is rated; else None."""
        return self.found if self.proposed is None or (self.found and self.proposed.done) else None

    @property
    def found(self) -> FinishReason | None:
        """What the ratings of its own steps say, once all that are needed are there."""
        if not self.steps or self.rated_run < self.needed:
            return None
        if self.way == Way.STEP_BY_STEP:
            return FinishReason.SOLUTION if ends_solution(self.steps[-1].text) else None
        return FinishReason.SOLUTION if self.first_error is None else FinishReason.FOUND_ERROR

    def since(self, before: Work) -> Work:
        """The same, told what of it looks different from `before`."""
        steps = zip(self.steps, before.steps, strict=False)
        old, new = before.proposed, self.proposed
        options = zip(new.rated, old.rated, strict=False) if new and old else ()
        return replace(
            self,
            changed=tuple(one.index for one, other in steps if one.look != other.look),
            changed_options=tuple(one.index for one, other in options if one.look != other.look),
            grew=len(self.steps) != len(before.steps),
            reproposed=(new and new.look) != (old and old.look),
        )


def split(label: Label, ratings: Iterable[StepRating]) -> tuple[dict[int, StepRating], list[StepRating]]:
    """A draft's ratings of the steps that were served, by index, and its other rows: options and written steps."""
    served, others = {}, []
    for row in ratings:
        if label.way != Way.STEP_BY_STEP and row.option == 0:
            served[row.step_index] = row
        else:
            others.append(row)
    return served, others


def followed(others: Sequence[StepRating]) -> list[StepRating]:
    """The path of a grown solution: at each step the option that was chosen, or the step that was written."""
    path = {row.step_index: row for row in others if row.chosen or row.source == StepRating.Source.HUMAN}
    return [path[i] for i in range(len(path)) if i in path]


def open_options(
    label: Label, rows: Mapping[int, StepRating], others: Sequence[StepRating]
) -> tuple[int, list[StepRating]] | None:
    """The step that next steps are proposed for, and those there are; None where none is asked for.

    Before the options comes the model's critique of the step, where it wrote one.
    """
    if label.way == Way.STEP_BY_STEP:
        path = followed(others)
        if path and ends_solution(path[-1].text):
            return None
        index: int | None = len(path)
    else:
        index = min((i for i, row in rows.items() if row.rating == Rating.BAD), default=None)
    if index is None:
        return None
    here = [row for row in others if row.step_index == index and row.source in _PROPOSED]
    return index, sorted(here, key=lambda row: -1 if row.option is None else row.option)


def look(
    label: Label, item: QueueItem, rows: Mapping[int, StepRating], others: Sequence[StepRating] = ()
) -> Work:
    """The draft as its annotator sees it; `rows` are ratings of served steps by index, `others` all the rest."""
    texts = label.question.get("pre_generated_steps") or []
    rated = [(row.rated_at, i) for i, row in rows.items() if row.rating is not None and row.rated_at]
    work = Work(
        item=item.pk,
        way=Way(label.way),
        token=item.lease_token,
        lease_expires_at=item.lease_expires_at,
        generation=label.generation,
        problem=label.question["problem"],
        guess=label.question["ground_truth_answer"],
        answer=label.question.get("pre_generated_answer") or "",
        steps=_grown(others) if label.way == Way.STEP_BY_STEP else _served(texts, rows),
        active_ms=label.total_time,
        last_rated=max(rated)[1] if rated else None,
        asks_further=label.way == Way.FIRST_ERROR and item.queue.asks_further,
        progress=label.progress,
        critique=label.critique,
        hint=label.hint if label.hinted else None,
    )
    asked = label.way == Way.STEP_BY_STEP or (work.asks_further and work.found == FinishReason.FOUND_ERROR)
    opened = open_options(label, rows, others) if asked else None
    if opened is None:
        return work
    step_index, here = opened
    rated += [(r.rated_at, len(texts) + k) for k, r in enumerate(here) if r.rating is not None and r.rated_at]
    critiques = sum(row.source == StepRating.Source.CRITIQUE for row in here)  # none or one
    shown = tuple(
        Option(len(texts) + k, k + 1 - critiques, row.text, row.rating, bool(row.flagged), row.active_ms)
        for k, row in enumerate(here)
    )
    return replace(
        work,
        last_rated=max(rated)[1] if rated else None,
        proposed=Proposed(step_index, shown[critiques:], critique=shown[0] if critiques else None),
    )


def _served(texts: Sequence[str], rows: Mapping[int, StepRating]) -> tuple[WorkStep, ...]:
    error = min((i for i, row in rows.items() if row.rating == Rating.BAD), default=len(texts))
    return tuple(
        WorkStep(
            index=i,
            text=text,
            rating=rows[i].rating if i in rows else None,
            unsure=bool(i in rows and rows[i].flagged),
            after_error=i > error,
            active_ms=rows[i].active_ms if i in rows else 0,
        )
        for i, text in enumerate(texts)
    )


def _grown(others: Sequence[StepRating]) -> tuple[WorkStep, ...]:
    return tuple(
        WorkStep(
            index=i,
            text=row.text,
            rating=Rating.GREAT if row.rating is None else row.rating,  # written to go on with
            unsure=bool(row.flagged),
            after_error=False,
            active_ms=row.active_ms,
            written=row.source == StepRating.Source.HUMAN,
        )
        for i, row in enumerate(followed(others))
    )
