"""`make run`, as a process of its own: from nothing, beside itself, through kill -9, and to a clean end."""

from __future__ import annotations

import http.cookiejar
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
from django.conf import settings

from annotate.env import EXPECTED
from annotate.services import places
from tests.tiny import tiny_model_dir

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass
class Run:
    """One `manage.py up` and what it printed."""

    process: subprocess.Popen[bytes]
    output: Path

    def wait_for(self, pattern: str, seconds: float = 240) -> re.Match[str]:
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text())):
            assert self.process.poll() is None, f"it ended:\n{self.text()}"
            assert time.monotonic() < deadline, f"no {pattern!r} in:\n{self.text()}"
            time.sleep(0.2)
        return found

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def address(self) -> str:
        return self.wait_for(r"Plumbline is at (http://\S+?)/ ")[1]


class Place:
    """A VAR_DIR and a model to run in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.var_dir = folder / "var"
        self.model = tiny_model_dir(folder / "tiny")
        self.runs: list[Run] = []

    def up(self, port: int) -> Run:
        clean = {name: value for name, value in os.environ.items() if name not in EXPECTED}
        chosen = {"VAR_DIR": str(self.var_dir), "MODEL": str(self.model), "PRM_BASE": str(self.model)}
        chosen |= {"PORT": str(port), "DJANGO_SETTINGS_MODULE": "annotate.settings"}
        output = self.folder / f"output{len(self.runs)}"
        with open(output, "wb") as file:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=settings.BASE_DIR,
                env=clean | chosen,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.runs.append(Run(process, output))
        return self.runs[-1]

    def processes(self) -> list[psutil.Process]:
        """All that runs here: the run, its programs (known by their environment) and its servers."""
        found = []
        for process in psutil.process_iter(["cmdline", "cwd"]):
            try:
                here = process.environ().get("VAR_DIR") == str(self.var_dir)
            except (psutil.AccessDenied, psutil.NoSuchProcess):
                here = False
            told = f"{process.info['cwd']} {' '.join(process.info['cmdline'] or [])}"
            if here or str(self.var_dir) in told:
                found.append(process)
        return found

    def kill_everything(self) -> None:
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for run in self.runs:
            run.process.wait()
        assert self.is_empty()

    def is_empty(self, seconds: float = 20) -> bool:
        """Nothing runs here any more, or will in a moment: the kernel takes its time to bury the killed."""
        return not psutil.wait_procs(self.processes(), timeout=seconds)[1]

    def count(self, table: str) -> int:
        address = {"host": str(places.socket_dir(self.var_dir)), "user": places.DATABASE_USER}
        with psycopg.connect(dbname=places.DATABASE, **address) as database:
            row = database.execute(f"select count(*) from annotate_{table}").fetchone()
            assert row
            return int(row[0])


@pytest.fixture
def place() -> Iterator[Place]:
    here = Place(Path(tempfile.mkdtemp(prefix="plumbline-run-", dir="/tmp")))
    yield here
    here.kill_everything()
    shutil.rmtree(here.folder, ignore_errors=True)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def log_in(address: str, name: str, password: str) -> str:
    """The page a person sees after logging in, as a browser would get there."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
    )
    form = browser.open(f"{address}/login/").read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert token
    fields = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
    answer = browser.open(f"{address}/login/", urllib.parse.urlencode(fields).encode())
    assert not answer.geturl().endswith("/login/"), "still at the login page"
    return str(answer.read().decode())


def test_everything_starts_from_nothing_and_survives_being_killed(place: Place, taken_port: int) -> None:
    first = place.up(taken_port)
    address = first.address()
    assert f"Port {taken_port} is taken: using " in first.text()
    password = first.wait_for(r"manager +(\S+)")[1]
    assert "manager" in log_in(address, "manager", password)
    first.wait_for(r"plumbline \|.* to generate")

    beside = place.up(taken_port)
    assert beside.process.wait(timeout=120) == 1
    assert "Plumbline already runs in" in beside.text()

    worker = next(p for p in place.processes() if "model@%h" in p.cmdline())
    worker.kill()
    first.wait_for("model was ended by SIGKILL; starting it again")

    problems, people = place.count("problem"), place.count("person")
    assert (problems, people) == (200, 2)
    place.kill_everything()

    second = place.up(taken_port)
    assert "manager" in log_in(second.address(), "manager", password)
    assert "passwords are shown" not in second.text()
    assert (place.count("problem"), place.count("person")) == (problems, people)

    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(timeout=60) == 0
    assert "everything is kept for the next start" in second.text()
    assert place.is_empty()


def test_a_run_killed_alone_leaves_nothing_in_the_way(place: Place, taken_port: int) -> None:
    first = place.up(taken_port)
    first.address()
    orphans = [p for p in place.processes() if p.pid != first.process.pid]
    first.process.kill()
    first.process.wait()
    assert any(p.is_running() for p in orphans)

    second = place.up(taken_port)
    second.address()
    assert "processes that outlived the last run" in second.text()
    names = [" ".join(p.cmdline()) for p in place.processes()]
    assert sum("model@" in name for name in names) == 1
    second.process.send_signal(signal.SIGTERM)
    assert second.process.wait(timeout=60) == 0
    assert place.is_empty()
