"""`/api/docs/`: the OpenAPI description as a plain page, without a script. Everything on it comes from the schema."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

Schema = dict[str, Any]

ERROR: Schema = {
    "type": "object",
    "required": ["detail", "code"],
    "properties": {
        "detail": {"type": "string", "description": "What was refused and how to mend it, for people."},
        "code": {"type": "string", "description": "The kind of refusal, for programs."},
        "fields": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
            "description": "The keys of the body at fault, each with its reasons.",
        },
    },
}


def with_errors(result: Schema, **_: Any) -> Schema:
    """A postprocessing hook of drf-spectacular: every operation may answer 4XX with an `Error`."""
    result["components"]["schemas"]["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["4XX"] = {"description": "Refused.", "content": content}
    return result


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """For everybody who may sign in; what each address does is no secret."""
    return render(
        request, "api/docs.html", {"groups": _groups(), "host": request.build_absolute_uri("/")[:-1]}
    )


@cache
def _groups() -> list[tuple[str, list[dict[str, Any]]]]:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    operations = [
        _operation(schema, path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return [(tag, list(group)) for tag, group in groupby(operations, key=lambda operation: operation["tag"])]


def _operation(schema: Schema, path: str, method: str, operation: Schema) -> dict[str, Any]:
    media, body = _content(operation.get("requestBody", {}))
    return {
        "id": operation["operationId"],
        "tag": operation["tags"][0],
        "method": method.upper(),
        "path": path,
        "text": operation.get("description", ""),
        "parameters": [
            {
                "name": parameter["name"],
                "type": _type(schema, parameter["schema"]),
                "text": parameter.get("description", ""),
                "required": parameter.get("required", False),
            }
            for parameter in operation.get("parameters", [])
        ],
        "media": media,
        "body": _fields(schema, body),
        "responses": [
            {
                "status": status,
                "text": response.get("description", ""),
                "fields": _fields(schema, _content(response)[1]),
            }
            for status, response in operation["responses"].items()
            if status != "4XX"
        ],
    }


def _content(of: Schema) -> tuple[str, Schema]:
    """The media type of a body or an answer, and its schema; both empty where it has none."""
    for media, content in of.get("content", {}).items():
        return media, content.get("schema", {})
    return "", {}


def _fields(schema: Schema, of: Schema) -> list[dict[str, Any]]:
    shape = _resolved(schema, of)
    required = shape.get("required", [])
    return [
        {
            "name": name,
            "type": _type(schema, field),
            "text": field.get("description", ""),
            "required": name in required,
        }
        for name, field in shape.get("properties", {}).items()
    ]


def _resolved(schema: Schema, of: Schema) -> Schema:
    """The schema a `$ref` names, also through the `allOf` that carries a description beside it."""
    if "allOf" in of:
        return _resolved(schema, of["allOf"][0])
    if "$ref" in of:
        return _resolved(schema, schema["components"]["schemas"][of["$ref"].rpartition("/")[2]])
    return of


def _type(schema: Schema, of: Schema) -> str:
    """A type in a word or two: `integer or null`, `list of WorkStep`, `one of a, b`."""
    if parts := of.get("oneOf"):
        names = [_type(schema, part) for part in parts]
        return " or ".join(name for name in dict.fromkeys(names) if name)
    shape = _resolved(schema, of)
    if "enum" in shape:
        named = [str(value) for value in shape["enum"] if value not in (None, "")]
        return "one of " + ", ".join(named) if named else ""
    if shape.get("type") == "array":
        return f"list of {_type(schema, shape['items'])}"
    reference = of.get("$ref") or next((part.get("$ref") for part in of.get("allOf", [])), None)
    name = reference.rpartition("/")[2] if reference else shape.get("format", shape.get("type", "any"))
    return f"{name} or null" if of.get("nullable") else str(name)
