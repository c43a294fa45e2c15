"""Step labels that others made, as training reads them."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import pytest

from prm_backend.text.rows import Refused
from prm_backend.text.step_labels import labelled_solution, read_step_labels, scored_sample

SHARED = Path(__file__).parents[3] / "shared" / "data"
ROW = {"id": "a", "problem": "p", "steps": ["x", "y", "z"], "first_error": 1}


def test_steps_before_the_first_error_are_good_and_those_after_it_unlabelled():
    solution = labelled_solution(ROW)
    assert solution.ratings == (1, -1, None)
    assert solution.first_error == 1


def test_a_solution_without_an_error_is_good_throughout():
    assert labelled_solution({**ROW, "first_error": -1}).ratings == (1, 1, 1)


def test_given_ratings_are_kept_up_to_the_first_error():
    assert labelled_solution({**ROW, "ratings": [0, -1, 1]}).ratings == (0, -1, None)


def test_processbench_calls_the_first_error_label():
    row = {"id": "g", "problem": "p", "steps": ["x", "y"], "label": 0, "final_answer_correct": False}
    assert labelled_solution(row).ratings == (-1, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"first_error": 3}, "index of one of the 3 steps"),
        ({"first_error": None}, "first_error must be a whole number"),
        ({"steps": []}, "steps must be a list of one or more"),
        ({"steps": "x"}, "steps must be a list"),
        ({"problem": 1}, "problem must be a text"),
        ({"ratings": [1]}, "the number of ratings"),
        ({"ratings": [1, 2, 3]}, "2 is not a valid Rating"),
        ({"weight": -1}, "weight must be finite and 0 or more, got -1"),
        ({"weight": -0.5, "outcome_only": True, "ratings": [1, 1, 1]}, "weight must be finite and 0 or more"),
    ],
)
def test_a_bad_row_is_refused_with_the_reason(change, said):
    with pytest.raises(ValueError, match=said):
        labelled_solution({**ROW, **change})


@pytest.mark.parametrize(
    ("name", "rows", "wrong"),
    [("step_labels_train.jsonl.gz", 4872, None), ("processbench_gsm8k.json", 400, 207)],
)
def test_the_real_files_are_read_whole(name, rows, wrong):
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is not there")
    found = list(read_step_labels(SHARED / name))
    assert [row for row in found if isinstance(row, Refused)] == []
    assert len(found) == rows
    if wrong is not None:
        assert sum(solution.first_error >= 0 for solution in found) == wrong


def test_a_scored_samples_own_score_is_the_product_of_its_steps():
    path = SHARED / "prm800k_records" / "scored_sample.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    sample = scored_sample(json.loads(path.read_text()))
    assert prod(p.okay + p.great for p in sample.probs) == pytest.approx(sample.prm_score, abs=1e-12)
    assert sample.is_correct
