"""A device apart from the CPU, as a GPU is, for machines without one: built here, and all the engine does run on it.

`python -m tests.engine.apart FOLDER` builds it there and prints what the engine computes on either device, as JSON. In
a process of its own, since torch takes such a device for good.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from accelerate.state import AcceleratorState
from torch.utils import cpp_extension

from prm_backend.config import PRMConfig
from prm_backend.generators.transformers_generator import TransformersGenerator
from prm_backend.reward.prm import PRM
from prm_backend.reward.published import CONVENTIONS, PublishedPRM
from prm_backend.training.trainer import train_prm
from prm_backend.types import LabelledSolution, Sampling, Unscorable
from tests.engine.test_published_prms import MAKERS
from tests.tiny import parrot_dir, tiny_model_dir

NAME = "apart"
PROBLEM = "What is 1 + 1?"
STEPS = [("It is 2.", "Yes."), ("It is 3.", "No, 2."), ("It is 2.", "So 2.", "# Answer\n\n2")]
TRAINED: dict[str, dict[str, Any]] = {
    "head": {},
    "step means": {"step_mean": True},
    "log-probabilities": {"log_probs": True},
    "layers": {"trained_layers": 1, "depth": 0.7},
    "low rank": {"trained_layers": 1, "depth": 0.7, "lora_rank": 2},
    "all layers": {"trained_layers": 3, "depth": 1.0},
    "outcome": {"supervise": "answer"},
}


def main(directory: Path) -> None:
    device = build(directory)
    found: dict[str, dict[str, Any]] = {"mixes": {NAME: refuses_to_mix()}}
    for name, compute in cases(directory).items():
        before = device.calls()
        found[name] = {place: compute(place) for place in ("cpu", NAME)}
        found[name]["operators"] = device.calls() - before
    print(json.dumps(found))


def build(directory: Path) -> ModuleType:
    """Compile the device with the machine's g++ and give it to torch, under NAME."""
    library = directory / f"{NAME}.so"
    lib = Path(torch.__file__).parent / "lib"
    headers = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    subprocess.run(
        ["g++", "-O0", "-std=c++20", "-fPIC", "-shared", f"-DTORCH_EXTENSION_NAME={NAME}",
         *(f"-I{header}" for header in headers), str(Path(__file__).with_suffix(".cpp")), "-o", str(library),
         f"-L{lib}", *(f"-l{name}" for name in ("torch", "torch_cpu", "torch_python", "c10")), f"-Wl,-rpath,{lib}"],
        check=True,
    )  # fmt: skip
    torch.utils.rename_privateuse1_backend(NAME)
    spec = importlib.util.spec_from_file_location(NAME, library)
    assert spec is not None
    assert spec.loader is not None
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    torch._register_device_module(NAME, Device(f"torch.{NAME}"))
    torch.utils.generate_methods_for_privateuse1_backend()
    return device


class Device(ModuleType):
    """What torch asks of a device in Python."""

    is_available = staticmethod(lambda: True)
    is_initialized = staticmethod(lambda: True)
    _is_in_bad_fork = staticmethod(lambda: False)
    device_count = staticmethod(lambda: 1)
    current_device = staticmethod(lambda: 0)
    set_device = staticmethod(lambda device: None)
    manual_seed_all = staticmethod(lambda seed: None)


def refuses_to_mix() -> bool:
    try:
        torch.ones(2, device=NAME) + torch.ones(2)
    except RuntimeError as error:
        return "same device" in str(error)
    return False


def cases(directory: Path) -> dict[str, Callable[[str], Any]]:
    """Each gives something that can be compared between devices."""
    base = tiny_model_dir(directory / "base", layers=3)
    parrot = parrot_dir(directory / "parrot", PROBLEM, ["It is 2.\n# Answer\n\n2", "It is 3.\n# Answer\n\n3"])
    made: dict[str, Callable[[str], Any]] = {}
    for dtype in (torch.float32, torch.bfloat16):
        for name, options in TRAINED.items():
            made[f"trained, {name}, {dtype}"] = trained(base, directory, options, dtype)
    for name, maker in MAKERS.items():
        made[f"published, {name}"] = published(maker(directory / name).path, name)
    made["sampled"] = lambda device: sampled(parrot, device)
    return made


def trained(
    base: Path, directory: Path, options: dict[str, Any], dtype: torch.dtype
) -> Callable[[str], list[float]]:
    config = PRMConfig(
        epochs=3, batch_solutions=4, max_length=300, learning_rate=1e-3, head_learning_rate=0.1, **options
    )
    labelled = [
        LabelledSolution(f"Problem {i % 7}?", ("First.", f"Then {i}."), (i % 3 // 2, -1 if i % 2 else 1), id=str(i))
        for i in range(24)
    ]  # fmt: skip

    def compute(device: str) -> list[float]:
        AcceleratorState._reset_state(reset_partial_state=True)
        os.environ["ACCELERATE_TORCH_DEVICE"] = device  # it would look for kinds it knows
        kept = torch.float32 if device == "cpu" else dtype
        checkpoint = Path(tempfile.mkdtemp(dir=directory)) / "prm"
        train_prm(
            str(base), labelled[:16], labelled[16:], config=config, checkpoint_dir=checkpoint, snapshot_hash="",
            device=device, dtype=kept,
        )  # fmt: skip
        prm = PRM.load(checkpoint, device=device, dtype=kept)
        return bad(prm.score([PROBLEM] * len(STEPS), STEPS))

    return compute


def published(path: Path, convention: str) -> Callable[[str], list[float]]:
    return lambda device: bad(
        PublishedPRM.load(path, CONVENTIONS[convention], device=device).score([PROBLEM] * len(STEPS), STEPS)
    )


def sampled(path: Path, device: str) -> list[str]:
    generator = TransformersGenerator.load(path, device=device)
    sampling = Sampling(prompt_template="{problem}\n", max_new_tokens=40)
    (samples,) = generator.sample([PROBLEM], n=6, sampling=sampling, seed=1)
    return [
        *(sample.text for sample in samples),
        *generator.next_steps(PROBLEM, ["It is 2."], n=2, sampling=sampling, seed=1),
    ]


def bad(scored: list[Any]) -> list[float]:
    return [probs.bad for solution in scored if not isinstance(solution, Unscorable) for probs in solution]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
