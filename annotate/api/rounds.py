"""Rounds: listed, and started with what decides how they are sampled and chosen."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotate.api.access import IsManager, caller
from annotate.api.bodies import Body
from annotate.loop import rounds
from annotate.models import Person, Round
from prm_backend.config import SelectionConfig
from prm_backend.generators import default_prompt_template
from prm_backend.types import Sampling

_SAMPLING = ("temperature", "top_p", "max_new_tokens", "prompt_template")
_SELECTION = ("quota", "wrong_share", "control_share")


class RoundSerializer(serializers.ModelSerializer[Round]):
    started_by: serializers.SlugRelatedField[Person] = serializers.SlugRelatedField(
        "username", read_only=True, allow_null=True
    )

    class Meta:
        model = Round
        fields = (
            "number",
            "generator",
            "seed",
            "samples_per_problem",
            *_SAMPLING,
            *_SELECTION,
            "started_by",
            "created_at",
        )
        read_only_fields = fields


class NewRound(Body):
    """What is left out takes its default. The model is the server's own choice: MODEL."""

    problems = serializers.IntegerField(min_value=1, max_value=1_000_000, default=rounds.PROBLEMS)
    samples_per_problem = serializers.IntegerField(
        min_value=1, max_value=10_000, default=rounds.SAMPLES_PER_PROBLEM
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**32 - 1, required=False)
    temperature = serializers.FloatField(min_value=0, max_value=10, required=False)
    top_p = serializers.FloatField(max_value=1, required=False)
    max_new_tokens = serializers.IntegerField(min_value=1, max_value=100_000, required=False)
    prompt_template = serializers.CharField(
        max_length=10_000, trim_whitespace=False, required=False, help_text="Must contain {problem}."
    )
    quota = serializers.IntegerField(min_value=1, max_value=10_000, required=False)
    wrong_share = serializers.FloatField(min_value=0, max_value=1, required=False)
    control_share = serializers.FloatField(min_value=0, max_value=1, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The engine's own rules have the last word, in its words."""
        try:
            template = {"prompt_template": default_prompt_template(settings.MODEL)}
            sampling = Sampling(**template | {k: attrs.pop(k) for k in _SAMPLING if k in attrs})
            selection = SelectionConfig(**{k: attrs.pop(k) for k in _SELECTION if k in attrs})
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None
        return {**attrs, "sampling": sampling, "selection": selection}


class Rounds(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Round]):
    queryset = Round.objects.select_related("started_by")
    serializer_class = RoundSerializer
    permission_classes = [IsManager]
    lookup_field = "number"
    lookup_value_converter = "int"

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Rounds, newest first."""
        return super().list(request, *args, **kwargs)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One round."""
        return super().retrieve(request, *args, **kwargs)

    @extend_schema(request=NewRound, responses={201: RoundSerializer})
    def create(self, request: Request) -> Response:
        """Start a round. Only one runs at a time."""
        new = rounds.start_round(**NewRound.read(request), by=caller(request))
        return Response(RoundSerializer(new).data, status=status.HTTP_201_CREATED)
