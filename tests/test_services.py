"""The embedded servers start from nothing, survive kill -9 and are attached to where they still run."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from kombu import Connection
from kombu.exceptions import OperationalError

from annotate.services import places, postgres, secret
from annotate.services.folders import ServiceError, private_folder
from annotate.services.start import Services


@pytest.mark.django_db
def test_rows_live_in_a_real_postgresql() -> None:
    get_user_model().objects.create_user(username="ada")
    with connection.cursor() as cursor:
        cursor.execute("select version()")
        assert cursor.fetchone()[0].startswith("PostgreSQL")
    assert get_user_model().objects.count() == 1


@pytest.fixture
def var_dir() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="plumbline-services-", dir="/tmp"))
    yield path
    Services(path).stop()
    shutil.rmtree(places.socket_dir(path), ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


def connect(var_dir: Path) -> psycopg.Connection:
    address = {"host": str(places.socket_dir(var_dir)), "user": places.DATABASE_USER}
    return psycopg.connect(dbname=places.DATABASE, autocommit=True, **address)


def messages(var_dir: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(places.valkey_socket(var_dir)))


def server_pids(var_dir: Path) -> set[int]:
    """Every process of ours that works in this folder, PostgreSQL's own helpers included."""
    return {
        process.pid
        for process in psutil.process_iter(["cmdline", "cwd"])
        if str(var_dir) in (process.info["cwd"] or "")
        or str(var_dir) in " ".join(process.info["cmdline"] or [])
    }


def test_killed_servers_start_again_and_have_lost_nothing(var_dir: Path) -> None:
    Services(var_dir).start()
    with connect(var_dir) as database:
        database.execute("create table kept (word text)")
        database.execute("insert into kept values ('plumb')")
    messages(var_dir).rpush("queue", "line")
    messages(var_dir).execute_command("WAITAOF", 1, 0, 5000)  # at most a second passes until it is on disk

    for pid in server_pids(var_dir):
        with suppress(ProcessLookupError):  # PostgreSQL's helpers follow their server by themselves
            os.kill(pid, signal.SIGKILL)
    # The pid of the dead server may since belong to any other program: here, to this test.
    pid_file = var_dir / "postgres" / "postmaster.pid"
    pid_file.write_text("\n".join([str(os.getpid()), *pid_file.read_text().splitlines()[1:]]) + "\n")

    Services(var_dir).start()
    with connect(var_dir) as database:
        assert database.execute("select word from kept").fetchall() == [("plumb",)]
        assert database.execute("show fsync").fetchone() == ("on",)
    assert messages(var_dir).lrange("queue", 0, -1) == [b"line"]


def test_a_second_start_attaches_and_may_stop_what_another_process_started(var_dir: Path) -> None:
    Services(var_dir).start()
    before = (var_dir / "postgres" / "postmaster.pid").read_text().split()[0]
    second = Services(var_dir)
    second.start()
    assert (var_dir / "postgres" / "postmaster.pid").read_text().split()[0] == before
    second.stop()
    assert not server_pids(var_dir)


def test_a_server_that_hangs_is_stopped_all_the_same(var_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    impatient = [(number, 0.5 if number != signal.SIGKILL else 10.0) for number, _ in postgres._WAYS_TO_STOP]
    monkeypatch.setattr(postgres, "_WAYS_TO_STOP", impatient)
    services = Services(var_dir, broker=False)
    services.start()
    os.kill(int((var_dir / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGSTOP)
    services.stop()
    Services(var_dir, broker=False).start()
    with connect(var_dir) as database:
        assert database.execute("select 1").fetchone() == (1,)


def test_starting_twice_at_once_starts_each_server_once(var_dir: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: Services(var_dir).start(), range(3)))
    postmasters = [
        pid for pid in server_pids(var_dir) if "postgres" in psutil.Process(pid).name()
        and "-D" in psutil.Process(pid).cmdline()
    ]  # fmt: skip
    assert len(postmasters) == 1


def test_a_checkout_in_deep_folders_has_short_sockets(var_dir: Path) -> None:
    deep = var_dir / ("folder" * 8) / ("with a, comma" * 5) / "var"
    deep.mkdir(parents=True)
    sockets = places.socket_dir(deep)
    assert len(str(sockets)) < 45
    Services(deep).start()
    try:
        with connect(deep) as database:
            assert database.execute("select 1").fetchone() == (1,)
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    finally:
        Services(deep).stop()
        shutil.rmtree(sockets)


def start_and_stop_as(uid: int, var_dir: Path) -> None:
    """Become somebody else for good (in a forked child: the interpreter may lie where only root can read it)."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    try:
        services = Services(var_dir)
        services.start()
        services.stop()
    except BaseException:
        (var_dir / "error").write_text(traceback.format_exc())
        raise


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else; the other tests ran as you")
def test_an_ordinary_user_needs_nothing_more(var_dir: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(var_dir, nobody, nobody)
    child = multiprocessing.get_context("fork").Process(target=start_and_stop_as, args=(nobody, var_dir))
    child.start()
    child.join()
    error = var_dir / "error"
    assert child.exitcode == 0, error.read_text() if error.exists() else "it was killed"
    assert (var_dir / "postgres" / "PG_VERSION").stat().st_uid == nobody


def test_a_server_that_cannot_start_says_why(var_dir: Path) -> None:
    services = Services(var_dir, broker=False)
    services.start()
    services.stop()
    with open(var_dir / "postgres" / "postgresql.conf", "a") as file:
        file.write("\nplumb = bob\n")
    with pytest.raises(ServiceError, match="plumb"):
        Services(var_dir, broker=False).start()


def test_a_folder_that_somebody_else_made_first_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ServiceError, match="belongs to somebody else"):
        private_folder(tmp_path / "run", None)


def test_the_secret_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: secret.read_or_create(path), range(32)))
    assert len(found) == 1
    assert len(found.pop()) > 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["secret_key"]


MACHINES_DATABASE = "postgres://postgres@127.0.0.1:5432/test"


@pytest.mark.slow
@pytest.mark.parametrize("broker_url", ["redis://127.0.0.1:6379/9", "amqp://guest:guest@127.0.0.1:5672//"])
def test_servers_configured_by_url_are_used_instead(broker_url: str) -> None:
    try:
        psycopg.connect(MACHINES_DATABASE, connect_timeout=2).close()
        Connection(broker_url, connect_timeout=2).ensure_connection(max_retries=1, timeout=2).close()
    except (psycopg.OperationalError, OperationalError) as reason:
        pytest.skip(f"this machine has no such servers: {reason}")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_celery.py"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": MACHINES_DATABASE, "BROKER_URL": broker_url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
