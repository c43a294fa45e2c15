"""What a model says is wrong with a step: asked of any generator as a text of its own. Knows no rows."""

from __future__ import annotations

from collections.abc import Sequence

from prm_backend.text.steps import ANSWER_HEADER, storable
from prm_backend.types import Generator, ProgressCallback, Sampling, silent

ASKED = "The last line is wrong. Say in one or two sentences what is wrong with it, and nothing else."
_SAMPLING = Sampling(temperature=0.6, max_new_tokens=80, prompt_template="{problem}")
_LONGEST = 1000  # characters


def critique(
    generator: Generator,
    problem: str,
    steps: Sequence[str],
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> str:
    """What the model says is wrong with the last of `steps`, its first paragraph; "" where it says nothing.

    Raises what the generator's `sample` raises.
    """
    asked = "\n".join([problem, "", "A student wrote:", *steps, "", ASKED, ""])
    [[said]] = generator.sample([asked], n=1, sampling=_SAMPLING, seed=seed, progress=progress)
    text = storable(said.text).split(ANSWER_HEADER)[0].strip()
    return text.split("\n\n")[0][:_LONGEST].strip()
