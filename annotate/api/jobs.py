"""Jobs: what the workers do and did, cancelled or tried again. And the retrain button."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager, caller
from annotate.api.bodies import Body
from annotate.loop import jobs, retrain
from annotate.models import Job, JobStatus, Person


class JobSerializer(serializers.ModelSerializer[Job]):
    requested_by: serializers.SlugRelatedField[Person] = serializers.SlugRelatedField(
        "username", read_only=True, allow_null=True
    )
    percent = serializers.IntegerField(read_only=True, allow_null=True)
    seconds_left = serializers.FloatField(read_only=True, allow_null=True)

    class Meta:
        model = Job
        fields = (
            "id",
            "kind",
            "status",
            "done",
            "total",
            "percent",
            "seconds_left",
            "message",
            "result",
            "attempts",
            "cancel_requested",
            "requested_by",
            "created_at",
            "started_at",
            "finished_at",
        )
        read_only_fields = fields


class JobFilters(Body):
    kind = serializers.CharField(required=False)
    status = serializers.ChoiceField(JobStatus.choices, required=False)


class Jobs(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Job]):
    queryset = Job.objects.select_related("requested_by")
    serializer_class = JobSerializer
    permission_classes = [IsManager]
    filters = JobFilters
    lookup_value_converter = "int"

    @extend_schema(parameters=[JobFilters])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Jobs, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One job: how far it is, and what it found."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=None, responses=JobSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: int) -> Response:
        """End a queued job; a running one stops at its next sign of progress."""
        job = self.get_object()
        jobs.cancel(job, by=caller(request))
        job.refresh_from_db()
        return Response(JobSerializer(job).data)

    @extend_schema(request=None, responses={202: JobSerializer})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: int) -> Response:
        """Queue the work of a failed or cancelled job again."""
        job = jobs.retry(self.get_object(), by=caller(request))
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class Retrain(APIView):
    permission_classes = [IsManager]

    @extend_schema(request=None, responses={202: JobSerializer})
    def post(self, request: Request) -> Response:
        """Keep the labels as a snapshot and train on it; answers the job that does so already, where there is one."""
        job = retrain.request_retrain(by=caller(request))
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED)
