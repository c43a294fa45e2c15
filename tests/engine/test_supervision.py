"""What of a record trains: the path that was followed, and each rated option beside it behind its own prefix."""

from __future__ import annotations

import copy
import json

from prm_backend.text.encoding import encode
from prm_backend.text.prm800k import parse_record
from prm_backend.text.supervision import alternatives, labelled_solution
from prm_backend.training.dataset import make_dataset
from tests.engine.records import PHASE_2, changed
from tests.tiny import tiny_tokenizer


def test_phase_2_trains_on_the_served_steps_up_to_the_first_error():
    solution = labelled_solution(parse_record(PHASE_2))
    assert solution.steps == ("1 + 1 = 2", "2 + 1 = 4", "# Answer\n\n4")
    assert solution.ratings == (1, -1, None)
    assert solution.first_error == 1


def test_ratings_given_after_the_first_error_are_not_trained_on():
    row = copy.deepcopy(PHASE_2)
    served = {"text": "# Answer\n\n4", "rating": 1, "flagged": None}
    row["label"]["steps"].append({"completions": [served], "human_completion": None, "chosen_completion": 0})
    assert labelled_solution(parse_record(row)).ratings == (1, -1, None)


def test_ratings_beyond_the_error_train_only_where_that_is_asked_for():
    later = [{"text": "# Answer\n\n4", "rating": 0, "flagged": None}]
    record = parse_record(changed("plumbline", to={"way": "every_step", "after_error": later}))
    assert (labelled_solution(record).ratings, labelled_solution(record).supervised_steps) == (
        (1, -1, None),
        2,
    )
    told = labelled_solution(record, beyond_error=True)
    assert (told.ratings, told.supervised_steps, told.first_error) == ((1, -1, 0), 3, 1)


def test_phase_1_trains_on_the_chosen_path_and_a_written_step_counts_as_great(verbatim):
    pencils = labelled_solution(parse_record(json.loads(verbatim[0])))
    assert pencils.steps[1] == "We have $3p+e=1.24$ and $5p+e=1.82$."
    assert pencils.ratings == (1, 1, 1, 1, 1, 1)
    assert pencils.supervised_steps == 6
    given_up = labelled_solution(parse_record(json.loads(verbatim[4])))
    assert len(given_up.steps) == 8
    assert given_up.ratings[-1] == 1


def test_each_option_that_was_not_followed_is_the_last_step_of_a_solution_of_its_own(verbatim):
    pencils = parse_record(json.loads(verbatim[0]))
    path = labelled_solution(pencils).steps
    found = alternatives(pencils)
    assert [(one.context, one.ratings[-1]) for one in found] == [(1, -1)] * 5 + [(5, 0)] + [(5, 1)] * 3
    for one in found:
        assert one.steps[:-1] == path[: one.context]
        assert one.steps[-1] != path[one.context]
        assert one.supervised_steps == one.context + 1


def test_alternatives_to_the_served_error_are_rated_behind_what_led_to_it():
    [one] = alternatives(parse_record(PHASE_2))
    assert (one.steps, one.ratings, one.context) == (("1 + 1 = 2", "2 + 1 = 3"), (1, 1), 1)


def test_options_without_a_rating_teach_nothing(verbatim):
    given_up = parse_record(json.loads(verbatim[6]))
    assert all(one.ratings[-1] is not None for one in alternatives(given_up))


def test_of_an_alternative_only_its_last_step_is_supervised():
    tokenizer = tiny_tokenizer()
    data = make_dataset(
        alternatives(parse_record(PHASE_2)), lambda problem, steps: encode(tokenizer, problem, steps, 512)
    )
    [example] = data.examples
    assert example.targets == (2,)
    assert example.encoded.label_positions == (len(example.encoded) - 1,)
    assert data.labels == 1
