"""Labels as PRM800K rows, out and in again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from django.db import connection
from jsonschema import Draft202012Validator

from annotate.loop.import_labels import import_labels, read_records
from annotate.loop.snapshot import label_lines, write_labels
from annotate.models import Label
from prm_backend.text import prm800k
from tests.factories import AnnotatorFactory, ProblemFactory

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


def exported_bytes() -> bytes:
    stream = io.BytesIO()
    write_labels(labels=Label.objects.all(), stream=stream)
    return stream.getvalue()


def make_labels(n: int, steps: int = 8) -> None:
    """Many labels of one person, written straight into the tables by the database itself."""
    person = AnnotatorFactory.create()
    problem = ProblemFactory.create()
    texts = [f"Step {i}: we add ${i}$ to both sides, which keeps the equation true." for i in range(steps)]
    question = {
        "problem": problem.text,
        "ground_truth_solution": "Add and simplify.",
        "ground_truth_answer": "7",
        "pre_generated_steps": texts,
        "pre_generated_answer": "8",
        "pre_generated_verifier_score": 0.5,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """
            insert into annotate_label (problem_id, annotator_id, generation, question, finish_reason, submitted_at,
                created_at, total_time, comment, is_quality_control_question, is_initial_screening_question, way,
                adjudicates, critique)
            select %s, %s, 0, %s, 'solution', timestamptz '2026-01-01' + n * interval '1 millisecond',
                now(), 1000, '', false, false, 'first_error', false, ''
            from generate_series(1, %s) as n
            """,
            [problem.pk, person.pk, json.dumps(question), n],
        )
        cursor.execute(
            """
            insert into annotate_steprating (label_id, step_index, option, source, text, rating, chosen, rated_at,
                active_ms)
            select label.id, step.i - 1, 0, 'model', step.text, 1, true, now(), 0
            from annotate_label as label cross join unnest(%s::text[]) with ordinality as step(text, i)
            where label.annotator_id = %s
            """,
            [texts, person.pk],
        )
        cursor.execute("analyze annotate_label, annotate_steprating")
