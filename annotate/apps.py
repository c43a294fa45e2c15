"""The web application's entry in INSTALLED_APPS."""

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    name = "annotate"
    verbose_name = "Plumbline"
    default_auto_field = "django.db.models.BigAutoField"
