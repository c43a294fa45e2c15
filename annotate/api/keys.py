"""The keys a person labels with on the page."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotate.api.access import IsAnnotator, caller
from annotate.api.bodies import Body
from annotate.loop import keymap


def _key() -> serializers.CharField:
    return serializers.CharField(
        max_length=20,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="Left out or empty: its own.",
    )


KeysBody: Any = type("KeysBody", (Body,), {"__doc__": "", **{action: _key() for action in keymap.DEFAULTS}})


class Keys(APIView):
    permission_classes = [IsAnnotator]

    @extend_schema(responses=KeysBody)
    def get(self, request: Request) -> Response:
        """Your key for every action of the labelling page."""
        return Response(keymap.keys_of(caller(request)))

    @extend_schema(request=KeysBody, responses=KeysBody)
    def put(self, request: Request) -> Response:
        """Choose your keys: one letter, digit or sign each, or Enter, Space and the like; no two the same."""
        keymap.choose_keys(person=caller(request), keys=KeysBody.read(request))
        return Response(keymap.keys_of(caller(request)))
