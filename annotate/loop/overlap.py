"""Overlap: several people label the same solution of a queue, each on a copy of its item. Hands out nothing."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction

from annotate.models import Queue

# A solution is in the overlap by a hash of its text (digits 9 to 16, since the first eight of a problem's hold it out),
# one that grows by its key: the same ones whenever it is asked; more of them, never others, when the share grows.
_CHOSEN = """coalesce((
    select ('x' || substr(solution.text_hash, 9, 8))::bit(32)::bigint / 4294967296.0 from annotate_solution solution
    where solution.id = item.solution_id
), item.random_key) < %(share)s"""

_COPY = f"""
insert into annotate_queueitem (id, queue_id, solution_id, problem_id, copy, arm, strategy, rank, score, propensity,
    prm_id, random_key, priority, created_at)
select floor(random() * 9007199254740991)::bigint + 1, item.queue_id, item.solution_id, item.problem_id, nth, item.arm,
    item.strategy, item.rank, item.score, item.propensity, item.prm_id, item.random_key, item.priority, now()
from annotate_queueitem item
    left join annotate_solution whole on whole.id = item.solution_id
    join annotate_problem problem on problem.id = coalesce(item.problem_id, whole.problem_id)
    cross join generate_series(1, %(overlap)s - 1) nth
where item.queue_id = %(queue)s and item.copy = 0 and item.gold_id is null and problem.retired_at is null
    and {_CHOSEN} and (%(solutions)s::bigint[] is null or item.solution_id = any(%(solutions)s))
on conflict do nothing
"""

_WITHDRAW = f"""
delete from annotate_queueitem item
where item.queue_id = %(queue)s and item.gold_id is null
    and item.copy >= case when {_CHOSEN} then %(overlap)s else 1 end
    and item.done_at is null and item.leased_by_id is null
    and not exists (select from annotate_label label where label.queue_item_id = item.id)
"""


@transaction.atomic
def spread(*, queue: Queue, solutions: Sequence[int] | None = None) -> int:
    """Make the copies that `queue.overlap` and `overlap_share` ask for; returns how many that were.

    Of all its solutions, labelled ones too, or of `solutions` alone. Copies nobody has begun that are no longer
    asked for go; what people did or hold stays.
    """
    asked = {
        "queue": queue.pk,
        "overlap": queue.overlap,
        "share": queue.overlap_share,
        "solutions": None if solutions is None else list(solutions),
    }
    with connection.cursor() as cursor:
        cursor.execute(_COPY, asked)
        made: int = cursor.rowcount
        if solutions is None:
            cursor.execute(_WITHDRAW, asked)
    return made
