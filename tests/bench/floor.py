"""The least that a request can cost here: Django with no middleware, one UPDATE of one row, and its commit.

Served by the labelling bench with the same gunicorn, asked by the same clients: what a page takes beside it is its own.
"""

from __future__ import annotations

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")


def touch(request: HttpRequest, row: int) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("update bench_floor set n = n + 1 where id = %s", [row % 1000])
    body = f"<p>{row}</p>"
    return HttpResponse(body, headers={"Content-Length": str(len(body))})


urlpatterns = [path("touch/<int:row>/", touch), path("login/", lambda request: HttpResponse())]

settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
application = get_wsgi_application()
