"""A tiny base, PRM800K's own records, and no deadline for an example: that depends on who else uses the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.tiny import tiny_model_dir

settings.register_profile("plumbline", deadline=None)
settings.load_profile("plumbline")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model_dir(tmp_path_factory.mktemp("model") / "base", layers=3))


VERBATIM = Path(__file__).parents[3] / "shared" / "data" / "prm800k_records" / "records.jsonl"


@pytest.fixture(scope="module")
def verbatim() -> list[str]:
    if not VERBATIM.exists():
        pytest.skip(f"{VERBATIM} is not there")
    return VERBATIM.read_text().splitlines()
