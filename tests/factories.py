"""Rows for tests, each valid by itself; a test names only what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import factory
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.utils import timezone
from factory.django import DjangoModelFactory

from annotate import models
from prm_backend.text.steps import extract_answer, split_steps, text_hash
from prm_backend.types import Arm, Outcome

PASSWORD = "correct horse battery staple"


def _joining(*default: str) -> Any:
    def join(person: models.Person, create: bool, names: Sequence[str] | None, **_: Any) -> None:
        if create:
            chosen = default if names is None else names
            person.groups.add(*(Group.objects.get_or_create(name=name)[0] for name in chosen))

    return factory.PostGeneration(join)


class PersonFactory(DjangoModelFactory[models.Person]):
    """Somebody who may sign in with `PASSWORD` and has no role, unless `roles=` names some."""

    class Meta:
        model = models.Person
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"person{n}")
    password = factory.LazyFunction(lambda: make_password(PASSWORD))
    roles = _joining()


class AnnotatorFactory(PersonFactory):
    """Somebody who labels, past the practice."""

    practised_at = factory.LazyFunction(timezone.now)
    username = factory.Sequence(lambda n: f"annotator{n}")
    roles = _joining(models.ANNOTATOR)


class ManagerFactory(PersonFactory):
    username = factory.Sequence(lambda n: f"manager{n}")
    roles = _joining(models.MANAGER)


class ProblemFactory(DjangoModelFactory[models.Problem]):
    class Meta:
        model = models.Problem

    text = factory.Sequence(lambda n: f"What is {n} + 1?")
    text_hash = factory.LazyAttribute(lambda problem: text_hash(problem.text))
    answer = factory.Sequence(lambda n: str(n + 1))
    held_out = False


class RoundFactory(DjangoModelFactory[models.Round]):
    class Meta:
        model = models.Round

    number = factory.Sequence(lambda n: n + 1)
    generator = "tiny"
    seed = 1
    samples_per_problem = 4
    prompt_template = "{problem}\n"


class RoundProblemFactory(DjangoModelFactory[models.RoundProblem]):
    """A problem's place in a round; nothing sampled yet."""

    class Meta:
        model = models.RoundProblem

    round = factory.SubFactory(RoundFactory)
    problem = factory.SubFactory(ProblemFactory)
    position = factory.Sequence(lambda n: n)


class SolutionFactory(DjangoModelFactory[models.Solution]):
    """A sampled solution with its steps, and its place in the round, marked as sampled."""

    class Meta:
        model = models.Solution
        skip_postgeneration_save = True

    problem = factory.SubFactory(ProblemFactory)
    round = factory.SubFactory(RoundFactory)
    sample_index = factory.Sequence(lambda n: n)
    generator = "tiny"
    text = factory.Sequence(lambda n: f"I add one to it.\nThat makes {n}.\n# Answer\n\n{n}")
    text_hash = factory.LazyAttribute(lambda solution: text_hash(solution.text))
    answer = factory.LazyAttribute(lambda solution: extract_answer(solution.text))

    @factory.post_generation
    def steps(self, create: bool, texts: Sequence[str] | None, **_: Any) -> None:
        if create:
            texts = split_steps(self.text) if texts is None else texts
            models.Step.objects.bulk_create(
                models.Step(solution=self, index=index, text=text) for index, text in enumerate(texts)
            )

    @factory.post_generation
    def place(self, create: bool, _: Any, **__: Any) -> None:
        if create and self.round is not None:
            models.RoundProblem.objects.get_or_create(
                round=self.round,
                problem=self.problem,
                defaults={
                    "position": self.round.places.count(),
                    "generated_at": timezone.now(),
                },
            )


class GradedSolutionFactory(SolutionFactory):
    """A solution the grader called wrong, unless `outcome=` says otherwise."""

    outcome = Outcome.WRONG
    graded_at = factory.LazyFunction(timezone.now)


class SnapshotFactory(DjangoModelFactory[models.Snapshot]):
    class Meta:
        model = models.Snapshot

    sha256 = factory.Sequence(lambda n: f"{n:064x}")
    path = factory.LazyAttribute(lambda snapshot: f"snapshots/{snapshot.sha256}.jsonl")
    n_labels = 0


class PRMVersionFactory(DjangoModelFactory[models.PRMVersion]):
    """A candidate trained on outcomes alone, without a checkpoint behind it."""

    class Meta:
        model = models.PRMVersion

    number = factory.Sequence(lambda n: n)
    outcome_only = factory.LazyAttribute(lambda version: version.snapshot is None)
    snapshot = None
    base = "tiny"
    config = factory.LazyFunction(dict)
    inputs_hash = factory.Sequence(lambda n: f"{n:064x}")
    checkpoint = factory.LazyAttribute(lambda version: f"prm/{version.inputs_hash[:20]}")


class ServingPRMFactory(PRMVersionFactory):
    status = models.PRMStatus.PROMOTED
    promoted_at = factory.LazyFunction(timezone.now)


class SolutionScoreFactory(DjangoModelFactory[models.SolutionScore]):
    class Meta:
        model = models.SolutionScore

    solution = factory.SubFactory(GradedSolutionFactory)
    prm = factory.SubFactory(ServingPRMFactory)
    log_product = -0.5
    product = 0.6
    minimum = 0.7
    mean = 0.8
    last = 0.9


class QueueFactory(DjangoModelFactory[models.Queue]):
    class Meta:
        model = models.Queue
        django_get_or_create = ("name",)

    name = "default"


class QueueItemFactory(DjangoModelFactory[models.QueueItem]):
    """A wrong solution, chosen by the rule, free to be claimed."""

    class Meta:
        model = models.QueueItem

    queue = factory.SubFactory(QueueFactory)
    solution = factory.SubFactory(GradedSolutionFactory)
    arm = Arm.CONVINCING_WRONG
    strategy = "test"
    rank = 1
    score = -0.5
    propensity = 1.0
    prm = factory.LazyFunction(
        lambda: models.PRMVersion.objects.serving() or ServingPRMFactory.create(number=_next_number())
    )
    random_key = 0.5
    priority = factory.Sequence(lambda n: -float(n))  # served in the order they were made


class GoldFactory(DjangoModelFactory[models.Gold]):
    """Four steps, the second of them wrong, made by nobody in particular."""

    class Meta:
        model = models.Gold

    solution = factory.SubFactory(
        GradedSolutionFactory, steps=("I add one.", "That makes 5.", "I check it.", "So it is 5.")
    )
    accepted = factory.LazyFunction(lambda: [1])
    question = factory.LazyAttribute(
        lambda gold: {
            "problem": gold.solution.problem.text,
            "ground_truth_solution": None,
            "ground_truth_answer": gold.solution.problem.answer,
            "pre_generated_steps": [step.text for step in gold.solution.steps.all()],
            "pre_generated_answer": gold.solution.answer or "",
            "pre_generated_verifier_score": 0.5,
        }
    )


class JobFactory(DjangoModelFactory[models.Job]):
    class Meta:
        model = models.Job

    kind = "retrain"
    key = factory.Sequence(str)


def _next_number() -> int:
    newest = models.PRMVersion.objects.order_by("-number").first()
    return 0 if newest is None else newest.number + 1
