"""Lists: newest first, a cursor instead of page numbers, and filters that are named one by one.

A filter is a field of a `Body`, never the name of a column or a lookup: `?answer__startswith=` is refused.
"""

from __future__ import annotations

import re
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.filters import BaseFilterBackend
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.views import APIView

from annotate.api.bodies import Body

_ID = re.compile(r"[0-9]{1,18}")


class NewestFirst(CursorPagination):
    """Pages of equal cost however long the list is; `next` and `previous` are whole addresses."""

    ordering = "-id"
    page_size = 100
    max_page_size = 1000
    page_size_query_param = "page_size"

    def decode_cursor(self, request: Request) -> Cursor | None:
        """As DRF does, but a position that is no id (a cursor somebody bent) is not found and no crash."""
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None and not _ID.fullmatch(str(cursor.position)):
            raise NotFound(self.invalid_cursor_message)
        return cursor


class NoFilters(Body):
    """A list that is not narrowed."""


class NamedFilters(BaseFilterBackend):
    """Keeps a list to what the query string asks by the fields of the view's `filters`; refuses any other name."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> QuerySet[Any]:
        filters: type[Body] = getattr(view, "filters", NoFilters)
        paging = (NewestFirst.cursor_query_param, NewestFirst.page_size_query_param)
        return queryset.filter(**filters.read_query(request, also=paging))
