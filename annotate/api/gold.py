"""Gold: listed, made of labels, corrected, withdrawn and retired. No annotator may learn what is gold."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager, caller
from annotate.api.bodies import Body
from annotate.loop import gold as verbs
from annotate.models import Gold, Label, Person


class GoldSerializer(serializers.ModelSerializer[Gold]):
    problem = serializers.CharField(source="question.problem")
    steps = serializers.ListField(child=serializers.CharField(), source="question.pre_generated_steps")
    accepted = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="0-based steps it is right to call the first error; -1 for none.",
    )
    created_by: serializers.SlugRelatedField[Person] = serializers.SlugRelatedField(
        "username", read_only=True, allow_null=True
    )

    class Meta:
        model = Gold
        fields = (
            "id",
            "solution",
            "problem",
            "steps",
            "accepted",
            "explanation",
            "screens",
            "source",
            "created_by",
            "created_at",
            "retired_at",
        )
        read_only_fields = fields


class GoldFilters(Body):
    screens = serializers.BooleanField(required=False)
    retired = serializers.BooleanField(required=False)

    def to_internal_value(self, data: Any) -> Any:
        asked = super().to_internal_value(data)
        if "retired" in asked:
            asked["retired_at__isnull"] = not asked.pop("retired")
        return asked


class Accepted(Body):
    accepted = serializers.ListField(
        child=serializers.IntegerField(min_value=-1, max_value=2**31 - 1),
        max_length=10_000,
        help_text="0-based steps it is right to call the first error; -1 for none.",
    )


class NewGold(Accepted):
    label = serializers.IntegerField(  # type: ignore[assignment]
        min_value=1, max_value=2**63 - 1, help_text="A submitted label of a whole solution."
    )
    explanation = serializers.CharField(max_length=2000, allow_blank=True, default="")
    screens = serializers.BooleanField(default=False, help_text="Keep it for the screening, never mixed in.")


class RejudgedSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField(help_text="Answers that are judged otherwise now.")
    resumed = serializers.ListField(
        child=serializers.CharField(), help_text="Who was paused and may label again."
    )
    refused = serializers.ListField(
        child=serializers.CharField(), help_text="Who was screened with it and is not admitted."
    )


class Golds(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Gold]):
    queryset = Gold.objects.select_related("created_by")
    serializer_class = GoldSerializer
    permission_classes = [IsManager]
    filters = GoldFilters
    lookup_value_converter = "int"

    @extend_schema(parameters=[GoldFilters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Gold, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One gold."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=NewGold, responses={201: GoldSerializer})
    def create(self, request: Request) -> Response:
        """Make a label's solution gold."""
        body = NewGold.read(request)
        label = Label.objects.submitted().filter(pk=body.pop("label")).first()
        if label is None:
            raise serializers.ValidationError({"label": ["There is no such submitted label."]})
        made = verbs.make_gold(label=label, by=caller(request), **body)
        return Response(GoldSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=Accepted, responses=RejudgedSerializer)
    @action(detail=True, methods=["post"])
    def correct(self, request: Request, pk: int) -> Response:
        """Accept other steps; answers given are judged anew, and pauses that rested on them end."""
        return _followed(verbs.correct_gold(gold=self.get_object(), **Accepted.read(request)))

    @extend_schema(request=None, responses=RejudgedSerializer)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: int) -> Response:
        """Retire what should have been no gold; answers given count no more."""
        return _followed(verbs.withdraw_gold(gold=self.get_object()))

    @extend_schema(request=None, responses=GoldSerializer)
    @action(detail=True, methods=["post"])
    def retire(self, request: Request, pk: int) -> Response:
        """Serve it to nobody new; answers given keep their judgement."""
        verbs.retire_gold(gold=self.get_object())
        return Response(GoldSerializer(self.get_object()).data)

    @extend_schema(request=None, responses=GoldSerializer)
    @action(detail=True, methods=["post"])
    def use(self, request: Request, pk: int) -> Response:
        """Serve a retired gold again."""
        verbs.use_gold(gold=self.get_object())
        return Response(GoldSerializer(self.get_object()).data)


def _followed(then: verbs.Rejudged) -> Response:
    said = {
        "answers": then.answers,
        "resumed": [person.username for person in then.resumed],
        "refused": [person.username for person in then.refused],
    }
    return Response(RejudgedSerializer(said).data)
