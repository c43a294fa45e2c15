"""The examples in the documentation run, and the engine stands without the web application's libraries."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import prm_backend
from tests.tiny import tiny_model_dir

DOCS = Path(__file__).parents[2] / "docs"
MODULES = [
    module.name
    for module in pkgutil.walk_packages(prm_backend.__path__, "prm_backend.")
    if ">>> " in Path(module.module_finder.find_spec(module.name, None).origin or "").read_text()  # type: ignore[union-attr, call-arg]
]


def test_the_engines_guide_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_model_dir(tmp_path / "base")
    rows = [
        {
            "id": str(i),
            "problem": f"What is {i} + 1?",
            "steps": ["We add.", f"{i + 1}"],
            "first_error": i % 3 - 1,
        }
        for i in range(40)
    ]
    (tmp_path / "labels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(DOCS / "engine.md"), module_relative=False)
    assert (failed, tried > 20) == (0, True)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert (failed, tried > 0) == (0, True)


def test_there_are_examples_in_docstrings() -> None:
    assert {"prm_backend.search.best_of_n", "prm_backend.search.voting"} <= set(MODULES)


WITHOUT_DJANGO = """
import importlib, pkgutil, sys

for name in ("django", "celery", "rest_framework", "annotate"):
    sys.modules[name] = None  # importing it raises ImportError

import prm_backend

for module in pkgutil.walk_packages(prm_backend.__path__, "prm_backend."):
    importlib.import_module(module.name)
    print(module.name)
"""


def test_every_module_of_the_engine_is_importable_without_django() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DJANGO], capture_output=True, text=True, cwd=DOCS.parent
    )
    assert done.returncode == 0, done.stderr
    assert {"prm_backend.reward.prm", "prm_backend.training.trainer", "prm_backend.search.solve"} <= set(
        done.stdout.split()
    )
