"""`manage.py prepare`: what must be there before the first request. `up` calls it, and so does docker compose."""

from __future__ import annotations

import filecmp
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from prm_backend.generators.starter import ADAPTER_DIR


class Command(BaseCommand):
    help = (
        "Tables, the default model, and on an empty database the first people and problems. Safe to repeat."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise CommandError(f"DATABASE_URL: no PostgreSQL answers there: {error}") from None
        call_command("migrate", interactive=False, verbosity=0)
        folder: Path = settings.DEFAULT_MODEL_DIR
        if str(folder) in (settings.MODEL, settings.PRM_BASE) and not _is_unpacked(folder):
            self._unpack(folder)
        call_command("first_run", stdout=self.stdout)

    def _unpack(self, folder: Path) -> None:
        """In a process of its own, so that torch does not stay in the memory of this one."""
        self.stdout.write("Unpacking the default model, once (about ten seconds) …")
        self.stdout.flush()
        command = [sys.executable, "-m", "prm_backend.generators.smollm2", str(folder)]
        if subprocess.run(command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL, check=False).returncode:
            raise CommandError("The default model can't be unpacked; the reason stands above.")


def _is_unpacked(folder: Path) -> bool:
    """Whether the default model and the adapter we ship are in `folder`; asks without loading torch."""
    shipped, there = (
        ADAPTER_DIR / "adapter_model.safetensors",
        folder / "adapter" / "adapter_model.safetensors",
    )
    if not (folder / "origin.json").exists():
        return False
    return not shipped.exists() or (there.exists() and filecmp.cmp(shipped, there, shallow=False))
