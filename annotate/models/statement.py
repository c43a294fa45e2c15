"""What every labelling request asks, as SQL that is made once a process and then run with other values.

Django takes five times as long to build a query as to run it, and a labelling request runs a dozen. The SQL depends on
the code alone, so it cannot go stale: whatever differs from run to run stands in the query as a `Given`. Nothing else
may be read while a query is built here, no clock and no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.query import get_related_populators
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

M = TypeVar("M", bound=Model)


class Given(Expression):
    """Stands in a query for a value that is told by name when it runs: what a column takes, a key and not a row."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        return "%s", [self]


class _Compiled:
    """A query's SQL and its values, some of them Given."""

    def __init__(self, compiler: SQLCompiler) -> None:
        self.compiler = compiler
        self.sql, self.params = compiler.as_sql()

    def given(self, values: dict[str, object]) -> list[Any]:
        return [values[one.name] if isinstance(one, Given) else one for one in self.params]


class Statement(Generic[M]):
    """A SELECT."""

    def __init__(self, build: Callable[[], QuerySet[M, Any]]) -> None:
        self.build = build

    def rows(self, **values: object) -> Iterable[Sequence[Any]]:
        """The columns of each row."""
        compiled = self._compiled
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, compiled.given(values))
            rows = cursor.fetchall()
        return compiled.compiler.apply_converters(rows, self._converters) if self._converters else rows

    def all(self, **values: object) -> list[M]:
        """The rows as models, with what the query selects beside them."""
        model, names, related, beside = self._models
        found = []
        for row in self.rows(**values):
            one = model.from_db(connection.alias, names, row[: len(names)])
            for populator in related:
                populator.populate(row, one)
            for name, position in beside:
                setattr(one, name, row[position])
            found.append(one)
        return found

    def first(self, **values: object) -> M | None:
        """The first of them, if any; the query limits itself."""
        return next(iter(self.all(**values)), None)

    @cached_property
    def _compiled(self) -> _Compiled:
        return _Compiled(self.build().query.get_compiler(connection=connection))

    @cached_property
    def _converters(self) -> Any:
        compiler = self._compiled.compiler
        return compiler.get_converters([one[0] for one in compiler.select])

    @cached_property
    def _models(self) -> tuple[type[M], list[str], list[Any], list[tuple[str, int]]]:
        compiler = self._compiled.compiler
        info = compiler.klass_info
        names = [compiler.select[i][0].target.attname for i in info["select_fields"]]
        # The stubs know the next Django, which wants one more.
        related = get_related_populators(info, compiler.select, connection.alias)  # type: ignore[call-arg]
        return info["model"], names, related, list(compiler.annotation_col_map.items())


class Change:
    """An UPDATE of the rows of a query."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]], **changes: object) -> None:
        self.build, self.changes = build, changes

    def run(self, **values: object) -> int:
        """How many rows it changed."""
        with connection.cursor() as cursor:
            cursor.execute(self._compiled.sql, self._compiled.given(values))
            return cursor.rowcount

    @cached_property
    def _compiled(self) -> _Compiled:
        query: Any = self.build().order_by().query.chain(UpdateQuery)
        query.add_update_values(self.changes)
        return _Compiled(query.get_compiler(connection=connection))


def write(row: Model, fields: Sequence[str] | None = None) -> None:
    """Django's `save`, less what it costs: a new row is inserted, of another these fields are updated, or all.

    Sends no signal, and does not notice that a row is gone.
    """
    adding = row._state.adding
    sql, columns = _write_sql(type(row), adding, None if fields is None or adding else tuple(fields))
    values = [one.get_db_prep_save(one.pre_save(row, adding), connection) for one in columns]
    with connection.cursor() as cursor:
        cursor.execute(sql, values if adding else [*values, row.pk])
        if adding:
            (row.pk,) = cursor.fetchone()
            row._state.adding, row._state.db = False, connection.alias


@cache
def _write_sql(
    model: type[Model], adding: bool, fields: tuple[str, ...] | None
) -> tuple[str, list[Field[Any, Any]]]:
    meta: Any = model._meta
    quote = connection.ops.quote_name
    # What the database makes up where a row does not say: only the key; a column with two defaults has Django's here.
    columns = [one for one in meta.local_concrete_fields if not one.db_returning or one.has_default()]
    if not adding:
        columns = [one for one in columns if one.name in fields] if fields else columns
    names, table, key = [quote(one.column) for one in columns], quote(meta.db_table), quote(meta.pk.column)
    if adding:
        places = ", ".join(["%s"] * len(names))
        return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places}) RETURNING {key}", columns
    return f"UPDATE {table} SET {', '.join(f'{name} = %s' for name in names)} WHERE {key} = %s", columns
