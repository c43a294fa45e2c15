"""When a solution is finished, and what a model wrote made a Sample. The same for every generator."""

from __future__ import annotations

from prm_backend.text.steps import ANSWER_HEADER, extract_answer, split_steps, storable
from prm_backend.types import Sample


def is_finished(text: str) -> bool:
    """Whether the text ends where a solution does: at the end of a `# Answer` block's first whole line."""
    if not text.endswith("\n") or not (steps := split_steps(text)):
        return False
    _, header, answer = f"\n\n{steps[-1]}".rpartition(f"\n\n{ANSWER_HEADER}\n\n")
    return bool(header) and answer.count("{") <= answer.count("}")


def make_sample(text: str, *, truncated: bool, n_tokens: int) -> Sample:
    """The Sample of a raw completion; what a model goes on to write after its answer block is dropped."""
    text = _until_finished(storable(text)).rstrip()
    return Sample(
        text=text,
        steps=split_steps(text),
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
