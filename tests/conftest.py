"""Real services for the tests: an embedded PostgreSQL and Valkey, worker processes, a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil
import pytest
from django.conf import settings
from django.db import connection

from annotate.celery import app
from annotate.services.start import Services

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_configure() -> None:
    """Clear up after runs that were killed: their servers still run, and their folders lie about."""
    for folder in Path("/tmp").glob("plumbline-test-*-*"):
        pid = folder.name.split("-")[2]
        with suppress(FileNotFoundError):  # another run clears up, too
            if pid.isdigit() and folder.stat().st_uid == os.getuid() and not psutil.pid_exists(int(pid)):
                Services(folder).stop()
                shutil.rmtree(folder, ignore_errors=True)


def pytest_unconfigure() -> None:
    if settings.VAR_DIR.name.startswith(
        f"plumbline-test-{os.getpid()}-"
    ):  # made by tests/settings.py, nobody's data
        shutil.rmtree(settings.VAR_DIR, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> Iterator[None]:
    """pytest-django asks for this before it makes the test database: have a server there by then."""
    services = Services(settings.VAR_DIR, database=settings.EMBEDDED_DATABASE, broker=False, durable=False)
    services.start()
    yield
    services.stop()


@pytest.fixture(scope="session")
def _broker_server() -> Iterator[None]:
    services = Services(settings.VAR_DIR, database=False, broker=settings.EMBEDDED_BROKER)
    services.start()
    yield
    services.stop()


@pytest.fixture
def broker(_broker_server: None) -> str:
    """The URL of a real broker whose queues are empty."""
    with app.connection_for_write() as broker_connection:
        for queue in settings.CELERY_TASK_QUEUES:
            bound = queue(broker_connection.default_channel)
            bound.declare()
            bound.purge()
    return str(settings.CELERY_BROKER_URL)


def database_url() -> str:
    """The test database as another process can name it."""
    parts = connection.settings_dict
    secret = f":{quote(parts['PASSWORD'], safe='')}" if parts.get("PASSWORD") else ""
    port = f":{parts['PORT']}" if parts.get("PORT") else ""
    host = quote(str(parts.get("HOST") or "localhost"), safe="")
    return f"postgres://{quote(parts['USER'], safe='')}{secret}@{host}{port}/{parts['NAME']}"


@pytest.fixture
def start_worker(transactional_db: None, broker: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`start_worker("model", MODEL="…")` starts a real worker on the test database and waits until it listens.

    Keywords become environment variables. All are ended when the test is; kill one earlier by its `.pid`.
    """
    workers: list[subprocess.Popen[bytes]] = []

    def start(queues: str = "quick,model", **environment: str) -> subprocess.Popen[bytes]:
        name = f"test{len(workers)}-{os.getpid()}@localhost"
        command = [sys.executable, "-m", "celery", "-A", "annotate", "worker", "-P", "solo", "-Q", queues]
        command += ["-n", name, "-l", "INFO", "--without-gossip", "--without-mingle"]
        log = settings.VAR_DIR / f"{name}.log"
        with open(log, "wb") as output:
            worker = subprocess.Popen(
                command,
                cwd=settings.BASE_DIR,
                stdout=output,
                stderr=output,
                env=os.environ
                | {"DJANGO_SETTINGS_MODULE": "annotate.settings", "DATABASE_URL": database_url()}
                | environment,
            )
        workers.append(worker)
        deadline = time.monotonic() + 240  # on a machine busy with other tests, too
        while " ready." not in log.read_text(errors="replace"):
            if worker.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the worker did not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.1)
        return worker

    yield start
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in workers:
        try:
            worker.wait(timeout=10)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, driven by Playwright."""
    if not CHROMIUM.exists():
        missing = f"browser tests need {CHROMIUM} (Debian: apt-get install chromium)"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    # Playwright's sync API runs an event loop in this thread, and Django then refuses the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh browser profile with one page; a script error on it fails the test."""
    context = browser.new_context()
    fresh = context.new_page()
    errors: list[str] = []
    fresh.on("pageerror", lambda error: errors.append(str(error)))
    yield fresh
    context.close()
    assert not errors, f"errors in the page: {errors}"
