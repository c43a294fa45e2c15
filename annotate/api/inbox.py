"""The managers' inbox: what annotators noticed, each answered by one act."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager, caller
from annotate.api.bodies import Body
from annotate.loop import inbox as verbs
from annotate.models import Concern


class ConcernSerializer(serializers.ModelSerializer[Concern]):
    annotator = serializers.CharField(source="label.annotator.username")
    answer = serializers.CharField(source="problem.answer", allow_null=True, help_text="As it is now.")
    action = serializers.ChoiceField(
        Concern.Action.choices, allow_blank=True, read_only=True, help_text="Empty while it is open."
    )
    resolved_by = serializers.CharField(source="resolved_by.username", default=None, allow_null=True)

    class Meta:
        model = Concern
        fields = (
            "id",
            "kind",
            "label",
            "annotator",
            "problem",
            "answer",
            "step_index",
            "text",
            "created_at",
            "action",
            "reply",
            "resolved_by",
            "resolved_at",
        )
        read_only_fields = fields


class ConcernFilters(Body):
    kind = serializers.ChoiceField(Concern.Kind.choices, required=False)
    open = serializers.BooleanField(required=False, source="resolved_at__isnull")


class ReplyBody(Body):
    reply = serializers.CharField(
        max_length=10_000, allow_blank=True, default="", help_text="The annotator sees it under My work."
    )


class AnswerBody(ReplyBody):
    answer = serializers.CharField(max_length=2000, help_text="The right one.")


class Concerns(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Concern]):
    queryset = Concern.objects.select_related("label__annotator", "problem", "resolved_by")
    serializer_class = ConcernSerializer
    permission_classes = [IsManager]
    filters = ConcernFilters
    lookup_value_converter = "int"

    @extend_schema(parameters=[ConcernFilters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Unsure steps, disputed answers and bad problems, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One of them."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=AnswerBody, responses=ConcernSerializer)
    @action(detail=True, methods=["post"], url_path="fix-answer", url_name="fix-answer")
    def fix_answer(self, request: Request, pk: int) -> Response:
        """Correct the problem's answer; all its solutions are graded anew."""
        verbs.fix_answer(concern=self.get_object(), by=caller(request), **AnswerBody.read(request))
        return self._as_it_is_now()

    @extend_schema(request=ReplyBody, responses=ConcernSerializer)
    @action(detail=True, methods=["post"], url_path="retire-problem", url_name="retire-problem")
    def retire_problem(self, request: Request, pk: int) -> Response:
        """Take the problem out of use."""
        verbs.retire_problem(concern=self.get_object(), by=caller(request), **ReplyBody.read(request))
        return self._as_it_is_now()

    @extend_schema(request=ReplyBody, responses=ConcernSerializer)
    @action(detail=True, methods=["post"])
    def reply(self, request: Request, pk: int) -> Response:
        """Only write back."""
        verbs.write_back(concern=self.get_object(), by=caller(request), **ReplyBody.read(request))
        return self._as_it_is_now()

    def _as_it_is_now(self) -> Response:
        return Response(ConcernSerializer(self.get_object()).data)
