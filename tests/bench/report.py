"""How every bench ends: one JSON object on the last line, missed aims included."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """What was hoped for: `measured` should be at most (or, with `at_least`, at least) `aim`.

    None as `measured` says that it could not be measured, which counts as missed.
    """

    what: str
    aim: float
    measured: float | None
    at_least: bool = False

    @property
    def met(self) -> bool:
        if self.measured is None:
            return False
        return self.measured >= self.aim if self.at_least else self.measured <= self.aim


def report(name: str, metrics: Mapping[str, object], aims: Sequence[Aim]) -> None:
    """Print `{"name", "metrics", "aims": [{"what", "aim", "measured", "met"}]}` and nothing after it."""
    told = [{"what": a.what, "aim": a.aim, "measured": a.measured, "met": a.met} for a in aims]
    print(json.dumps({"name": name, "metrics": dict(metrics), "aims": told}), flush=True)
