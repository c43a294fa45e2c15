"""When a solution or a step is finished, and what a model wrote made one. The same for every generator."""

from __future__ import annotations

from collections.abc import Iterable

from prm_backend.text.segmentation import segmentation as policy
from prm_backend.text.steps import (
    ANSWER_HEADER,
    ends_solution,
    extract_answer,
    ink,
    is_answer_header,
    split_steps,
    storable,
)
from prm_backend.types import NEWLINE, Sample

_HEADER = ANSWER_HEADER.lower().replace(" ", "")


def is_finished(text: str) -> bool:
    """Whether the text ends where a solution does: at the end of a `# Answer` block's first whole line."""
    if not text.endswith("\n") or not (steps := split_steps(text)):
        return False
    _, header, answer = f"\n\n{steps[-1]}".rpartition(f"\n\n{ANSWER_HEADER}\n\n")
    return bool(header) and answer.count("{") <= answer.count("}")


def make_sample(text: str, *, truncated: bool, n_tokens: int, segmentation: str = NEWLINE) -> Sample:
    """The Sample of a raw completion; what a model goes on to write after its answer block is dropped."""
    text = _until_finished(storable(text)).rstrip()
    return Sample(
        text=text,
        steps=policy(segmentation).split(text),
        answer=extract_answer(text),
        truncated=truncated,
        n_tokens=n_tokens,
    )


def _until_finished(text: str) -> str:
    taken = ""
    for line in text.splitlines(keepends=True):
        taken += line
        if is_finished(taken):
            return taken
    return text


def is_step_finished(text: str) -> bool:
    """Whether the text holds its first step whole: the next line begins no answer block, or a whole one stands."""
    if is_finished(text):
        return True
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or is_answer_header(lines[0]):
        return False
    begun = lines[1].lower().replace(" ", "")
    return not (_HEADER.startswith(begun) or is_answer_header(lines[1]))


def make_step(text: str, *, truncated: bool) -> str | None:
    """The first step of a raw continuation, with the answer block that belongs to it; None where none is whole."""
    whole = _until_finished(storable(text))
    if truncated and not is_step_finished(whole):
        return None
    steps = split_steps(whole)
    if not steps or (any(map(is_answer_header, steps[0].splitlines())) and not ends_solution(steps[0])):
        return None  # nothing, or an answer block without an answer
    return steps[0]


def distinct(steps: Iterable[str | None], n: int) -> list[str]:
    """The first `n` that differ in more than blanks, in their order; None is no step."""
    found: dict[str, str] = {}
    for step in steps:
        if step is not None:
            found.setdefault(ink(step), step)
    return list(found.values())[:n]
