"""PRM800K records: one of phase 2 and ways to spoil it, and any at all for property tests."""

from __future__ import annotations

import copy

from hypothesis import strategies as st

from prm_backend.text.prm800k import (
    NO_EXTRA,
    Completion,
    Extra,
    HumanCompletion,
    LabelledStep,
    PreGenerated,
    Record,
)
from prm_backend.types import FinishReason

PHASE_2 = {
    "labeler": "cc88bf76-df08-4041-be67-3464279cb3b1",
    "timestamp": "2022-11-22T16:51:29.980606",
    "generation": 6,
    "is_quality_control_question": False,
    "is_initial_screening_question": False,
    "question": {
        "problem": "1 + 1 + 1?",
        "ground_truth_solution": None,
        "ground_truth_answer": "3",
        "pre_generated_steps": ["1 + 1 = 2", "2 + 1 = 4", "# Answer\n\n4"],
        "pre_generated_answer": "4",
        "pre_generated_verifier_score": 0.25,
    },
    "label": {
        "steps": [
            {
                "completions": [{"text": "1 + 1 = 2", "rating": 1, "flagged": None}],
                "human_completion": None,
                "chosen_completion": 0,
            },
            {
                "completions": [
                    {"text": "2 + 1 = 4", "rating": -1, "flagged": None},
                    {"text": "2 + 1 = 3", "rating": 1, "flagged": False},
                ],
                "human_completion": None,
                "chosen_completion": None,
            },
        ],
        "total_time": 1000,
        "finish_reason": "found_error",
    },
}

texts = st.text(max_size=20)
ratings = st.sampled_from([-1, 0, 1, None])
flags = st.sampled_from([True, False, None])
completions = st.lists(st.builds(Completion, texts, ratings, flags), min_size=1, max_size=3).map(tuple)
steps = completions.flatmap(
    lambda options: st.builds(
        LabelledStep,
        completions=st.just(options),
        human_completion=st.none() | st.builds(HumanCompletion, text=texts, rating=ratings),
        chosen_completion=st.none() | st.integers(0, len(options) - 1),
    )
) | st.just(LabelledStep(None))
extras = st.just(NO_EXTRA) | st.builds(
    Extra,
    way=st.sampled_from(["", "every_step"]),
    after_error=st.lists(st.builds(Completion, texts, ratings, flags), max_size=3).map(tuple),
    progress=st.none() | st.integers(0, 3),
    critique=texts,
)
records = st.builds(
    Record,
    labeler=st.uuids().map(str),
    timestamp=st.datetimes().map(lambda moment: moment.isoformat()),
    generation=st.none() | st.integers(-1, 10),
    is_quality_control_question=st.booleans(),
    is_initial_screening_question=st.booleans(),
    problem=texts,
    ground_truth_answer=st.none() | texts,
    pre_generated=st.none()
    | st.builds(
        PreGenerated,
        ground_truth_solution=st.none() | texts,
        steps=st.lists(texts, max_size=3).map(tuple),
        answer=texts,
        verifier_score=st.floats(0, 1),
    ),
    steps=st.lists(steps, max_size=3).map(tuple),
    total_time=st.integers(0, 10**9),
    finish_reason=st.sampled_from(FinishReason),
    extra=extras,
)


def changed(*path: str | int, to: object) -> dict:
    row = copy.deepcopy(PHASE_2)
    place = row
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return row


def without(*path: str) -> dict:
    row = copy.deepcopy(PHASE_2)
    place = row
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return row
