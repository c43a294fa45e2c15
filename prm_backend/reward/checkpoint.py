"""A PRM on disk: `model.safetensors` (what was trained) and `meta.json` (what it belongs to). Never a pickle.

The frozen base is not copied but named, with a fingerprint, so a checkpoint stays small. Knows no transformer.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from prm_backend.config import BEFORE, PRMConfig, config_hash, json_hash
from prm_backend.text.encoding import ENCODING_VERSION
from prm_backend.types import Report, threshold_or_even

FORMAT = "plumbline-prm-1"
WEIGHTS, META = "model.safetensors", "meta.json"


class CheckpointRefused(ValueError):
    """A checkpoint that cannot be used here; the message says what does not match and how to mend it."""


@dataclass(frozen=True)
class Meta:
    """What a checkpoint belongs to; everything a reader needs to trust it or to refuse it."""

    base: str  # directory or hub id, as given
    base_fingerprint: str
    snapshot_hash: str
    config: PRMConfig
    outcome_only: bool  # trained on the grades of final answers: no human labels
    report: Report
    versions: dict[str, str]
    encoding: str = ENCODING_VERSION
    format: str = FORMAT
    config_hash: str = field(default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "config_hash", config_hash(self.config))

    @property
    def threshold(self) -> float:
        """The p(bad) above which this PRM calls a step wrong; 0.5 where none was tuned."""
        return threshold_or_even(self.report.metrics.get("threshold"))


def write_checkpoint(directory: Path, tensors: Mapping[str, Tensor], meta: Meta) -> None:
    """Write beside `directory` and rename, so it holds a whole checkpoint or does not exist.

    A former checkpoint of that name (the same job, killed after it wrote and before it was recorded) is replaced.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    beside = directory.with_name(f".{directory.name}.{os.getpid()}.partial")
    # One that was killed leaves it behind, and process numbers come again, in containers soon.
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir()
        save_file({k: t.detach().cpu().contiguous() for k, t in tensors.items()}, beside / WEIGHTS)
        text = json.dumps(asdict(meta), indent=1, sort_keys=True, allow_nan=False)
        (beside / META).write_text(text + "\n", encoding="utf-8")
        if directory.exists():
            shutil.rmtree(directory)
        beside.rename(directory)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def require_encoding(path: Path, encoding: object, mend: str) -> None:
    """CheckpointRefused, saying how to `mend` it, where a PRM read text laid out otherwise than here."""
    if encoding != ENCODING_VERSION:
        raise CheckpointRefused(
            f"{path} was trained on text encoded as {encoding!r}, this program encodes as {ENCODING_VERSION!r}: "
            f"its scores would mean nothing; {mend}"
        )


def read_meta(directory: Path) -> Meta:
    """The `meta.json` of a checkpoint. CheckpointRefused where it is missing, unreadable or of another format."""
    path = directory / META
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointRefused(f"{directory} is no checkpoint: it holds no {META}") from None
    except ValueError as error:
        raise CheckpointRefused(f"{path} is not JSON: {error}") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        found = raw.get("format") if isinstance(raw, dict) else raw
        raise CheckpointRefused(f"{path} has format {found!r}, this program reads {FORMAT!r}: retrain")
    require_encoding(path, raw.get("encoding"), "retrain")
    try:
        meta = _meta(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointRefused(f"{path} is damaged: {error!r}") from None
    if json_hash(raw["config"]) != raw.get("config_hash"):
        raise CheckpointRefused(f"{path} is damaged: its config does not have the recorded hash")
    return meta


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """The trained weights by name, on the CPU. CheckpointRefused where they are missing or damaged."""
    path = directory / WEIGHTS
    if not path.is_file():
        raise CheckpointRefused(f"{directory} holds no {WEIGHTS}; other formats (pickles) are not opened")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointRefused(f"{path} is damaged: {error}") from None


def _meta(raw: dict[str, Any]) -> Meta:
    report = raw["report"]
    # What a program of before did not write has its default; in the config, what that program did.
    values = {f.name: raw[f.name] for f in fields(Meta) if f.name in raw}
    values["config"] = PRMConfig(**(BEFORE | raw["config"]))
    values["report"] = Report(
        report["metrics"],
        tuple(report["curve"]),
        tuple(report["notes"]),
        report["tables"],
        report.get("slices", {}),
    )
    return Meta(**values)
