"""Annotators at work against gunicorn: how long open, rate and submit+next take, and what a pair costs the server.

Each annotator is a thread with a connection of its own that speaks plain HTTP: opens the page, rates step after step
until the first error, submits and gets the next in the same answer. A pair, as peers count it, is one "next" and
one "submit", which here are one request. Submit+next is measured with a short queue, and again behind a million items
made by SQL. `ARGS="2000 50000"` takes fewer of both.
"""

from __future__ import annotations

import http.client
import re
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.bench.product import REPOSITORY, product
from tests.bench.report import Aim, report

FEW, ITEMS, MANY, STEPS = 1_000, 10_000, 1_000_000, 10
PAIRS = {1: 100, 8: 400, 50: 500}  # how many pairs that many annotators label together
STEP = r"Step {i}: so $\frac{{x_{i}}}{{2}} = {k}$ and therefore $y^2 + {i} = {k}$."


class Annotator:
    """One session; `spent[action]` are the milliseconds its requests took, `taken` the items it submitted."""

    def __init__(self, port: int, session: str, csrf: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        cookies = f"sessionid={session}; csrftoken={csrf}"
        self.headers = {"Cookie": cookies, "X-CSRFToken": csrf, "HX-Request": "true"}
        self.spent: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[int] = Counter()
        self.taken: list[str] = []

    def ask(self, action: str, path: str, **data: object) -> str:
        form = {"Content-Type": "application/x-www-form-urlencoded"} if data else {}
        begin = time.perf_counter()
        body = urlencode(data) if data else None
        self.connection.request("POST" if data else "GET", path, body, self.headers | form)
        response = self.connection.getresponse()
        text = response.read().decode()
        self.spent[action].append((time.perf_counter() - begin) * 1000)
        self.statuses[response.status] += 1
        if response.status != 200:
            raise RuntimeError(f"{path} was answered with {response.status}: {response.headers} {text[:500]}")
        return text

    def label(self, pairs: int, ratings: int) -> None:
        """Rate so many steps of each item, the last of them -1, and submit; without ratings, give it up."""
        item = _item(self.ask("open", "/label/"))
        ending = {} if ratings else {"finish_reason": "give_up", "comment": "a bench"}
        for pair in range(pairs):
            for index in range(ratings):
                rating = -1 if index == ratings - 1 else 1
                self.ask("rate", f"/label/{item}/rate/", rating=f"{index}:{rating}", active_ms=pair)
            answer = self.ask("submit+next", f"/label/{item}/submit/", active_ms=pair, **ending)
            self.taken.append(item)
            item = _item(answer)


def _item(page: str) -> str:
    found = re.search(r'data-item="(\d+)"', page)
    if found is None:
        raise RuntimeError(f"the answer shows no item: {page[:500]}")
    return found[1]


def _fill(items: int) -> None:
    """As many more distinct solutions of ten steps each in the queue."""
    from annotate import models
    from tests import factories

    done = models.Solution.objects.count()
    first = factories.QueueItemFactory.create(solution__steps=[STEP.format(i=i, k=0) for i in range(STEPS)])
    solutions = models.Solution.objects.bulk_create(
        factories.GradedSolutionFactory.build(
            problem=first.solution.problem, round=first.solution.round, sample_index=1_000_000 + done + k
        )
        for k in range(1, items)
    )
    models.Step.objects.bulk_create(
        (
            models.Step(solution=solution, index=i, text=STEP.format(i=i, k=k))
            for k, solution in enumerate(solutions, 1)
            for i in range(STEPS)
        ),
        batch_size=5_000,
    )
    models.QueueItem.objects.bulk_create(
        factories.QueueItemFactory.build(queue=first.queue, solution=solution, prm=first.prm)
        for solution in solutions
    )


def _grow(items: int) -> None:
    """Make the queue that long with copies of one item, behind all others; only their number matters."""
    from django.db import connection

    from annotate.models import QueueItem, Solution

    item = QueueItem.objects.order_by("pk").first()
    assert item is not None
    missing = items - QueueItem.objects.open().count()

    def columns(model: Any, changed: dict[str, str]) -> tuple[str, str]:
        names = [field.column for field in model._meta.local_concrete_fields]
        names = [name for name in names if name != "id" or "id" in changed]
        return ", ".join(names), ", ".join(changed.get(name, f"old.{name}") for name in names)

    names, values = columns(Solution, {"sample_index": "10000000 + n"})
    item_names, item_values = columns(
        QueueItem,
        {
            "id": "nextval('bench_item')",
            "solution_id": "new.id",
            "priority": "-1e9 - random()",
            "done_at": "null",
            "leased_by_id": "null",
            "lease_token": "null",
            "lease_expires_at": "null",
        },
    )
    with connection.cursor() as cursor:
        cursor.execute("create sequence bench_item start 4000000000000000")
        cursor.execute(
            f"with new as (insert into annotate_solution ({names}) select {values} "
            "from annotate_solution old, generate_series(1, %s) n where old.id = %s returning id) "
            f"insert into annotate_queueitem ({item_names}) select {item_values} "
            "from new, annotate_queueitem old where old.id = %s",
            [missing, item.solution_id, item.pk],
        )
        cursor.execute("vacuum analyze annotate_queueitem, annotate_solution")


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
def _server(var_dir: Path, port: int) -> Iterator[int]:
    """gunicorn as the image runs it; yields its process id once it answers."""
    command = [sys.executable, "-m", "gunicorn", "annotate.wsgi", "-b", f"127.0.0.1:{port}"]
    command += ["-k", "gthread", "-w", "2", "--threads", "4", "--log-level", "warning"]
    with open(var_dir / "gunicorn.log", "wb") as log:
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


def _measure(people: list[Annotator], pairs: int, pid: int, ratings: int = 3) -> dict[str, Any]:
    """Let them label `pairs` items together, and see how long it took and what it cost the server."""
    each = pairs // len(people)
    before, begin = _cpu_seconds(pid), time.perf_counter()
    with ThreadPoolExecutor(len(people)) as pool:
        list(pool.map(lambda person: person.label(each, ratings), people))
    wall, cpu = time.perf_counter() - begin, _cpu_seconds(pid) - before
    done = each * len(people)
    figures: dict[str, Any] = {
        "pairs_a_second": round(done / wall, 1),
        "server_cpu_ms_a_pair": round(1000 * cpu / done, 1),
    }
    for action in ("open", "rate", "submit+next"):
        if spent := sorted(ms for person in people for ms in person.spent[action]):
            figures[action] = {
                "median_ms": round(statistics.median(spent), 1),
                "p95_ms": round(spent[int(0.95 * (len(spent) - 1))], 1),
            }
    return figures


def main() -> None:
    n_items, n_many = map(int, sys.argv[1:3] + [str(ITEMS), str(MANY)][len(sys.argv[1:3]) :])
    port = _free_port()
    with product({"PUBLIC_URL": f"http://127.0.0.1:{port}", "DEBUG": "false"}) as var_dir:
        _fill(FEW)
        metrics: dict[str, Any] = {"items": n_items, "steps": STEPS}
        everybody: list[Annotator] = []
        with _server(var_dir, port) as pid:
            _measure(_annotators(8, port), 16, pid)  # warm: imports, templates, connections
            everybody += (people := _annotators(1, port))
            metrics[f"submit_and_next_of_{FEW}"] = few = _measure(people, PAIRS[1], pid, ratings=0)
            _fill(n_items - FEW)
            for n, pairs in PAIRS.items():
                everybody += (people := _annotators(n, port))
                metrics[f"{n}_annotators"] = _measure(people, pairs, pid)
            everybody += (people := _annotators(1, port))
            metrics["submit_and_next_alone"] = _measure(people, PAIRS[1], pid, ratings=0)
            _grow(n_many)
            everybody += (people := _annotators(1, port))
            metrics[f"submit_and_next_of_{n_many}"] = many = _measure(people, PAIRS[1], pid, ratings=0)
    taken = [item for person in everybody for item in person.taken]
    statuses: Counter[int] = sum((person.statuses for person in everybody), Counter())
    metrics["statuses"] = {str(status): count for status, count in sorted(statuses.items())}
    alone = metrics["submit_and_next_alone"]
    aims = [
        Aim("median ms of submit+next, one annotator", 15, alone["submit+next"]["median_ms"]),
        Aim("server CPU ms a submit+next", 20, alone["server_cpu_ms_a_pair"]),
        Aim(
            "solutions a second, eight annotators",
            60,
            metrics["8_annotators"]["pairs_a_second"],
            at_least=True,
        ),
        Aim(
            f"median of submit+next with {n_many} items queued over that with {FEW}",
            1.2,
            round(many["submit+next"]["median_ms"] / few["submit+next"]["median_ms"], 2),
        ),
        Aim("items labelled twice", 0, len(taken) - len(set(taken))),
        Aim("answers of 500 and above", 0, sum(n for status, n in statuses.items() if status >= 500)),
    ]
    report("labelling", metrics, aims)


if __name__ == "__main__":
    main()
