"""Annotators at work against gunicorn: how long open, rate and submit+next take, and what a pair costs the server.

Each annotator is a thread with a connection of its own that speaks plain HTTP: opens the page, rates step after step
until the first error, submits and gets the next in the same answer. A pair, as peers count it, is one "next" and
one "submit", which here are one request; `N_annotators` rate three steps of each solution, too, three requests more.
What is called `ahead` does as a browser does: the next is fetched while the one before is rated, and the submit says
that it is shown, so that nobody waits for "submit+shown"; the CPU time of such a pair is that of both requests.
Submit+next is measured with a short queue, and again behind a million items made by SQL, each time beside the floor
(tests.bench.floor). `ARGS="2000 50000 20"` takes fewer items, fewer behind them, and fewer pairs.
"""

from __future__ import annotations

import http.client
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.annotators import Annotator
from tests.bench.copies import STEPS, fill, lengthen
from tests.bench.product import REPOSITORY, product
from tests.bench.report import Aim, report

FEW, ITEMS, MANY = 1_000, 10_000, 1_000_000
PAIRS = 100  # that one annotator labels
TOGETHER = {1: 1, 8: 4, 50: 5}  # how many times as many are labelled by that many together


def _annotators(n: int, port: int) -> list[Annotator]:
    from django.middleware.csrf import _get_new_csrf_string
    from django.test import Client

    from tests import factories

    sessions = []
    for person in factories.AnnotatorFactory.create_batch(n):
        client = Client()
        client.force_login(person)
        sessions.append(client.cookies["sessionid"].value)
    return [Annotator(port, session, _get_new_csrf_string()) for session in sessions]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _server(var_dir: Path, port: int, application: str = "annotate.wsgi") -> Iterator[int]:
    """gunicorn as the image runs it; yields its process id once it answers."""
    command = [sys.executable, "-m", "gunicorn", application, "-b", f"127.0.0.1:{port}"]
    command += ["-k", "gthread", "-w", "2", "--threads", "4", "--log-level", "warning"]
    with open(var_dir / "gunicorn.log", "ab") as log:
        server = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log)
    try:
        for _ in range(300):
            try:
                probe = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                probe.request("GET", "/login/")
                probe.getresponse().read()
                break
            except OSError:
                time.sleep(0.2)
        yield server.pid
    finally:
        server.terminate()
        server.wait()


