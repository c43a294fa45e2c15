"""What a person sees of the item they are rating. Built of harmless fields only: no score, grade, reason or gold.

Pages and the API both show a `Work` and nothing else, so what is not here cannot leak to an annotator.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from annotate.models import Label, QueueItem, StepRating, Way
from prm_backend.types import FinishReason, Rating


@dataclass(frozen=True)
class WorkStep:
    """One step as the person sees it. `after_error`: an earlier step is rated -1; whether it is rated, its way says."""

    index: int
    text: str
    rating: int | None
    unsure: bool
    after_error: bool
    active_ms: int = 0

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

    `guess` is the current guess of the final answer (PRM800K shows labellers that, never the reference solution),
    `answer` the one this solution ends in. `last_rated` is the step whose rating was given last.
    `changed` lists the indexes of steps that look different since the verb before; `active_ms` is active time so far;
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
    paused: bool = False
    disputed: str = ""

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
        """0-based index of the first step that still needs a rating, or None when the rating is complete."""
        return None if self.finish else self.rated_run

    @property
    def finish(self) -> FinishReason | None:
        """found_error or solution once every step that its way asks for is rated; else None."""
        if not self.steps or self.rated_run < self.needed:
            return None
        return FinishReason.SOLUTION if self.first_error is None else FinishReason.FOUND_ERROR

    def since(self, before: Work) -> Work:
        """The same, with `changed` set to where it looks different from `before`."""
        pairs = zip(self.steps, before.steps, strict=True)
        return replace(self, changed=tuple(new.index for new, old in pairs if new.look != old.look))


def look(label: Label, item: QueueItem, rows: Mapping[int, StepRating]) -> Work:
    """The draft as its annotator sees it; `rows` are its ratings by step index."""
    texts = label.question["pre_generated_steps"]
    error = min((i for i, row in rows.items() if row.rating == Rating.BAD), default=len(texts))
    steps = tuple(
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
    rated = [(row.rated_at, i) for i, row in rows.items() if row.rating is not None and row.rated_at]
    return Work(
        item=item.pk,
        way=Way(label.way),
        token=item.lease_token,
        lease_expires_at=item.lease_expires_at,
        generation=label.generation,
        problem=label.question["problem"],
        guess=label.question["ground_truth_answer"],
        answer=label.question.get("pre_generated_answer") or "",
        steps=steps,
        active_ms=label.total_time,
        last_rated=max(rated)[1] if rated else None,
    )
