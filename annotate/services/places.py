"""Where the embedded servers live and listen: pure functions of VAR_DIR, so settings can name them unstarted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

DATABASE = "plumbline"
DATABASE_USER = "plumbline"

# sockaddr_un holds 108 bytes on Linux and 104 on macOS, the closing zero included.
_LONGEST_SOCKET_PATH = 103
_POSTGRES_SOCKET = ".s.PGSQL.5432"  # the longest name that goes into the folder, lock file included


def socket_dir(var_dir: Path) -> Path:
    """The folder of the sockets: `run/` under VAR_DIR, or a short one under /tmp where that would be too long."""
    inside = var_dir / "run"
    if len(os.fsencode(inside / f"{_POSTGRES_SOCKET}.lock")) <= _LONGEST_SOCKET_PATH:
        return inside
    digest = hashlib.sha256(os.fsencode(var_dir.resolve())).hexdigest()[:12]
    return Path("/tmp") / f"plumbline-{os.getuid()}-{digest}"


def valkey_socket(var_dir: Path) -> Path:
    return socket_dir(var_dir) / "valkey.sock"
