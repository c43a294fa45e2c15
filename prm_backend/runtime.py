"""Which models are in this process's memory; the one lazy import of torch. Knows no rows and decides nothing.

Importing this module is free of torch: a web process may import the tasks that name it. Each worker process warms its
models once. A PRM other than the one held replaces it, so a promotion is taken up without a restart.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from prm_backend.config import PRMConfig
from prm_backend.generators import open_generator
from prm_backend.grading import DEFAULT_POLICY, GraderPool, GradingPolicy
from prm_backend.types import Generator, LabelledSolution, ProgressCallback, Report, silent

if TYPE_CHECKING:
    import torch

    from prm_backend.grading.judge import Judge
    from prm_backend.reward.prm import PRM

# peft asks transformers by a name that is on its way out; nobody who runs us can mend that.
warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT_BYTES = 2**30

_lock = threading.RLock()
_generators: dict[str, Generator] = {}
_prms: dict[tuple[Path, int], PRM] = {}


def generator(spec: str) -> Generator:
    """The generator a MODEL setting names (see `open_generator`), loaded once; another spec drops the former."""
    with _lock:
        if spec not in _generators:
            prepare_torch()
            _generators.clear()  # before the load: two models may not fit
            _generators[spec] = open_generator(spec)
        return _generators[spec]


def prm(checkpoint_dir: str | Path, *, base: str | None = None) -> PRM:
    """The PRM of a checkpoint, loaded once; another checkpoint drops the former, as does one written anew.

    `base` says where the base model lies, should it not lie where it was trained. Raises CheckpointRefused.
    """
    from prm_backend.reward.checkpoint import META
    from prm_backend.reward.prm import PRM

    directory = Path(checkpoint_dir).resolve()
    meta = directory / META
    key = directory, meta.stat().st_mtime_ns if meta.is_file() else 0
    with _lock:
        if key not in _prms:
            prepare_torch()
            _prms.clear()
            _prms[key] = PRM.load(directory, base=base, device=device(), dtype=dtype())
        return _prms[key]


@cache
def graders(policy: GradingPolicy = DEFAULT_POLICY) -> GraderPool:
    """The pool of grader processes; as many as this process has cores."""
    return GraderPool(size=cores(), policy=policy)


@cache
def judge(spec: str) -> Judge:
    """The judge model that a JUDGE setting names."""
    from prm_backend.grading.judge import Judge

    return Judge(spec)


def train(
    base: str,
    train: Sequence[LabelledSolution],
    held_out: Sequence[LabelledSolution],
    *,
    config: PRMConfig,
    checkpoint_dir: Path,
    snapshot_hash: str,
    outcome_only: bool = False,
    progress: ProgressCallback = silent,
    states_dir: Path | None = None,
    resume_dir: Path | None = None,
) -> Report:
    """`training.trainer.train_prm` on this process's device."""
    from prm_backend.training.trainer import train_prm

    prepare_torch()
    return train_prm(
        base,
        train,
        held_out,
        config=config,
        checkpoint_dir=checkpoint_dir,
        snapshot_hash=snapshot_hash,
        outcome_only=outcome_only,
        progress=progress,
        states_dir=states_dir,
        device=device(),
        dtype=dtype(),
        resume_dir=resume_dir,
    )


def export(checkpoint: Path, directory: Path, *, base: str | None, labels: int, license: str) -> Path:
    """`reward.export.export`: the checkpoint as a Hugging Face directory."""
    from prm_backend.reward.export import export

    prepare_torch()
    return export(checkpoint, directory, base=base, labels=labels, license=license)


def device() -> torch.device:
    """Where models run: the first GPU, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def dtype() -> torch.dtype:
    """What frozen weights are kept in: bfloat16 on a GPU; on a CPU float32, since many have no other fast product."""
    import torch

    return torch.float32 if device().type == "cpu" else torch.bfloat16


def cores() -> int:
    """The cores this process may use; torch asks the machine, which in a container is too many."""
    return len(os.sched_getaffinity(0))


@cache
def prepare_torch() -> None:
    """Import torch and let it use this process's cores, unless OMP_NUM_THREADS says otherwise."""
    import torch

    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(cores())
    _keep_memory()


def _keep_memory() -> None:
    """Let glibc keep the memory of large tensors for the next ones.

    As it comes, it gives each back to the kernel and has the next one's pages zeroed again: an eighth of the CPU time
    of a forward pass of the default model. Other C libraries have no such switch.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for limit in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
            mallopt(limit, _KEPT_BYTES)
