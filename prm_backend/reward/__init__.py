"""Scores for steps and solutions: our PRM, published ones and remote ones, all `types.StepScorer`.

`aggregation` is pure; the rest loads torch and is imported only where a model runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prm_backend.types import StepScorer

if TYPE_CHECKING:
    import torch

    from prm_backend.reward.published import Convention


def load_scorer(
    spec: str,
    *,
    base: str | None = None,
    tokenizer: Any = None,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> StepScorer:
    """The PRM that `spec` names, whoever made it.

    A directory or hub id: a checkpoint of ours (`base` is where its base model lies now, should it have moved) or a
    published PRM, recognised by its name or by what it holds. `http://host:port#model`: that PRM on a vLLM server,
    its text tokenised by `tokenizer` (a tokenizer, directory or hub id; without one, the model's own).
    `math-shepherd:…` before any of these says the convention where nothing else tells it.

    Only safetensors are opened and nobody's code is run. Weights are kept in float32, on a GPU in bfloat16, unless
    `dtype` says otherwise. Raises ValueError (CheckpointRefused for ours) saying what does not fit and what would.
    """
    import torch

    from prm_backend.reward.base import locate
    from prm_backend.reward.checkpoint import META
    from prm_backend.reward.prm import PRM
    from prm_backend.reward.published import PublishedPRM, recognise

    convention, place = _convention(spec)
    if place.startswith(("http://", "https://")):
        return _remote(place, convention, tokenizer)
    if place.startswith("~"):
        place = str(Path(place).expanduser())
    if dtype is None:
        dtype = torch.float32 if torch.device(device).type == "cpu" else torch.bfloat16
    if (Path(place) / META).is_file():
        return PRM.load(place, base=base, device=device, dtype=dtype)
    if place.startswith(("/", ".", "~")) and not Path(place).is_dir():
        raise FileNotFoundError(
            f"there is no PRM at {place}; name a directory, a hub id or http://host:port#model"
        )
    path = locate(place)
    return PublishedPRM.load(
        path, convention or recognise(path), name=Path(place).name, device=device, dtype=dtype
    )


def _remote(place: str, convention: Convention | None, tokenizer: Any) -> StepScorer:
    from prm_backend.reward.published import CONVENTIONS, known_by_name
    from prm_backend.reward.remote import RemotePRM

    url, _, model = place.partition("#")
    if not model:
        raise ValueError(f"{place!r}: no model named; write {place}#model-name")
    convention = convention or known_by_name(model)
    if convention is None:
        raise ValueError(
            f"nothing tells how {model!r} reads text; say it: one of {', '.join(CONVENTIONS)}, as in trl:{place}"
        )
    return RemotePRM(url, model, convention, tokenizer=tokenizer)


def _convention(spec: str) -> tuple[Convention | None, str]:
    """The convention `spec` begins with, known by its name or else None, and the rest."""
    from prm_backend.reward.published import CONVENTIONS, known_by_name

    name, _, rest = spec.partition(":")
    if name in CONVENTIONS and rest:
        return CONVENTIONS[name], rest
    return (None if "#" in spec else known_by_name(spec)), spec