def _cpu_seconds(pid: int) -> float:
    import psutil

    server = psutil.Process(pid)
    times = [process.cpu_times() for process in (server, *server.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def _watch(
    people: list[Annotator], pid: int, var_dir: Path, times: int, act: Callable[[Annotator, int], None]
) -> dict[str, Any]:
    """Let them act `times` times together, and see how long it took and what it cost the server."""
    each = max(1, times // len(people))
    database = int((var_dir / "postgres/postmaster.pid").read_text().split()[0])

    def now() -> list[float]:
        return [_cpu_seconds(pid), _cpu_seconds(database), time.process_time(), time.perf_counter()]

    before = now()
    with ThreadPoolExecutor(len(people)) as pool:
        list(pool.map(lambda person: act(person, each), people))
    *cpu, wall = (end - start for end, start in zip(now(), before, strict=True))
    done = each * len(people)
    figures: dict[str, Any] = {"pairs_a_second": round(done / wall, 1)}
    for who, seconds in zip(("server", "postgres", "clients"), cpu, strict=True):
        figures[f"{who}_cpu_ms_a_pair"] = round(1000 * seconds / done, 1)
    for action in people[0].spent:
        spent = sorted(ms for person in people for ms in person.spent[action])
        figures[action] = {
            "median_ms": round(statistics.median(spent), 1),
            "p95_ms": round(spent[int(0.95 * (len(spent) - 1))], 1),
        }
    if "floor" in figures:
        ratio = figures["submit+next"]["median_ms"] / figures["floor"]["median_ms"]
        figures["submit_and_next_over_the_floor"] = round(ratio, 1)
    return figures


def _make_floor() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("create table bench_floor as select id, 0 n from generate_series(0, 999) id")
        cursor.execute("alter table bench_floor add primary key (id)")


def main() -> None:
    given = [int(one) for one in sys.argv[1:4]]
    n_items, n_many, n_pairs = given + [ITEMS, MANY, PAIRS][len(given) :]
    port, floor_port = _free_port(), _free_port()
    with product({"PUBLIC_URL": f"http://127.0.0.1:{port}", "DEBUG": "false"}) as var_dir:
        fill(FEW)
        _make_floor()
        metrics: dict[str, Any] = {"items": n_items, "steps": STEPS}
        everybody: list[Annotator] = []

        def floor(n: int) -> dict[str, Any]:
            people = [Annotator(floor_port, "", "") for _ in range(n)]
            return _watch(people, floor_pid, var_dir, 4 * n_pairs, Annotator.touch)

        def together(n: int, pairs: int, *, fetches: bool = False) -> dict[str, Any]:
            """Rating each solution up to an error, too."""
            people = _annotators(n, port)
            everybody.extend(people)
            return _watch(people, pid, var_dir, pairs, lambda one, each: one.label(each, 3, fetches=fetches))

        def ahead_alone() -> dict[str, Any]:
            """Nothing but a fetch of the next and a submit that shows it."""
            (person,) = _annotators(1, port)
            everybody.append(person)
            return _watch([person], pid, var_dir, n_pairs, lambda one, each: one.label(each, 0, fetches=True))

        def pairs_only(n: int) -> dict[str, Any]:
            """Nothing but submit and next, as peers count."""
            people = _annotators(n, port)
            everybody.extend(people)
            return _watch(people, pid, var_dir, n * n_pairs, lambda one, each: one.label(each, 0))

        def alone() -> dict[str, Any]:
            """Nothing but submit and next, one floor request between two."""
            (person,) = _annotators(1, port)
            everybody.append(person)
            beside = Annotator(floor_port, "", "")
            return _watch([person], pid, var_dir, n_pairs, lambda one, each: one.label(each, 0, floor=beside))

        with (
            _server(var_dir, port) as pid,
            _server(var_dir, floor_port, "tests.bench.floor") as floor_pid,
        ):
            floor(8)  # warm: imports, templates, connections, what is made once a process
            together(8, 64)
            metrics["floor_of_8_clients"] = floor(8)
            metrics[f"submit_and_next_of_{FEW}"] = few = alone()
            fill(max(n_items - FEW, 0))
            for n, more in TOGETHER.items():
                metrics[f"{n}_annotators"] = together(n, more * n_pairs)
            metrics["8_annotators_submit_and_next"] = pairs_only(8)
            metrics["submit_and_next_alone"] = usual = alone()
            metrics["8_annotators_ahead"] = together(8, TOGETHER[8] * n_pairs, fetches=True)
            metrics["ahead_alone"] = ahead_alone()
            lengthen(n_many)
            metrics[f"submit_and_next_of_{n_many}"] = many = alone()
    _tell(metrics, everybody, few, usual, many, n_many)


def _tell(
    metrics: dict[str, Any],
    everybody: list[Annotator],
    few: dict[str, Any],
    alone: dict[str, Any],
    many: dict[str, Any],
    n_many: int,
) -> None:
    taken = [item for person in everybody for item in person.taken]
    statuses: Counter[int] = sum((person.statuses for person in everybody), Counter())
    metrics["statuses"] = {str(status): count for status, count in sorted(statuses.items())}
    ahead = metrics["ahead_alone"]
    eight = metrics["8_annotators_submit_and_next"]["pairs_a_second"]
    over = "submit_and_next_over_the_floor"  # in the same seconds, so that other work on the machine counts little
    growth = round(many[over] / few[over], 2)
    aims = [
        Aim("median ms of submit+next, one annotator", 15, alone["submit+next"]["median_ms"]),
        Aim("server CPU ms a submit+next", 20, alone["server_cpu_ms_a_pair"]),
        Aim("median ms of submit with the next shown", 15, ahead["submit+shown"]["median_ms"]),
        Aim("server CPU ms a fetch ahead and its submit", 20, ahead["server_cpu_ms_a_pair"]),
        Aim("pairs a second, eight annotators", 60, eight, at_least=True),
        Aim(f"submit+next over the floor with {n_many} items queued, over that with {FEW}", 1.2, growth),
        Aim("items labelled twice", 0, len(taken) - len(set(taken))),
        Aim("answers of 500 and above", 0, sum(n for status, n in statuses.items() if status >= 500)),
    ]
    report("labelling", metrics, aims)


if __name__ == "__main__":
    main()
