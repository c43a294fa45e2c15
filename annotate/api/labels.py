"""Labels: listed, and as PRM800K JSONL, streamed."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager
from annotate.api.bodies import Body
from annotate.loop.snapshot import label_lines
from annotate.models import Label, Person
from prm_backend.types import FinishReason


class LabelSerializer(serializers.ModelSerializer[Label]):
    annotator: serializers.SlugRelatedField[Person] = serializers.SlugRelatedField("username", read_only=True)
    first_error = serializers.IntegerField(help_text="0-based; -1 for none.")

    class Meta:
        model = Label
        fields: tuple[str, ...] = (
            "id",
            "problem",
            "solution",
            "annotator",
            "way",
            "generation",
            "finish_reason",
            "first_error",
            "comment",
            "progress",
            "critique",
            "total_time",
            "submitted_at",
            "is_quality_control_question",
            "is_initial_screening_question",
            "agrees_with_gold",
            "adjudicates",
        )
        read_only_fields = fields


class LabelFilters(Body):
    annotator = serializers.CharField(required=False, source="annotator__username", help_text="A username.")
    finish_reason = serializers.ChoiceField([reason.value for reason in FinishReason], required=False)
    adjudicates = serializers.BooleanField(required=False)


class Labels(mixins.ListModelMixin, GenericViewSet[Label]):
    queryset = Label.objects.submitted().with_first_error().select_related("annotator")
    serializer_class = LabelSerializer
    permission_classes = [IsManager]
    filters = LabelFilters

    @extend_schema(parameters=[LabelFilters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Submitted labels, newest first."""
        return super().list(request, *args, **kwargs)


class ExportLabels(APIView):
    permission_classes = [IsManager]
    throttle_scope = "files"

    @extend_schema(responses={(200, "application/jsonl"): OpenApiTypes.BINARY})
    def get(self, request: Request) -> StreamingHttpResponse:
        """Every submitted label, one PRM800K row a line, in the order of submission."""
        lines = label_lines(labels=Label.objects.all())
        response = StreamingHttpResponse(lines, content_type="application/jsonl; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="labels.jsonl"'
        return response
