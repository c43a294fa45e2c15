"""A fresh product for a bench to measure: embedded servers, tables, real worker processes, all gone afterwards."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent


@contextmanager
def product(environment: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Django is set up on a fresh, migrated database, and a broker answers; yields VAR_DIR.

    Once a process, before anything of Django's is imported. `environment` goes to the settings, here and in workers.
    """
    var_dir = Path(tempfile.mkdtemp(prefix="plumbline-bench-", dir="/tmp"))
    os.environ |= {"DJANGO_SETTINGS_MODULE": "annotate.settings", "VAR_DIR": str(var_dir)}
    os.environ |= {"SECRET_KEY": secrets.token_urlsafe(50), **(environment or {})}

    import django
    from django.conf import settings
    from django.core.management import call_command

    from annotate.services.start import Services

    django.setup()
    services = Services(var_dir, database=settings.EMBEDDED_DATABASE, broker=settings.EMBEDDED_BROKER)
    try:
        services.start()
        call_command("migrate", interactive=False, verbosity=0)
        yield var_dir
    finally:
        services.stop()
        shutil.rmtree(var_dir, ignore_errors=True)


@contextmanager
def workers(var_dir: Path, *queues: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """One real worker process a queue, as `make run` starts them, logging to VAR_DIR; ended afterwards."""
    running = []
    try:
        for queue in queues or ("quick", "model"):
            command = [sys.executable, "-m", "celery", "-q", "-A", "annotate", "worker", "-P", "solo"]
            command += ["-Q", queue, "-n", f"{queue}@bench", "-l", "WARNING"]
            with open(var_dir / f"{queue}.log", "wb") as log:
                running.append(subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log))
        yield running
    finally:
        for worker in running:
            worker.kill()  # its database is about to go, too
            worker.wait()
