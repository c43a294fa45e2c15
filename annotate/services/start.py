"""Ensure that the servers the settings point at are there: starts the embedded ones, and only those."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from annotate.services import places
from annotate.services.folders import database_user, private_folder
from annotate.services.postgres import Postgres
from annotate.services.valkey import Valkey


class Services:
    """The embedded servers of one VAR_DIR; those that are configured elsewhere are left out."""

    def __init__(
        self, var_dir: Path, *, database: bool = True, broker: bool = True, durable: bool = True
    ) -> None:
        self.var_dir = var_dir
        self.postgres = Postgres(var_dir, durable=durable) if database else None
        self.valkey = Valkey(var_dir) if broker else None

    def start(self) -> None:
        """Start what does not run yet. Two callers at once start each server once."""
        if self.postgres is None and self.valkey is None:
            return
        with _one_at_a_time(self.var_dir):
            private_folder(places.socket_dir(self.var_dir), database_user(self.var_dir / "postgres"))
            if self.postgres is not None:
                self.postgres.start()
            if self.valkey is not None:
                self.valkey.start()

    def stop(self) -> None:
        """Stop them, the broker first: whoever still hears it has the database to write to."""
        with _one_at_a_time(self.var_dir):
            if self.valkey is not None:
                self.valkey.stop()
            if self.postgres is not None:
                self.postgres.stop()


@contextmanager
def _one_at_a_time(var_dir: Path) -> Iterator[None]:
    var_dir.mkdir(parents=True, exist_ok=True)
    with open(var_dir / "services.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
