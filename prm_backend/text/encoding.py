"""Our own layout: steps become tokens and label positions, nowhere else. Knows a tokenizer, no model.

`layouts` has those that published PRMs were trained on.

Layout: `[bos] problem SEP step SEP step SEP … step SEP`. A step is read at the separator behind it, where a causal
model has seen that it ends (as TRL's PRMTrainer does; why: docs/decisions/0017). Each piece is tokenised apart from the
separators, so no merge across a border (as with Math-Shepherd's ` ки`) moves or swallows the token a step is read at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from prm_backend.text.steps import storable
from prm_backend.types import Unscorable

SEPARATOR = "\n"
# Stored in every checkpoint, since a PRM must be given text as it was trained on. Raise it with the layout.
ENCODING_VERSION = "newline-behind-2"


class Tokenizer(Protocol):
    """What is used of a Hugging Face tokenizer; the result holds `input_ids`, a list for each text."""

    def __call__(self, text: list[str], **options: Any) -> Any: ...


@dataclass(frozen=True)
class Encoded:
    """A tokenised solution. `label_positions[i]` indexes the token step i is read at in `input_ids`; it rises.

    `starts` are the steps' first tokens, in a layout that says so (ours). Where there are more starts than positions,
    the first steps are context and not read.
    """

    input_ids: tuple[int, ...]
    label_positions: tuple[int, ...]
    starts: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the steps that are read begin, and where they end (exclusive), the token read included."""
        starts = self.starts[len(self.starts) - len(self.label_positions) :]
        return [(start, last + 1) for start, last in zip(starts, self.label_positions, strict=True)]


def encode(tokenizer: Tokenizer, problem: str, steps: Sequence[str], max_length: int) -> Encoded | Unscorable:
    """Tokenise a problem and its steps; what is longer than `max_length` tokens is refused, never cut.

    `steps[:k]` encodes to a prefix of what `steps` encodes to, so one forward pass scores every prefix.
    Special tokens spelt out in the text ("<|im_end|>") are tokenised as the plain text they are.
    """
    if not steps:
        return Unscorable("the solution has no steps")
    texts = [storable(text) for text in (problem, SEPARATOR, *steps)]
    problem_ids, separator_ids, *steps_ids = tokenizer(
        texts, add_special_tokens=False, split_special_tokens=True, verbose=False
    )["input_ids"]
    ids = [*leading_ids(tokenizer), *problem_ids, *separator_ids]
    starts, positions = [], []
    for number, step_ids in enumerate(steps_ids, start=1):
        if not step_ids or not steps[number - 1].strip():
            return Unscorable(f"step {number} of {len(steps)} is empty")
        starts.append(len(ids))
        ids += [*step_ids, *separator_ids]
        positions.append(len(ids) - 1)
    if len(ids) > max_length:
        return Unscorable(f"the solution has {len(ids)} tokens, more than the {max_length} that fit")
    return Encoded(tuple(ids), tuple(positions), tuple(starts))


def leading_ids(tokenizer: Tokenizer) -> list[int]:
    """The special tokens the tokenizer puts before a text (a Llama's BOS): its model expects them."""
    plain = list(tokenizer(["x"], add_special_tokens=False)["input_ids"][0])
    whole = list(tokenizer(["x"], add_special_tokens=True)["input_ids"][0])
    starts = range(len(whole) - len(plain) + 1)
    return whole[: next((i for i in starts if whole[i : i + len(plain)] == plain), 0)]
