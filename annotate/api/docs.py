"""`/api/docs/`: the OpenAPI description as a plain page, without a script. Everything on it comes from the schema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

Schema = dict[str, Any]

_PAGE = "Paginated"  # what drf-spectacular calls a page of a list: PaginatedJobList

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
    """A postprocessing hook of drf-spectacular: every operation may answer 4XX with an `Error`.

    And a body takes no key but those named, as `annotate.api.bodies.Body` has it.
    """
    result["components"]["schemas"]["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["4XX"] = {"description": "Refused.", "content": content}
            name = _name(_content(operation.get("requestBody", {}))[1])
            if name:
                result["components"]["schemas"][name]["additionalProperties"] = False
    return result


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """For everybody who may sign in; what each address does is no secret."""
    return render(request, "api/docs.html", _page() | {"host": request.build_absolute_uri("/")[:-1]})


def texts() -> Iterator[str]:
    """Every text of the description, as the page translates it."""
    page = _page()
    for tag, operations in page["groups"]:
        yield tag
        for operation in operations:
            yield operation["text"]
            for field in (*operation["query"], *operation["body"]):
                yield field["text"]
            for _status, text, words, _shape in operation["answers"]:
                yield from (text, words)
    for _name, fields in page["shapes"]:
        yield from (field["text"] for field in fields)


@cache
def _page() -> dict[str, Any]:
    """`groups` of operations by their first word, and the `shapes` they answer with, each told once."""
    with translation.override("en"):  # kept for readers of any language: the page translates its texts
        schema = SchemaGenerator().get_schema(request=None, public=True)
    operations = [
        _operation(schema, path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    bodies = {operation["body_name"] for operation in operations}
    return {
        "groups": [
            (tag, [operation for operation in operations if operation["tag"] == tag])
            for tag in dict.fromkeys(operation["tag"] for operation in operations)
        ],
        "shapes": [
            (name, _fields(schema, shape))
            for name, shape in schema["components"]["schemas"].items()
            if "properties" in shape and name not in bodies and not name.startswith(_PAGE)
        ],
    }


def _operation(schema: Schema, path: str, method: str, operation: Schema) -> dict[str, Any]:
    media, body = _content(operation.get("requestBody", {}))
    return {
        "id": operation["operationId"],
        "tag": operation["tags"][0],
        "method": method.upper(),
        "path": path,
        "text": operation.get("description", ""),
        "query": [
            _field(schema, parameter["name"], parameter["schema"], parameter.get("description", ""))
            for parameter in operation.get("parameters", [])
            if parameter["in"] == "query"
        ],
        "media": media,
        "body": _fields(schema, body),
        "body_name": _name(body),
        "answers": [
            (status, response.get("description", ""), *_answer(schema, _content(response)[1]))
            for status, response in operation["responses"].items()
            if status != "4XX"
        ],
    }


def _answer(schema: Schema, of: Schema) -> tuple[str, str]:
    """What comes back, in words that go before the name of its shape, and that name."""
    name = _name(of)
    if name.startswith(_PAGE):
        return "a page of", _name(_resolved(schema, of)["properties"]["results"]["items"])
    return "", name


def _content(of: Schema) -> tuple[str, Schema]:
    """The media type of a body or an answer, and its schema; both empty where it has none."""
    for media, content in of.get("content", {}).items():
        return media, content.get("schema", {})
    return "", {}


def _fields(schema: Schema, of: Schema) -> list[dict[str, Any]]:
    shape = _resolved(schema, of)
    required = shape.get("required", [])
    return [
        _field(schema, name, field, field.get("description", "")) | {"required": name in required}
        for name, field in shape.get("properties", {}).items()
    ]


def _field(schema: Schema, name: str, of: Schema, text: str) -> dict[str, Any]:
    return {"name": name, "type": _type(schema, of), "text": text}


def _resolved(schema: Schema, of: Schema) -> Schema:
    """The schema a `$ref` names, also through the `allOf` that carries a description beside it."""
    if "allOf" in of:
        return _resolved(schema, of["allOf"][0])
    if "$ref" in of:
        return _resolved(schema, schema["components"]["schemas"][of["$ref"].rpartition("/")[2]])
    return of


def _name(of: Schema) -> str:
    """The name of the shape a `$ref` points at, or ""."""
    if "allOf" in of:
        return _name(of["allOf"][0])
    return str(of.get("$ref", "").rpartition("/")[2])


def _type(schema: Schema, of: Schema) -> str:
    """A type in a word or two: `integer or null`, `list of WorkStep`, `one of a, b`."""
    if parts := of.get("oneOf"):
        names = [_type(schema, part) for part in parts]
        return " or ".join(name for name in dict.fromkeys(names) if name)
    shape = _resolved(schema, of)
    kind = str(shape.get("type", "any"))
    if "enum" in shape:
        values = [str(value) for value in shape["enum"] if value not in (None, "")]
        name = "one of " + ", ".join(values) if values else ""
    elif kind == "array":
        name = f"list of {_type(schema, shape['items'])}"
    else:
        name = _name(of) or (str(shape.get("format", kind)) if kind == "string" else kind)
    return f"{name} or null" if of.get("nullable") else name
