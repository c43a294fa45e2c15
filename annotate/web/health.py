"""`/healthz`: do the database and the broker answer? For health checks; tells no secrets."""

from __future__ import annotations

import kombu.exceptions
from django.contrib.auth.decorators import login_not_required
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.celery import app


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 where both answer, else 503: `{"database": "ok", "broker": "silent"}`."""
    found = {"database": _word(_database_answers()), "broker": _word(_broker_answers())}
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


def _word(answers: bool) -> str:
    return "ok" if answers else "silent"


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except OperationalError:
        return False
    return True


def _broker_answers() -> bool:
    with app.connection_for_write(connect_timeout=1) as broker:
        silence: tuple[type[BaseException], ...] = (
            kombu.exceptions.OperationalError,
            *broker.connection_errors,
            *broker.channel_errors,
        )
        try:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            broker.default_channel  # noqa: B018  a Redis transport connects only when a channel opens
        except silence:
            return False
    return True
