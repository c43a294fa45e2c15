"""The web application: people, rows, pages and Celery around the engine in `prm_backend`."""

from annotate.celery import app as celery_app

__all__ = ["celery_app"]
