"""On a device whose tensors do not mix with the CPU's, the engine computes what it does on the CPU.

No GPU is needed, only a compiler: what a GPU refuses (a tensor left on the CPU, a generator of the wrong device, types
that do not fit) this device refuses, too. How fast a GPU is, it cannot tell.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.apart import NAME

ROUNDED = 0.02  # what bfloat16 may alter of a probability
SAID = "It is [23].\n+# Answer\n\n[23]|# Answer\n\n[23]"  # all that the model that is sampled knows


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_training_scoring_and_sampling_do_the_same_on_a_device_apart(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.apart", str(tmp_path)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("mixes")[NAME]
    for text in (text for place in ("cpu", NAME) for text in found["sampled"][place]):
        assert re.fullmatch(SAID, text)  # not the same texts: a draw may fall between two roundings
    assert found.pop("sampled")["operators"] > 0
    for name, case in found.items():
        assert case["operators"] > 0, name
        off = ROUNDED if "bfloat16" in name else 1e-4
        assert case[NAME] == pytest.approx(case["cpu"], abs=off), name
        assert len(case["cpu"]) == 7, name
        assert max(case["cpu"]) - min(case["cpu"]) > ROUNDED, name  # it tells steps apart
