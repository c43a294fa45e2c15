"""Labels as PRM800K rows, out and in again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from annotate.loop.import_labels import import_labels, read_records
from annotate.loop.snapshot import label_lines
from annotate.models import Label
from prm_backend.text import prm800k

SCHEMA = Draft202012Validator(
    json.loads((Path(prm800k.__file__).parent / "prm800k.schema.json").read_text(encoding="utf-8"))
)


def exported() -> list[dict[str, Any]]:
    return [json.loads(line) for line in label_lines(labels=Label.objects.all())]


def rows_fit_the_schema() -> list[dict[str, Any]]:
    """The exported rows, each held against the project's JSON Schema."""
    rows = exported()
    for row in rows:
        SCHEMA.validate(row)
    return rows


def export_again(*rows: dict[str, Any]) -> list[Any]:
    """Forget all labels, import `rows` (else what they exported as), export; or the reasons why not."""
    given = rows or exported()
    Label.objects.all().delete()
    file = io.BytesIO("\n".join(map(json.dumps, given)).encode())
    file.name = "labels.jsonl"
    summary = import_labels(records=read_records(file))
    return [refused.reason for refused in summary.refused] or rows_fit_the_schema()
