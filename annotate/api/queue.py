"""Labelling for scripts: the same item, the same fields and the same refusals as the labelling page.

Everybody sees a `Work`, which has no score, gold or other label in it. An item of somebody else looks like none.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from annotate.api.access import IsAnnotator, caller
from annotate.api.bodies import Body
from annotate.loop import concerns, grow, second_thoughts
from annotate.loop import label as verbs
from annotate.loop.work import Work
from annotate.models import Label, QueueItem, Way
from prm_backend.types import FinishReason

FINISH_REASONS = [(reason.value, reason.value) for reason in FinishReason]
_MOST_MS = 2**53  # what every JSON reader can count to


class WorkStepSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    text = serializers.CharField()
    rating = serializers.IntegerField(allow_null=True, help_text="-1, 0 or 1; null where not rated yet.")
    unsure = serializers.BooleanField()
    after_error = serializers.BooleanField(help_text="An earlier step is rated -1.")


class OptionSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="Names it as `step_index` in `rate` and `flag`.")
    text = serializers.CharField()
    rating = serializers.IntegerField(allow_null=True)
    unsure = serializers.BooleanField()


class WaitingSerializer(serializers.Serializer[Any]):
    state = serializers.CharField(help_text='"queued", "running", "failed" or "no worker".')
    message = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()


class ProposedSerializer(serializers.Serializer[Any]):
    step_index = serializers.IntegerField(help_text="The step that the options are for.")
    critique = OptionSerializer(
        allow_null=True, help_text="What the model says is wrong at the first error; rated like an option."
    )
    options = OptionSerializer(many=True)
    waiting = WaitingSerializer(
        allow_null=True, help_text="Where there are no options yet: ask `next` again."
    )


class WorkSerializer(serializers.Serializer[Work]):
    item = serializers.IntegerField(help_text="Names the item in every other call.")
    way = serializers.ChoiceField(Way.choices, help_text="Whether rating ends at the first error.")
    token = serializers.UUIDField(allow_null=True, help_text="This lease; `release` may name it.")
    lease_expires_at = serializers.DateTimeField(allow_null=True)
    generation = serializers.IntegerField(allow_null=True)
    problem = serializers.CharField()
    guess = serializers.CharField(allow_null=True, help_text="The current guess of the final answer.")
    hint = serializers.IntegerField(
        allow_null=True,
        help_text="The model's guess of the first error, -1 for none; null where none is given.",
    )
    steps = WorkStepSerializer(many=True)
    proposed = ProposedSerializer(
        allow_null=True, help_text="Next steps of the model to rate: at the first error, or step by step."
    )
    asks_further = serializers.BooleanField(
        help_text="At the first error `submit` wants progress and critique."
    )
    progress = serializers.IntegerField(allow_null=True, help_text="How far it got before its error, 0 to 3.")
    critique = serializers.CharField()
    active_ms = serializers.IntegerField()
    next_open = serializers.IntegerField(allow_null=True, help_text="Index of the step to rate next.")
    finish = serializers.ChoiceField(
        FINISH_REASONS, allow_null=True, help_text="What a submit would say, once it could."
    )


class SubmittedSerializer(serializers.ModelSerializer[Label]):
    item = serializers.IntegerField(source="queue_item_id", read_only=True)

    class Meta:
        model = Label
        fields = ("item", "finish_reason", "comment", "total_time", "submitted_at")
        read_only_fields = fields


class SubmitAnswerSerializer(serializers.Serializer[Any]):
    label = SubmittedSerializer()  # type: ignore[assignment]
    next = WorkSerializer(
        allow_null=True, help_text="The next item, where it was asked for and there is one."
    )


class Timed(Body):
    active_ms = serializers.IntegerField(
        min_value=0,
        max_value=_MOST_MS,
        default=0,
        help_text="Active milliseconds on this item so far, all together.",
    )


class Given(Timed):
    given_at = serializers.DateTimeField(
        allow_null=True,
        default=None,
        help_text="When it was given, if not now: the newest counts, so sending it twice or late harms nothing.",
    )


class RateBody(Given):
    step_index = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    rating = serializers.IntegerField(min_value=-1, max_value=1, help_text="-1 bad, 0 okay, 1 great.")
    unsure = serializers.BooleanField(
        allow_null=True, default=None, help_text="null leaves the mark as it is."
    )


class FlagBody(Given):
    step_index = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    unsure = serializers.BooleanField()


class DisputeBody(Body):
    text = serializers.CharField(max_length=10_000, help_text="What is right, and why.")


class SubmitBody(Given):
    finish_reason = serializers.ChoiceField(
        FINISH_REASONS,
        allow_blank=True,
        default="",
        help_text="May be left out unless the solution is given up or the problem is bad.",
    )
    comment = serializers.CharField(
        max_length=10_000, allow_blank=True, default="", help_text="Why; needed for give_up and bad_problem."
    )
    progress = serializers.IntegerField(
        min_value=0, max_value=3, allow_null=True, default=None, help_text="How far it got before its error."
    )
    critique = serializers.CharField(
        max_length=10_000, allow_null=True, allow_blank=True, default=None, help_text="What is wrong there."
    )
    claim_next = serializers.BooleanField(
        default=False, help_text="Also lease the next item and answer with it."
    )


class ChooseBody(Timed):
    step_index = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    option = serializers.IntegerField(min_value=0, max_value=8, help_text="The option's `index`.")


class WriteBody(Timed):
    step_index = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    text = serializers.CharField(max_length=grow.LONGEST_STEP, help_text="One step, on one line.")


class ReleaseBody(Body):
    token = serializers.UUIDField(allow_null=True, default=None, help_text="Give back this lease only.")


class LeaseSerializer(serializers.Serializer[Any]):
    lease_expires_at = serializers.DateTimeField()


class Queue(ViewSet):
    permission_classes = [IsAnnotator]
    lookup_field = "item"
    lookup_value_converter = "int"

    @extend_schema(
        request=None,
        responses={200: WorkSerializer, 204: OpenApiResponse(description="Nothing waits for you.")},
    )
    @action(detail=False, methods=["post"])
    def next(self, request: Request) -> Response:
        """Lease an item: the one you hold, else one you began, else the next free one."""
        work = verbs.claim(person=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT) if work is None else _shown(work)

    @extend_schema(request=RateBody, responses=WorkSerializer)
    @action(detail=True, methods=["post"])
    def rate(self, request: Request, item: int) -> Response:
        """Rate one step; it is saved at once and may be changed until you submit."""
        body = RateBody.read(request)
        flagged = body.pop("unsure")
        return _shown(verbs.rate(person=caller(request), item=item, flagged=flagged, **body))

    @extend_schema(request=FlagBody, responses=WorkSerializer)
    @action(detail=True, methods=["post"])
    def flag(self, request: Request, item: int) -> Response:
        """Mark a step as one you are unsure of, or take the mark back."""
        return _shown(verbs.flag(person=caller(request), item=item, **FlagBody.read(request)))

    @extend_schema(request=Timed, responses=WorkSerializer)
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, item: int) -> Response:
        """Take back the rating you gave last."""
        return _shown(verbs.undo(person=caller(request), item=item, **Timed.read(request)))

    @extend_schema(request=ChooseBody, responses=WorkSerializer)
    @action(detail=True, methods=["post"])
    def choose(self, request: Request, item: int) -> Response:
        """Step by step: go on with an option that is rated great, once all are rated."""
        return _shown(grow.choose(person=caller(request), item=item, **ChooseBody.read(request)))

    @extend_schema(request=WriteBody, responses=WorkSerializer)
    @action(detail=True, methods=["post"])
    def write(self, request: Request, item: int) -> Response:
        """Step by step: go on with a step of your own, where no option is great."""
        return _shown(grow.write_step(person=caller(request), item=item, **WriteBody.read(request)))

    @extend_schema(request=None, responses=WorkSerializer)
    @action(detail=True, methods=["post"])
    def again(self, request: Request, item: int) -> Response:
        """Ask the model once more for next steps, after it failed."""
        return _shown(grow.propose_again(person=caller(request), item=item))

    @extend_schema(request=SubmitBody, responses=SubmitAnswerSerializer)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, item: int) -> Response:
        """Make your label final."""
        body = SubmitBody.read(request)
        claim_next = body.pop("claim_next")
        act: dict[str, Any] = {"person": caller(request), "item": item, **body}
        label, following = verbs.submit_and_claim(**act) if claim_next else (verbs.submit(**act), None)
        return Response(SubmitAnswerSerializer({"label": label, "next": following}).data)

    @extend_schema(request=DisputeBody, responses={204: None})
    @action(detail=True, methods=["post"])
    def dispute(self, request: Request, item: int) -> Response:
        """Say that the guess of the answer is wrong; a manager reads it."""
        concerns.dispute(person=caller(request), item=item, **DisputeBody.read(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=Timed, responses={204: None})
    @action(detail=True, methods=["post"])
    def skip(self, request: Request, item: int) -> Response:
        """Put the item aside: you are given it no more, others may take it, your draft stays."""
        second_thoughts.skip(person=caller(request), item=item, **Timed.read(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=WorkSerializer)
    @action(detail=True, methods=["post"], url_path="take-back", url_name="take-back")
    def take_back(self, request: Request, item: int) -> Response:
        """Take your submitted label back within the managers' time; it is your draft again, and your item."""
        person = caller(request)
        # By its row: only of a row's own number does Django know that one beyond all columns names none.
        named = QueueItem.objects.filter(pk=item)
        label = person.labels.submitted().filter(queue_item__in=named).values_list("pk", flat=True).first()
        second_thoughts.take_back(person=person, label=label or 0)
        work = verbs.claim(person=person)
        return Response(status=status.HTTP_204_NO_CONTENT) if work is None else _shown(work)

    @extend_schema(request=None, responses=LeaseSerializer)
    @action(detail=True, methods=["post"])
    def heartbeat(self, request: Request, item: int) -> Response:
        """Keep your lease alive."""
        until = verbs.heartbeat(person=caller(request), item=item)
        return Response(LeaseSerializer({"lease_expires_at": until}).data)

    @extend_schema(request=ReleaseBody, responses={204: None})
    @action(detail=True, methods=["post"])
    def release(self, request: Request, item: int) -> Response:
        """Give the item back; what you rated stays as your draft."""
        verbs.release(person=caller(request), item=item, **ReleaseBody.read(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _shown(work: Work) -> Response:
    return Response(WorkSerializer(work).data)
