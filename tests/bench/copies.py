"""Long queues for benches, made in the database: a million rows in a minute, not in an hour."""

from __future__ import annotations

from typing import Any

STEPS = 10
_STEP = r"Step {i}: so $\frac{{x_{i}}}{{2}} = 0$ and therefore $y^2 + {i} = 0$."


def fill(items: int) -> None:
    """As many more solutions of ten steps each, no two of them alike, ready to be labelled."""
    _copy(items, "-n")


def lengthen(to: int) -> None:
    """Make the queue that long with solutions behind all others, whose texts do not differ; their number matters."""
    from annotate.models import QueueItem

    _copy(to - QueueItem.objects.open().count(), "-1e9 - n", with_steps=False)


def _copy(number: int, priority: str, *, with_steps: bool = True) -> None:
    """Copies of the first item and its solution, `n` from 1 on."""
    from django.db import connection

    from annotate.models import QueueItem, Solution, Step
    from tests import factories

    item = QueueItem.objects.filter(strategy="copied").first()
    if item is None:
        texts = [_STEP.format(i=i) for i in range(STEPS)]
        item = factories.QueueItemFactory.create(solution__steps=texts, strategy="copied")
        with connection.cursor() as cursor:
            cursor.execute("create sequence bench_item start 4000000000000000")
    first = Solution.objects.count()
    solutions, solution_values = _columns(Solution, {"sample_index": f"1000000 + {first} + n"})
    steps, step_values = _columns(
        Step, {"solution_id": "new.id", "text": "replace(old.text, '= 0', '= ' || new.sample_index)"}
    )
    fresh = dict.fromkeys(("done_at", "leased_by_id", "lease_token", "lease_expires_at"), "null")
    items, item_values = _columns(
        QueueItem,
        fresh
        | {
            "ahead": "false",
            "id": "nextval('bench_item')",
            "solution_id": "new.id",
            "priority": priority.replace("n", "new.sample_index"),
        },
    )
    making_steps = (
        f", steps as (insert into annotate_step ({steps}) select {step_values} from new, annotate_step old "
        f"where old.solution_id = {item.solution_id})"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"with new as (insert into annotate_solution ({solutions}) select {solution_values} "
            f"from annotate_solution old, generate_series(1, {number}) n where old.id = {item.solution_id} "
            f"returning id, sample_index){making_steps if with_steps else ''} "
            f"insert into annotate_queueitem ({items}) select {item_values} "
            f"from new, annotate_queueitem old where old.id = {item.pk}"
        )
        cursor.execute("vacuum analyze annotate_queueitem, annotate_solution, annotate_step")


def _columns(model: Any, changed: dict[str, str]) -> tuple[str, str]:
    """The columns of a table, and what each holds in a copy of the row `old`."""
    names = [field.column for field in model._meta.local_concrete_fields]
    names = [name for name in names if name != "id" or "id" in changed]
    quoted = [f'"{name}"' for name in names]
    return ", ".join(quoted), ", ".join(changed.get(name, f'old."{name}"') for name in names)
