"""Which models a process holds: loaded once, replaced when another is asked for, and no torch before that."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from prm_backend import runtime
from prm_backend.config import PRMConfig
from prm_backend.types import LabelledSolution
from tests.tiny import tiny_model_dir

LABELLED = [LabelledSolution(f"p{i}", ("a", "b"), (1, -1 if i % 2 else 1)) for i in range(4)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model_dir(tmp_path_factory.mktemp("runtime") / "base")


def train(base: Path, directory: Path, seed: int = 0) -> Path:
    config = PRMConfig(trained_layers=1, epochs=1, max_length=128, seed=seed)
    runtime.train(str(base), LABELLED, [], config=config, checkpoint_dir=directory, snapshot_hash="s")
    return directory


@pytest.mark.parametrize(
    "module",
    [
        "prm_backend.runtime",
        "prm_backend.reward.aggregation",
        "prm_backend.selection.choose",
        "prm_backend.evaluation.processbench",
        "prm_backend.evaluation.promotion",
        "prm_backend.evaluation.steps",
    ],
)
def test_importing_what_a_web_process_uses_loads_no_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_prm_is_loaded_once_and_another_replaces_it(base: Path, tmp_path: Path) -> None:
    one, two = train(base, tmp_path / "v1"), train(base, tmp_path / "v2", seed=1)
    first = runtime.prm(one)
    assert runtime.prm(str(one)) is first
    assert runtime.prm(two) is not first
    assert runtime.prm(two).name == "v2"
    assert runtime.prm(one) is not first  # the former was let go, for memory


def test_a_checkpoint_written_anew_is_loaded_anew(base: Path, tmp_path: Path) -> None:
    before = runtime.prm(train(base, tmp_path / "v1"))
    assert runtime.prm(train(base, tmp_path / "v1", seed=1)) is not before


def test_a_generator_is_loaded_once_and_another_replaces_it(base: Path) -> None:
    first = runtime.generator(str(base))
    assert runtime.generator(str(base)) is first
    served = runtime.generator("openai:http://127.0.0.1:9/v1#model")
    assert served is not first
    assert runtime.generator(str(base)) is not first


def test_the_grader_pool_is_one_and_grades() -> None:
    assert runtime.graders() is runtime.graders()
    (verdict,) = runtime.graders().grade_many([("1/2", "0.5")])
    assert verdict.outcome == "correct"


FAULTS = """
import resource, torch
from prm_backend import runtime

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.ones(2**24)  # 64 MiB, let go at once
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

as_it_comes = faults()
runtime.prepare_torch()
faults()
print(as_it_comes, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_the_memory_of_a_large_tensor_serves_the_next_one() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    as_it_comes, kept = map(int, done.stdout.split())
    assert kept < as_it_comes / 10
