"""`manage.py export_prm 3 DIRECTORY`: a PRM version as a Hugging Face directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotate.loop.checkpoints import fetch
from annotate.models import PRMVersion
from prm_backend import runtime


class Command(BaseCommand):
    help = (
        "Write a PRM version as a directory that transformers (AutoModelForTokenClassification) and TRL load."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", type=int, help="of the version")
        parser.add_argument("directory", type=Path, help="to write to; must not exist")
        parser.add_argument(
            "--labels", type=int, choices=(2, 3), default=3, help="2 leaves neutral out, as TRL does"
        )
        parser.add_argument("--license", default="", help="for the model card, such as apache-2.0")

    def handle(self, *, number: int, directory: Path, labels: int, license: str, **_: Any) -> None:
        version = PRMVersion.objects.filter(number=number).first()
        if version is None:
            raise CommandError(f"There is no version {number}.")
        try:
            checkpoint = fetch(version.checkpoint)
            runtime.export(checkpoint, directory, base=settings.PRM_BASE, labels=labels, license=license)
        except (ValueError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{version} is in {directory}.")
