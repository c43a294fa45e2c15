"""Problems: listed, added one by one, or sent as a file that a worker imports."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager, caller
from annotate.api.bodies import Body
from annotate.api.jobs import JobSerializer
from annotate.loop import uploads
from annotate.loop.problems import import_problems
from annotate.models import Problem
from prm_backend.text.gold import AnswerKind
from prm_backend.text.problems import ProblemRow, answer_rule
from prm_backend.text.steps import text_hash

KINDS = [(kind.value, kind.value) for kind in AnswerKind]


class ProblemSerializer(serializers.ModelSerializer[Problem]):
    class Meta:
        model = Problem
        fields = (
            "id",
            "text",
            "answer",
            "kind",
            "tolerance",
            "tests",
            "solution",
            "source",
            "subject",
            "level",
            "unique_id",
            "held_out",
            "retired_at",
            "created_at",
        )
        read_only_fields = fields


class NewProblem(Body):
    problem = serializers.CharField(max_length=100_000)
    answer = serializers.CharField(max_length=2000, allow_null=True, default=None)
    kind = serializers.ChoiceField(KINDS, required=False)
    tolerance = serializers.CharField(
        max_length=50, default="", allow_blank=True, help_text="Of a number: 0.01, or 1 % of the answer."
    )
    tests = serializers.JSONField(
        default=None, help_text="Of code: Python that asserts, or a list of it or of {input, output}."
    )
    solution = serializers.CharField(
        max_length=100_000, allow_null=True, default=None, help_text="A reference; never shown to annotators."
    )
    source = serializers.CharField(max_length=100, allow_blank=True, default="")  # type: ignore[assignment]
    subject = serializers.CharField(max_length=100, allow_blank=True, default="")
    level = serializers.IntegerField(min_value=0, max_value=32767, allow_null=True, default=None)
    unique_id = serializers.CharField(max_length=200, allow_blank=True, default="")


class ProblemFilters(Body):
    source = serializers.CharField(required=False)  # type: ignore[assignment]
    subject = serializers.CharField(required=False)
    held_out = serializers.BooleanField(required=False)


class Upload(Body):
    file = serializers.FileField()


_UPLOAD = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": f"Its name must end in {', '.join(uploads.ENDINGS)}.",
        }
    },
}


class Problems(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Problem]):
    queryset = Problem.objects.all()
    serializer_class = ProblemSerializer
    permission_classes = [IsManager]
    filters = ProblemFilters
    throttle_scope = ""
    lookup_value_converter = "int"

    @extend_schema(parameters=[ProblemFilters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Problems, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One problem."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(
        request=NewProblem,
        responses={
            201: ProblemSerializer,
            200: OpenApiResponse(
                ProblemSerializer, description="It was there already and keeps its own answer."
            ),
        },
    )
    def create(self, request: Request) -> Response:
        """Add one problem; a text that is there already is not added again."""
        body = NewProblem.read(request)
        try:
            body |= answer_rule(body)
        except ValueError as error:
            raise ValidationError({"kind": [str(error)]}) from None
        row = ProblemRow(line=1, **body)
        summary = import_problems(rows=[row], source="api")
        if summary.refused:
            raise ValidationError({"problem": [summary.refused[0].reason]})
        problem = Problem.objects.get(text_hash=text_hash(row.problem))
        created = status.HTTP_201_CREATED if summary.added else status.HTTP_200_OK
        return Response(ProblemSerializer(problem).data, status=created)

    @extend_schema(request={"multipart/form-data": _UPLOAD}, responses={202: JobSerializer})
    @action(
        detail=False,
        methods=["post"],
        url_path="import",
        parser_classes=[MultiPartParser],
        throttle_scope="files",
    )
    def upload(self, request: Request) -> Response:
        """Send a file of problems. A worker imports it; the job's `result` then tells what was refused and why."""
        job = uploads.receive(file=Upload.read(request)["file"], by=caller(request))
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED)
