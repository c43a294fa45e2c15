"""The generate stage: places become solutions once, whatever the generator writes or refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from annotate.loop.generate import generate
from annotate.models import RoundProblem, Solution
from prm_backend.generators.openai_generator import GenerationFailed
from prm_backend.types import Sample
from tests.factories import PRMVersionFactory, ProblemFactory, RoundFactory, RoundProblemFactory
from tests.fakes import ScriptedGenerator

pytestmark = pytest.mark.django_db

TWO_STEPS = "I double it.\nThen I add one.\n# Answer\n\n42"


def places(n: int, **round_fields: object) -> list[RoundProblem]:
    where = RoundFactory(**round_fields)
    return [RoundProblemFactory(round=where, position=i) for i in range(n)]


def test_every_place_gets_its_samples_with_steps_and_answer() -> None:
    waiting = places(2, samples_per_problem=3)
    assert generate(places=waiting, generator=ScriptedGenerator(lambda problem, i: TWO_STEPS)) == 6
    assert not RoundProblem.objects.short_of_solutions().exists()
    solution = Solution.objects.get(problem=waiting[0].problem, sample_index=2)
    assert [step.text for step in solution.steps.all()] == [
        "I double it.",
        "Then I add one.\n\n# Answer\n\n42",
    ]
    assert (solution.answer, solution.generator, solution.truncated) == ("42", "scripted", False)


def test_sampling_again_writes_nothing_twice() -> None:
    waiting = places(2)
    generator = ScriptedGenerator(lambda problem, i: f"{TWO_STEPS}{i}")
    generate(places=waiting, generator=generator)
    assert generate(places=waiting, generator=generator) == 0
    assert Solution.objects.count() == 8


def test_a_sample_without_an_answer_is_kept_and_marked() -> None:
    generate(places=places(1), generator=ScriptedGenerator(lambda problem, i: "I do not know."))
    assert set(Solution.objects.values_list("answer", flat=True)) == {None}
    assert Solution.objects.count() == 4


def test_a_refused_problem_is_marked_with_the_reason_and_stops_nobody_else() -> None:
    waiting = places(3)

    def script(problem: str, index: int) -> str:
        if problem == waiting[1].problem.text:
            raise ValueError("the prompt is longer than the context")
        return TWO_STEPS

    assert generate(places=waiting, generator=ScriptedGenerator(script)) == 8
    waiting[1].refresh_from_db()
    assert waiting[1].failure == "the prompt is longer than the context"
    assert not RoundProblem.objects.short_of_solutions().exists()


def test_a_broken_generator_leaves_every_place_waiting() -> None:
    def script(problem: str, index: int) -> str:
        raise RuntimeError("no weights")

    with pytest.raises(RuntimeError, match="no weights"):
        generate(places=places(2), generator=ScriptedGenerator(script))
    assert RoundProblem.objects.short_of_solutions().count() == 2


def test_text_that_postgresql_cannot_hold_is_made_storable() -> None:
    generate(
        places=places(1), generator=ScriptedGenerator(lambda problem, i: "A\x00B \ud83d\n# Answer\n\n\x007")
    )
    assert Solution.objects.first().text.startswith("A\ufffdB \ufffd")


def test_the_same_place_draws_the_same_samples_and_another_round_others() -> None:
    generator = ScriptedGenerator(lambda problem, i: TWO_STEPS)
    problem = ProblemFactory()
    for seed in (1, 2, 1):
        place = RoundProblemFactory(round=RoundFactory(seed=seed), problem=problem, position=0)
        generate(places=[place], generator=generator)
    first, other, again = (seed for _, seed in generator.calls)
    assert first == again != other


class HalfAway(ScriptedGenerator):
    """A server that answers for the first problem and fails for the others."""

    def sample(self, problems: Sequence[str], **how: Any) -> list[list[Sample]]:
        found = super().sample(problems[:1], **how)
        raise GenerationFailed("503", [*found, *[None for _ in problems[1:]]])


class Breaking(ScriptedGenerator):
    """A server that writes all of the first problem's samples, two of the second's, and fails."""

    def sample(self, problems: Sequence[str], **how: Any) -> list[list[Sample]]:
        found = super().sample(problems, **how)
        raise GenerationFailed("503", [found[0], found[1][:2], None])


def test_a_problem_whose_server_failed_midway_is_topped_up_with_other_samples() -> None:
    waiting = places(3, samples_per_problem=5)
    with pytest.raises(ConnectionError, match="503"):
        generate(places=waiting, generator=Breaking(lambda problem, i: f"{TWO_STEPS}{i}"))
    short = list(RoundProblem.objects.short_of_solutions())
    assert short == waiting[1:]
    generator = ScriptedGenerator(lambda problem, i: f"{TWO_STEPS}9{i}")
    assert generate(places=short, generator=generator) == 3 + 5
    assert not RoundProblem.objects.short_of_solutions().exists()
    topped = Solution.objects.filter(problem=waiting[1].problem).order_by("sample_index")
    answers = [(solution.sample_index, solution.answer) for solution in topped]
    assert answers == [(0, "420"), (1, "421"), (2, "4290"), (3, "4291"), (4, "4292")]
    assert len({seed for _, seed in generator.calls}) == 2
    assert generate(places=short, generator=generator) == 0


def test_a_problem_that_waits_for_samples_is_not_chosen_from_yet() -> None:
    waiting = places(3, samples_per_problem=5)
    with pytest.raises(ConnectionError):
        generate(places=waiting, generator=Breaking(lambda problem, i: f"{TWO_STEPS}{i}"))
    Solution.objects.update(outcome="wrong")
    prm = PRMVersionFactory.create()
    for solution in Solution.objects.all():
        solution.scores.create(prm=prm, unscorable="x")
    assert list(RoundProblem.objects.ready_to_choose(prm)) == waiting[:1]


def test_what_a_failing_server_did_answer_is_kept_and_the_rest_waits() -> None:
    waiting = places(3)
    with pytest.raises(ConnectionError, match="503"):
        generate(places=waiting, generator=HalfAway(lambda problem, i: TWO_STEPS))
    assert list(RoundProblem.objects.short_of_solutions()) == waiting[1:]
    assert Solution.objects.filter(problem=waiting[0].problem).count() == 4
