"""Any labelled solution, written as a format's row and read back."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import strategies as st

from prm_backend.text.formats import FORMATS
from prm_backend.text.stepwise import Neutral
from prm_backend.types import LabelledSolution

# What every format can hold: storable text, and for Math-Shepherd no mark and no blanks around steps.
ink = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0к"), min_size=1, max_size=12)
steps = ink.map(str.strip).filter(bool)


@st.composite
def solutions(draw: st.DrawFn) -> LabelledSolution:
    """Any ratings: gaps, neutral ones, ones after the first error."""
    count = draw(st.integers(1, 5))
    ratings = draw(st.lists(st.sampled_from([-1, 0, 1, None]), min_size=count, max_size=count))
    return LabelledSolution(
        draw(ink), tuple(draw(st.lists(steps, min_size=count, max_size=count))), tuple(ratings), id=draw(ink)
    )


def written(
    name: str, solution: LabelledSolution, neutral: Neutral | None = Neutral.GOOD
) -> tuple[Any, Counter[str]]:
    lost: Counter[str] = Counter()
    write = FORMATS[name].write
    assert write is not None
    return json.loads(json.dumps(write(solution, neutral, lost))), +lost


def read_back(name: str, row: Any) -> LabelledSolution:
    read = FORMATS[name].read
    assert read is not None
    return read(row)
