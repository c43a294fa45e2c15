"""The label stage against a model of it: whatever people, tabs and managers do in whatever order, nothing is lost,
doubled, or in more hands than the overlap allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from annotate.errors import PlumblineError
from annotate.loop.label import claim, fetch_ahead, heartbeat, rate, release, submit, submit_and_claim, undo
from annotate.loop.overlap import spread
from annotate.loop.queues import pause_queue, resume_queue
from annotate.loop.reassign import reassign
from annotate.loop.second_thoughts import can_take_back, skip, take_back, unskip
from annotate.loop.work import Work
from annotate.models import Label, QualityPolicy, Queue, QueueItem
from tests.factories import AnnotatorFactory, GoldFactory, QueueFactory, QueueItemFactory
from tests.loop.labelling import expire

PEOPLE, SOLUTIONS, STEPS = 3, 3, 3
STEP_TEXTS = ["One.", "Two.", "So 3."]
people = st.integers(0, PEOPLE - 1)


class LabelStage(RuleBasedStateMachine):
    """`pages` is what each person's newest page shows, `ahead` what it has of the next item; `given` what was answered
    with a yes: it must be kept.
    """

    @initialize(overlap=st.integers(1, 3), gold_every=st.sampled_from([0, 1, 1, 3]))
    def open_shop(self, overlap: int, gold_every: int) -> None:
        self.savepoint = transaction.savepoint()
        self.people = AnnotatorFactory.create_batch(PEOPLE)
        self.queue: Queue = QueueFactory.create(overlap=overlap)
        for _ in range(SOLUTIONS):
            QueueItemFactory.create(queue=self.queue, solution__steps=STEP_TEXTS)
        spread(queue=self.queue)
        QualityPolicy(gold_every=gold_every, agreement_bar=0).save()
        GoldFactory.create_batch(2, solution__steps=STEP_TEXTS)
        self.most = overlap
        self.pages: dict[int, Work] = {}
        self.ahead: dict[int, Work] = {}
        self.given: dict[tuple[int, int], dict[int, int | None]] = {}

    def teardown(self) -> None:
        if hasattr(self, "savepoint"):
            transaction.savepoint_rollback(self.savepoint)

    def act(self, verb: Callable[..., Any], person: int, **more: Any) -> Any:
        """One act on what the person's page shows; None where it is refused, which must change nothing."""
        page = self.pages.get(person)
        if page is None:
            return None
        try:
            with transaction.atomic():
                return verb(person=self.people[person], item=page.item, **more)
        except PlumblineError:
            return None

    def note(self, person: int, item: int, ratings: dict[int, int | None]) -> None:
        solution = QueueItem.objects.values_list("solution", flat=True).get(pk=item)
        self.given.setdefault((person, solution), {}).update(ratings)

    @rule(person=people)
    def come(self, person: int) -> None:
        work = claim(person=self.people[person])
        if work is not None:
            self.pages[person] = work

    @rule(person=people, step=st.integers(0, STEPS - 1), rating=st.sampled_from([-1, 0, 1, None]))
    def give_a_rating(self, person: int, step: int, rating: int | None) -> None:
        work = self.act(rate, person, step_index=step, rating=rating)
        if work is not None:
            self.note(person, work.item, {step: rating})

    @rule(person=people)
    def fetch_what_comes_next(self, person: int) -> None:
        page = self.pages.get(person)
        if page is None:
            return
        held = self.in_hand(person)
        work = fetch_ahead(person=self.people[person], item=page.item)
        if work is not None:
            assert held <= self.in_hand(person) == {(page.item, False), (work.item, True)}
            self.ahead[person] = work

    @rule(person=people)
    def show_what_was_fetched(self, person: int) -> None:
        """A page does at a submit, whatever the server says to that later."""
        work = self.ahead.pop(person, None)
        if work is not None:
            self.pages[person] = work

    def in_hand(self, person: int) -> set[tuple[int, bool]]:
        return set(
            QueueItem.objects.leased().filter(leased_by=self.people[person]).values_list("pk", "ahead")
        )

    @rule(person=people)
    def take_a_rating_back(self, person: int) -> None:
        work = self.act(undo, person)
        if work is not None:
            self.note(person, work.item, dict.fromkeys(work.changed) if work.changed else {})
            self.note(person, work.item, {step.index: step.rating for step in work.steps})

    @rule(person=people, give_up=st.booleans(), go_on=st.booleans())
    def finish(self, person: int, give_up: bool, go_on: bool) -> None:
        held = QueueItem.objects.leased().filter(lease_expires_at__gt=timezone.now())
        holders = dict(held.values_list("pk", "leased_by"))
        act = {"finish_reason": "give_up", "comment": "?"} if give_up else {}
        if go_on:
            label, following = self.act(submit_and_claim, person, **act) or (None, None)
        else:
            label, following = self.act(submit, person, **act), None
        if following is not None:
            self.pages[person] = following
        if label is not None:
            assert holders.get(label.queue_item_id) in (None, label.annotator_id)
            kept = dict(label.ratings.filter(source="model").values_list("step_index", "rating"))
            self.given[person, label.solution_id] = kept

    @rule(person=people, first_error=st.integers(0, STEPS))
    def label_one(self, person: int, first_error: int) -> None:
        """Come, rate up to the first error (or all) and submit: what people mostly do."""
        self.come(person)
        for step in range(min(first_error + 1, STEPS)):
            self.give_a_rating(person, step, -1 if step == first_error else 1)
        self.finish(person, give_up=False, go_on=False)

    @rule(person=people, newest=st.booleans())
    def leave(self, person: int, newest: bool) -> None:
        page = self.pages.get(person)
        if page is not None:
            release(person=self.people[person], item=page.item, token=page.token if newest else None)

    @rule(person=people)
    def stay(self, person: int) -> None:
        self.act(heartbeat, person)

    @rule(person=people)
    def put_aside(self, person: int) -> None:
        self.act(skip, person)

    @rule(person=people)
    def ask_for_what_was_put_aside(self, person: int) -> None:
        unskip(person=self.people[person])

    @rule(person=people)
    def think_again(self, person: int) -> None:
        label = can_take_back(self.people[person])
        if label is not None:
            try:
                with transaction.atomic():
                    take_back(person=self.people[person], label=label.pk)
            except PlumblineError:
                return
            self.given.setdefault((person, label.solution_id), {})

    @rule(person=people)
    def a_lease_runs_out(self, person: int) -> None:
        for item in QueueItem.objects.leased().filter(leased_by=self.people[person]):
            expire(item.pk)

    @rule(person=people, other=st.none() | people)
    def a_manager_reassigns(self, person: int, other: int | None) -> None:
        page = self.pages.get(person)
        if page is not None:
            try:
                with transaction.atomic():
                    reassign(item=page.item, to=None if other is None else self.people[other])
            except PlumblineError:
                pass

    @rule(overlap=st.integers(1, 4))
    def a_manager_changes_the_overlap(self, overlap: int) -> None:
        self.queue.overlap = overlap
        self.queue.save()
        spread(queue=self.queue)
        self.most = max(self.most, overlap)

    @rule(paused=st.booleans())
    def a_manager_pauses(self, paused: bool) -> None:
        (pause_queue if paused else resume_queue)(queue=self.queue)

    @invariant()
    def nobody_has_two_nor_two_ahead_and_no_solution_is_in_too_many_hands(self) -> None:
        leased = QueueItem.objects.leased()
        assert max(Counter(leased.values_list("leased_by", "ahead")).values(), default=0) <= 1
        held = list(leased.values_list("leased_by", "solution", "gold"))
        assert len({(person, solution) for person, solution, _ in held}) == len(held)
        ordinary = Counter(solution for _, solution, gold in held if gold is None)
        assert max(ordinary.values(), default=0) <= self.most
        labelled = set(Label.objects.submitted().values_list("annotator", "solution"))
        assert not labelled & {(person, solution) for person, solution, _ in held}

    @invariant()
    def every_finished_item_has_one_label_and_every_label_its_item(self) -> None:
        done = Counter(QueueItem.objects.filter(done_at__isnull=False).values_list("pk", flat=True))
        assert done == Counter(Label.objects.submitted().values_list("queue_item", flat=True))
        pairs = Counter(Label.objects.values_list("annotator", "solution"))
        assert max(pairs.values(), default=1) == 1

    @invariant()
    def gold_is_in_nobody_elses_hands(self) -> None:
        for item in QueueItem.objects.filter(gold__isnull=False).prefetch_related("labels"):
            assert len({label.annotator_id for label in item.labels.all()}) == 1
            assert item.leased_by_id in (None, item.labels.all()[0].annotator_id)

    @invariant()
    def what_was_given_is_kept(self) -> None:
        for (person, solution), ratings in getattr(self, "given", {}).items():
            label = Label.objects.get(annotator=self.people[person], solution=solution)
            kept = dict(label.ratings.filter(source="model").values_list("step_index", "rating"))
            assert {step: rating for step, rating in ratings.items() if rating is not None} == {
                step: rating for step, rating in kept.items() if rating is not None
            }


@pytest.mark.django_db
def test_whatever_happens_in_whatever_order_nothing_is_lost_doubled_or_in_too_many_hands() -> None:
    run_state_machine_as_test(
        LabelStage,
        settings=settings(
            max_examples=25,
            derandomize=True,  # the same walk every time: what fails here fails for everybody
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
