"""The WSGI entry point gunicorn loads."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")

application = get_wsgi_application()

# What is loaded by now stays: the collector need not look through it again and again. A request makes some thousand
# short-lived objects, and at the default of 700 it would be interrupted every few templates.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)
