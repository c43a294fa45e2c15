"""`manage.py up`: the whole product under one process, from nothing. What `make run` calls.

Embedded servers, tables, model, first people and problems; then web, workers and beat until ^C.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from annotate.loop import progress
from annotate.services.folders import ServiceError
from annotate.services.start import Services
from annotate.services.supervisor import Program, Supervisor, end_leftovers

STATUS_SECONDS = 10.0


class Command(BaseCommand):
    help = "Start everything (embedded servers where none are configured), and keep it running until ^C."

    def handle(self, *args: Any, **options: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _as_interrupt)
        var_dir: Path = settings.VAR_DIR
        with _only_one(var_dir / "up.lock"):
            if ended := end_leftovers(var_dir / "up.json"):
                self.stdout.write(f"Ended {ended} processes that outlived the last run.")
            services = Services(var_dir, database=settings.EMBEDDED_DATABASE, broker=settings.EMBEDDED_BROKER)
            try:
                self._prepare(services)
                self._run(_free_port(settings.HOST, settings.PORT))
            except KeyboardInterrupt:
                self.stdout.write("Stopped before everything had started; the next start goes on from here.")
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient ^C must not leave servers behind
                connection.close()
                services.stop()

    def _prepare(self, services: Services) -> None:
        self.stdout.write("Starting the database and the broker …")
        self.stdout.flush()
        try:
            services.start()
        except ServiceError as error:
            raise CommandError(str(error)) from None
        call_command("prepare", stdout=self.stdout)

    def _run(self, port: int) -> None:
        if port != settings.PORT:
            self.stdout.write(f"Port {settings.PORT} is taken: using {port}.")
        supervisor = Supervisor(_programs(port), leftovers=settings.VAR_DIR / "up.json")

        def stop(number: int, frame: FrameType | None) -> None:
            supervisor.say("stopping …")
            supervisor.stop()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        supervisor.run(_Status(supervisor, port))
        supervisor.say("stopped; everything is kept for the next start")


class _Status:
    """Says the address once the site answers, then what the loop is doing whenever that changes."""

    def __init__(self, supervisor: Supervisor, port: int) -> None:
        self.supervisor = supervisor
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.HOST, settings.HOST)
        self.address = f"http://{host}:{port}"
        self.serving = False
        self.said = ""
        self.next_at = 0.0

    def __call__(self) -> None:
        if not self.serving:
            self.serving = _answers(f"{self.address}/healthz")
            if self.serving:
                public = settings.CONFIG.public_url or self.address
                self.supervisor.say(f"Plumbline is at {public}/  (^C stops everything)")
        elif time.monotonic() >= self.next_at:
            self.next_at = time.monotonic() + STATUS_SECONDS
            self._say_what_changed()

    def _say_what_changed(self) -> None:
        try:
            now = progress.summary()
        except DatabaseError as error:
            now = f"the database does not answer: {error}".strip()
            connection.close()
        if now != self.said:
            self.said = now
            self.supervisor.say(now)


def _programs(port: int) -> list[Program]:
    """The web server, the two workers and the clock. Stable worker names: a restarted one knows what it left."""
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-q", "-A", "annotate"]
    worker = [*celery, "worker", "-P", "solo", "-l", "WARNING", "--without-gossip", "--without-mingle"]
    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
    web = [*python, "gunicorn", "annotate.wsgi", "-b", f"{host}:{port}", "--log-level", "warning"]
    web += ["-k", "gthread", "-w", "2", "--threads", "4", "--graceful-timeout", "5"]
    web += ["--no-control-socket"]  # one in the home folder, which two instances would share
    here = {"PORT": str(port)}
    # Celery's warning to root is about pickles; ours are JSON, and who runs this as root has decided so.
    working = here | {"PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges"}
    working["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # a log has no use for bars
    return [
        Program("web", web, here),
        Program("quick", [*worker, "-Q", "quick", "-n", "quick@%h"], working),
        Program("model", [*worker, "-Q", "model", "-n", "model@%h"], working),
        Program("beat", [*celery, "beat", "-l", "WARNING", "--pidfile="], here),
    ]


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Hold the lock of this VAR_DIR. The kernel lets go of it when we die, however that happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise CommandError(
                f"Plumbline already runs in {path.parent} (process {file.read().strip()}). "
                "Stop that one first, or set VAR_DIR to start a second one beside it."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _free_port(host: str, first: int) -> int:
    """The first port from `first` on that nobody listens on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, min(first + 100, 65536)):
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does: TIME_WAIT is free
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise CommandError(
        f"PORT: {first} and the next ports are all taken, or HOST={host} is not ours. Set another."
    )


def _answers(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy knows this address
    try:
        with direct.open(url, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True  # it answers, if only to say that the broker does not
    except OSError:
        return False


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
