"""The folders and the operating-system user of the embedded servers. Knows nothing of either protocol."""

from __future__ import annotations

import logging
import os
import pwd
import stat
from pathlib import Path

logger = logging.getLogger(__name__)


class ServiceError(Exception):
    """An embedded server can't be started; the message says why and how to mend it."""


def database_user(data: Path) -> pwd.struct_passwd | None:
    """Whom PostgreSQL runs as: None for ourselves. It refuses to run as root, so root lends it another user.

    Whoever owns the data already stays its owner; else `postgres` where the machine has one, else `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return pwd.getpwuid(data.stat().st_uid)
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServiceError(
        "PostgreSQL can't run as root and there is no user `postgres` or `nobody` to run it as."
    )


def private_folder(path: Path, owner: pwd.struct_passwd | None) -> None:
    """Make `path`, readable by its owner alone; refuse one that somebody else made first (it may be in /tmp)."""
    uid, gid = (owner.pw_uid, owner.pw_gid) if owner else (os.geteuid(), os.getegid())
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (uid, os.geteuid()):
            raise ServiceError(
                f"{path} belongs to somebody else (user id {found.st_uid}). Remove it, set VAR_DIR to a folder "
                "of your own, or start as that user."
            ) from None
    path.chmod(0o700)
    if owner is not None:
        os.chown(path, uid, gid)
        _let_pass(path)


def _let_pass(path: Path) -> None:
    """Let other users pass through (not list) the folders above `path`: a lent user has to reach its data."""
    for folder in path.resolve().parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH and folder.stat().st_uid == os.geteuid():
            logger.warning(
                "%s: letting other users pass through, the database's user must reach its data", folder
            )
            folder.chmod(mode | stat.S_IXOTH)


def let_run(programs: Path) -> None:
    """As root: let the lent user reach and run the programs in the virtual environment."""
    if os.geteuid() == 0:
        _let_pass(programs)


def log_file(path: Path) -> Path:
    """A log to append to; one that has grown past 10 MB is put aside first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > 10_000_000:
        path.replace(path.with_suffix(".log.old"))
    return path


def last_lines(path: Path, count: int = 12) -> str:
    """The end of a log, for an error message."""
    if not path.exists():
        return "(it logged nothing)"
    return "\n".join(path.read_text(errors="replace").splitlines()[-count:])
