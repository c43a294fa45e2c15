"""Next steps of the model as the person who rates them sees them, or why there are none yet. Asks for none itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prm_backend.types import Rating


@dataclass(frozen=True)
class Option:
    """A next step the model proposes, or its critique of the step that is there.

    `index` names it in `rate`: the critique, if there is one, and the options are counted on after the served steps.
    `number` counts the options from 1.
    """

    index: int
    number: int
    text: str
    rating: int | None
    unsure: bool
    active_ms: int = 0

    @property
    def letter(self) -> str:
        """What people call it: A, B, C …, so that nobody takes it for a step's number."""
        return chr(ord("A") + self.number - 1)

    @property
    def look(self) -> tuple[int | None, bool]:
        return self.rating, self.unsure


@dataclass(frozen=True)
class Waiting:
    """Why there are no options yet: the model's work on them, or what keeps it from them."""

    state: str  # "queued", "running", "failed" or "no worker"
    message: str = ""
    done: int = 0
    total: int = 0
    since: datetime | None = None

    @property
    def seen(self) -> str:
        """Changes whenever there is something else to show."""
        return f"{self.state}-{self.done}"

    @property
    def in_vain(self) -> bool:
        """Nothing will come by itself."""
        return self.state in ("failed", "no worker")


@dataclass(frozen=True)
class Proposed:
    """What the model proposes as step `step_index`: options to rate, or while there are none, what is waited for.

    `critique` is what it says is wrong with the step that was served there; it comes with the options, or never.
    """

    step_index: int
    options: tuple[Option, ...]
    waiting: Waiting | None = None
    critique: Option | None = None

    @property
    def rated(self) -> tuple[Option, ...]:
        """All that can be rated, by index."""
        return self.options if self.critique is None else (self.critique, *self.options)

    @property
    def look(self) -> tuple[int, int]:
        """What tells other options from these."""
        return self.step_index, len(self.options)

    @property
    def unrated(self) -> Option | None:
        return next((option for option in self.options if option.rating is None), None)

    @property
    def great(self) -> tuple[Option, ...]:
        return tuple(option for option in self.options if option.rating == Rating.GREAT)

    @property
    def onward(self) -> str:
        """How a grown solution goes on now: "choose" a great option, "write" a step, or "" where it must wait."""
        if not self.done:
            return ""
        return "choose" if self.great else "write"

    @property
    def done(self) -> bool:
        """All that came is rated, or nothing will come."""
        if not self.options:
            return self.waiting is not None and self.waiting.in_vain
        return self.unrated is None
