"""What the frozen part of a PRM makes of each example: read once, cached, handed to every epoch. Trains nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from prm_backend.reward.likelihood import FIGURES
from prm_backend.reward.packing import each_pack, pack
from prm_backend.reward.prm import PRM, Reading
from prm_backend.training.cache import RowCache
from prm_backend.training.dataset import Example
from prm_backend.training.kept import KeptStates


class Frozen:
    """Cached hidden states of `examples`, a row an example: of its tokens where layers are trained above them, else of
    its steps alone, ready for the head."""

    def __init__(
        self,
        prm: PRM,
        examples: Sequence[Example],
        directory: Path,
        *,
        keep: bool = False,
        kept: KeptStates | None = None,
    ) -> None:
        """`keep` gives the cache a name in `directory`, so that it survives this process; steps that former trainings
        read come from `kept`, and new ones go there, unless layers are trained."""
        self.prm, self.examples = prm, examples
        self.steps_only = prm.split.first == prm.split.stop
        self._kept = kept if self.steps_only else None
        width = prm.width
        steps = [len(example.targets) for example in examples]
        tokens = [len(example.encoded) for example in examples]
        self._states = RowCache(
            steps if self.steps_only else tokens,
            width * prm.head.states if self.steps_only else width,
            directory,
            name="states" if keep else None,
        )
        self._figures = RowCache(steps, FIGURES, directory, name="figures" if keep else None)

    def fill(self, rows: Sequence[int], batch_tokens: int, done: Callable[[list[int]], None]) -> None:
        """Read the rows that are not cached yet; `done` hears of each pack, and of what was there at once."""
        for row in rows:
            if row not in self._figures and (found := self._former(row)) is not None:
                self._states.put(row, found[:, FIGURES:])
                self._figures.put(row, found[:, :FIGURES])
        done([row for row in rows if row in self._figures])
        missing = [row for row in rows if row not in self._figures]

        def run(batch: list[int]) -> None:
            chosen = [missing[k] for k in batch]
            self._read(chosen)
            done(chosen)

        each_pack([self.examples[row].encoded.input_ids for row in missing], batch_tokens, run)

    @torch.no_grad()
    def _read(self, rows: Sequence[int]) -> None:
        encoded = [self.examples[row].encoded for row in rows]
        counts = [len(self.examples[row].targets) for row in rows]
        reading = self.prm.read(encoded)
        if self.steps_only:
            states = self.prm.states(encoded, reading).flatten(1).split(counts)
        else:
            states = tuple(reading.hidden[place] for place in reading.packed.places)
        figures = torch.zeros(sum(counts), FIGURES) if reading.figures is None else reading.figures
        for row, own, likely in zip(rows, states, figures.split(counts), strict=True):
            self._states.put(row, own)
            self._figures.put(row, likely)  # last: it says that the row is there
        if self._kept:
            own = torch.cat([figures.to(self.prm.device), torch.cat(states)], 1)
            self._kept.put(encoded, own.split(counts))

    def _former(self, row: int) -> Tensor | None:
        """[steps, FIGURES and width] that another training read."""
        return None if self._kept is None else self._kept.get(self.examples[row].encoded)

    def reading(self, rows: Sequence[int]) -> Reading:
        """What `PRM.read` would give for these examples, from the cache."""
        device = self.prm.device
        packed = pack([self.examples[row].encoded.input_ids for row in rows], device)
        hidden = torch.empty(len(packed), self.prm.width, device=device)
        for row, place in zip(rows, packed.places, strict=True):
            hidden[place] = self._states.get(row).to(device)
        return Reading(packed, hidden, self.figures(rows))

    def states(self, rows: Sequence[int]) -> Tensor:
        """What `PRM.states` would give for these examples, from the cache; only where nothing is trained below."""
        states = torch.cat([self._states.get(row) for row in rows])
        return states.unflatten(1, (self.prm.head.states, -1)).to(self.prm.device)

    def figures(self, rows: Sequence[int]) -> Tensor | None:
        if not self.prm.config.log_probs:
            return None
        return torch.cat([self._figures.get(row) for row in rows]).to(self.prm.device)
