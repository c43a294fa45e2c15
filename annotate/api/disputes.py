"""Adjudication: solutions whose labels disagree, each with those labels, and a manager's decision."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager, caller
from annotate.api.bodies import Body
from annotate.api.labels import LabelSerializer
from annotate.loop import adjudicate as verbs
from annotate.models import Label, Solution


class RatedStepSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(source="step_index")
    rating = serializers.IntegerField(allow_null=True)


class OpinionSerializer(LabelSerializer):
    ratings = serializers.SerializerMethodField(help_text="Of the steps that were served.")

    class Meta(LabelSerializer.Meta):
        fields = (*LabelSerializer.Meta.fields, "ratings")
        read_only_fields = fields

    @extend_schema_field(RatedStepSerializer(many=True))
    def get_ratings(self, label: Label) -> list[dict[str, Any]]:
        served = [row for row in label.ratings.all() if row.option == 0]
        return list(RatedStepSerializer(served, many=True).data)


class DisputeSerializer(serializers.ModelSerializer[Solution]):
    problem = serializers.CharField(source="problem.text")
    steps = serializers.SerializerMethodField()
    labels = OpinionSerializer(many=True, source="opinions")

    class Meta:
        model = Solution
        fields = ("id", "problem", "steps", "labels")
        read_only_fields = fields

    def get_steps(self, solution: Any) -> list[str]:
        return list(solution.opinions[0].question["pre_generated_steps"])


class Decision(Body):
    label = serializers.IntegerField(  # type: ignore[assignment]
        min_value=1,
        max_value=2**63 - 1,
        required=False,
        help_text="Decide as this one of the labels has it.",
    )
    ratings = serializers.ListField(
        child=serializers.IntegerField(min_value=-1, max_value=1),
        max_length=10_000,
        required=False,
        help_text="Or with ratings of your own: of the steps up to the first error, or of every step.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError("Send either a label or ratings.")
        return attrs


class Disputes(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Solution]):
    queryset = Solution.objects.none()  # for the description; see get_queryset
    serializer_class = DisputeSerializer
    permission_classes = [IsManager]
    lookup_value_converter = "int"

    def get_queryset(self) -> Any:
        opinions = Label.objects.opinions().with_first_error().select_related("annotator")
        opinions = opinions.prefetch_related("ratings").order_by("submitted_at", "id")
        disputed = Label.objects.disputed_solutions().select_related("problem")
        return disputed.prefetch_related(Prefetch("labels", queryset=opinions, to_attr="opinions"))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Solutions whose labels disagree and that nobody has decided, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One of them."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=Decision, responses={201: LabelSerializer})
    @action(detail=True, methods=["post"])
    def decide(self, request: Request, pk: int) -> Response:
        """Decide; the decision is a label of its own, and every other stays."""
        body = Decision.read(request)
        solution = Solution.objects.filter(pk=pk).first()
        if solution is None:
            raise NotFound
        if "ratings" in body:
            made = verbs.adjudicate(solution=solution, ratings=body["ratings"], by=caller(request))
        else:
            chosen = solution.labels.filter(pk=body["label"]).first()
            if chosen is None:
                raise serializers.ValidationError({"label": ["It is not one of this solution's labels."]})
            made = verbs.side_with(label=chosen, by=caller(request))
        kept = Label.objects.with_first_error().select_related("annotator").get(pk=made.pk)
        return Response(LabelSerializer(kept).data, status=status.HTTP_201_CREATED)
