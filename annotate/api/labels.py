"""Labels as PRM800K JSONL, streamed."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from annotate.api.access import IsManager
from annotate.loop.snapshot import label_lines
from annotate.models import Label


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
