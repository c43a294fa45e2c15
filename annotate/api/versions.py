"""PRM versions: what each was trained on and how good it is; promoted, rejected, rolled back."""

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
from annotate.loop import promote as verbs
from annotate.loop.benchmark import ask_to_measure
from annotate.loop.waiting import call
from annotate.models import Measurement, Person, PRMStatus, PRMVersion, Snapshot


class MeasurementSerializer(serializers.ModelSerializer[Measurement]):
    benchmark: serializers.SlugRelatedField = serializers.SlugRelatedField("name", read_only=True)
    sha256 = serializers.CharField(source="benchmark.sha256", read_only=True)
    figures = serializers.JSONField(
        read_only=True,
        help_text="F1 at its own threshold, at each half's tuned on the other (`crossed`), at the best (`tuned`);"
        " null while it waits, `refused` with the reason where it cannot be measured.",
    )

    class Meta:
        model = Measurement
        fields = ("benchmark", "sha256", "figures", "measured_at")
        read_only_fields = fields


class VersionSerializer(serializers.ModelSerializer[PRMVersion]):
    snapshot: serializers.SlugRelatedField[Snapshot] = serializers.SlugRelatedField(
        "sha256", read_only=True, allow_null=True, help_text="SHA-256 of the labels it was trained on."
    )
    threshold = serializers.FloatField(
        read_only=True, help_text="The p(bad) above which it calls a step wrong; 0.5 where none was tuned."
    )
    measurements = MeasurementSerializer(many=True, read_only=True)
    decided_by: serializers.SlugRelatedField[Person] = serializers.SlugRelatedField(
        "username", read_only=True, allow_null=True
    )

    class Meta:
        model = PRMVersion
        fields = (
            "number",
            "status",
            "outcome_only",
            "snapshot",
            "base",
            "config",
            "n_labels",
            "threshold",
            "report",
            "measurements",
            "decision",
            "decided_by",
            "promoted_at",
            "created_at",
        )
        read_only_fields = fields


class VersionFilters(Body):
    status = serializers.ChoiceField(PRMStatus.choices, required=False)


class ReasonBody(Body):
    reason = serializers.CharField(max_length=2000, allow_blank=True, default="")


class RollBackBody(ReasonBody):
    to = serializers.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        allow_null=True,
        default=None,
        help_text="The version that is to serve again: so two who roll back at once go back one step, not two.",
    )


class Versions(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[PRMVersion]):
    queryset = PRMVersion.objects.select_related("snapshot", "decided_by").prefetch_related(
        "measurements__benchmark"
    )
    serializer_class = VersionSerializer
    permission_classes = [IsManager]
    filters = VersionFilters
    lookup_field = "number"
    lookup_value_converter = "int"

    @extend_schema(parameters=[VersionFilters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """PRM versions, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One version with its report."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=ReasonBody, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def promote(self, request: Request, number: int) -> Response:
        """Let this version serve; the one that serves now is retired."""
        body = ReasonBody.read(request)
        return _shown(verbs.promote(version=self.get_object(), by=caller(request), **body))

    @extend_schema(request=ReasonBody, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, number: int) -> Response:
        """Turn a candidate down."""
        body = ReasonBody.read(request)
        return _shown(verbs.reject(version=self.get_object(), by=caller(request), **body))

    @extend_schema(request=None, responses=VersionSerializer)
    @action(detail=True, methods=["post"])
    def measure(self, request: Request, number: int) -> Response:
        """Let the workers measure it on each benchmark that it has no figures on."""
        version = self.get_object()
        ask_to_measure(version=version)
        call("benchmark")
        return _shown(self.get_queryset().get(pk=version.pk))

    @extend_schema(request=RollBackBody, responses=VersionSerializer)
    @action(detail=False, methods=["post"], url_path="roll-back")
    def roll_back(self, request: Request) -> Response:
        """Let the version that served before serve again; answers that version."""
        return _shown(verbs.roll_back(by=caller(request), **RollBackBody.read(request)))


def _shown(version: PRMVersion) -> Response:
    return Response(VersionSerializer(version).data)
