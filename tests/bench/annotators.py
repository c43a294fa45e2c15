"""Annotators for benches: each a connection that is kept, plain HTTP, and as little work of their own as can be.

They share the cores with the server they measure, so a request is bytes to a socket and an answer is searched for its
item, no more.
"""

from __future__ import annotations

import re
import socket
import time
from collections import Counter, defaultdict
from urllib.parse import urlencode

_ITEM = re.compile(rb'data-item="(\d+)"')


class Annotator:
    """One session; `spent[action]` are the milliseconds its requests took, `taken` the items it submitted."""

    def __init__(self, port: int, session: str, csrf: str) -> None:
        self.port = port
        self.headers = (
            f"Host: 127.0.0.1:{port}\r\nCookie: sessionid={session}; csrftoken={csrf}\r\n"
            f"X-CSRFToken: {csrf}\r\nHX-Request: true\r\n"
        )
        self.connection: socket.socket | None = None
        self.spent: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[int] = Counter()
        self.taken: list[str] = []

    def ask(self, action: str, path: str, **data: object) -> bytes:
        """The body that is answered with, if any; RuntimeError for a refusal."""
        body = urlencode(data)
        form = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        method = "POST" if data else "GET"
        request = f"{method} {path} HTTP/1.1\r\n{self.headers}{form if data else ''}\r\n{body}".encode()
        begin = time.perf_counter()
        status, head, answer = self._exchange(request)
        self.spent[action].append((time.perf_counter() - begin) * 1000)
        self.statuses[status] += 1
        if status not in (200, 204):
            raise RuntimeError(f"{path} was answered with {head!r} {answer[:500]!r}")
        return answer

    def label(
        self, pairs: int, ratings: int, floor: Annotator | None = None, *, fetches: bool = False
    ) -> None:
        """Rate so many steps of each item, the last of them -1, and submit; without ratings, give it up.

        With `fetches`, the next item is fetched ahead when the first rating is given, or at once where none is, and the
        submit says that it is shown, as a browser does. Between two items `floor` is asked once, so that both are
        measured in the same seconds.
        """
        item = item_of(self.ask("open", "/label/"))
        ending = {} if ratings else {"finish_reason": "give_up", "comment": "a bench"}
        for pair in range(pairs):
            following = ""
            for index in range(ratings):
                rating = -1 if index == ratings - 1 else 1
                self.ask("rate", f"/label/{item}/rate/", rating=f"{index}:{rating}", active_ms=pair)
                if fetches and index == 0:
                    following = self.fetch_ahead(item)
            if fetches and not ratings:
                following = self.fetch_ahead(item)
            self.taken.append(item)
            if following:
                self.ask("submit+shown", f"/label/{item}/submit/", active_ms=pair, shown=following, **ending)
                item = following
            else:
                item = item_of(self.ask("submit+next", f"/label/{item}/submit/", active_ms=pair, **ending))
            if floor is not None:
                floor.touch(1)
                self.spent["floor"] = floor.spent["touch"]

    def fetch_ahead(self, item: str) -> str:
        """What comes after the item; "" where nothing does."""
        answer = self.ask("ahead", f"/label/{item}/ahead/", active_ms=0)
        return item_of(answer) if answer else ""

    def touch(self, times: int) -> None:
        """Ask the floor, so many times; each client has a row of its own there."""
        for time_ in range(times):
            self.ask("touch", f"/touch/{id(self)}/", time=time_)

    def _exchange(self, request: bytes) -> tuple[int, bytes, bytes]:
        for fresh in (False, True):
            if fresh or self.connection is None:
                self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=120)
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self.connection.sendall(request)
                got = self.connection.recv(65536)
            except (BrokenPipeError, ConnectionResetError):
                got = b""
            if got:  # else the server closed what was idle
                return self._rest(got)
        raise RuntimeError("The server hangs up.")

    def _rest(self, got: bytes) -> tuple[int, bytes, bytes]:
        assert self.connection is not None
        while b"\r\n\r\n" not in got:
            got += self.connection.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        while len(body) < length:
            body += self.connection.recv(65536)
        return int(head[9:12]), head, body


def item_of(page: bytes) -> str:
    """The item an answer shows; RuntimeError where it shows none."""
    found = _ITEM.search(page)
    if found is None:
        raise RuntimeError(f"the answer shows no item: {page[:500]!r}")
    return found[1].decode()
