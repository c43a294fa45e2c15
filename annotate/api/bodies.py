"""What may come in: JSON of bounded size and depth, and only the keys an endpoint names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request


class BoundedJSONParser(JSONParser):
    """DRF's, which keeps Django's limit on size but fails with a 500 on JSON nested thousands deep."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError(_("The JSON is nested too deeply.")) from None


class Body(serializers.Serializer[Any]):
    """The keys an endpoint takes. A key it does not know is refused, so nobody thinks that it was obeyed."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(map(str, data)) - set(self.fields))):
            raise serializers.ValidationError(
                {
                    name: [_("Unknown; known are: %(names)s.") % {"names": ", ".join(self.fields) or "–"}]
                    for name in unknown
                }
            )
        return super().to_internal_value(data)

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The request's body, checked. Raises ValidationError (400)."""
        return cls._checked(request.data)

    @classmethod
    def read_query(cls, request: Request, *, also: tuple[str, ...] = ()) -> dict[str, Any]:
        """The query string, checked in the same way; `also` names parameters that somebody else reads."""
        # A plain dict: in a QueryDict, serializers take an absent boolean for false.
        return cls._checked({k: v for k, v in request.query_params.items() if k not in also})

    @classmethod
    def _checked(cls, data: Any) -> dict[str, Any]:
        body = cls(data=data)
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)
