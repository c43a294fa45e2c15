"""What the loop is doing: the counts the workers themselves go by, and who works."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotate.api.access import IsManager
from annotate.loop.progress import loop_counts, workers_state


class CountsSerializer(serializers.Serializer[Any]):
    untouched = serializers.IntegerField(help_text="Problems that no round has taken yet.")
    generate = serializers.IntegerField()
    grade = serializers.IntegerField()
    score = serializers.IntegerField()
    enqueue = serializers.IntegerField()
    label = serializers.IntegerField(  # type: ignore[assignment]
        help_text="Items that wait for a person, leased or not."
    )
    leased = serializers.IntegerField()
    labelled = serializers.IntegerField(help_text="Submitted labels.")
    untrained = serializers.IntegerField(help_text="Labels that no PRM version has seen.")
    promote = serializers.IntegerField(help_text="Candidates that wait for a decision.")


class WorkersSerializer(serializers.Serializer[Any]):
    queue = serializers.CharField()
    alive = serializers.IntegerField()
    seen_at = serializers.DateTimeField(allow_null=True)


class ProgressSerializer(serializers.Serializer[Any]):
    serving = serializers.IntegerField(allow_null=True, help_text="Number of the PRM version that serves.")
    waiting = CountsSerializer(help_text="How many wait at each stage.")
    workers = WorkersSerializer(many=True)


class Progress(APIView):
    permission_classes = [IsManager]

    @extend_schema(responses=ProgressSerializer)
    def get(self, request: Request) -> Response:
        """What waits at each stage, and who works on it."""
        counts = loop_counts()
        answer = {
            "serving": counts.serving.number if counts.serving else None,
            "waiting": counts,
            "workers": workers_state(),
        }
        return Response(ProgressSerializer(answer).data)
