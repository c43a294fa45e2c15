"""Generators: models that write solutions. `open_generator` finds the right one for a MODEL setting.

Importing this package is free of torch; opening a local model is not.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

from prm_backend.types import Generator, Sample, Sampling

OPENAI_PREFIX = "openai:"
ADAPTER = "adapter"  # a directory inside a model directory

CHAT_PROMPT = (
    "Solve the problem step by step. Write one step a line, in plain sentences with LaTeX between dollar signs, "
    "without headings, lists or blank lines between them. After the last step write a line `# Answer`, then the "
    "final answer alone on the next line, and stop.\n\n{problem}"
)

NEXT_STEP_PROMPT = (
    "Go on with the next step of this solution and nothing else: one line. Only if it reaches the final answer, add "
    "the line `# Answer` and the answer alone on the line after it."
)


class GenerationFailed(RuntimeError):
    """Some problems could not be sampled. `samples[i]` is what problem i got before a failure, None for nothing."""

    def __init__(self, message: str, samples: list[list[Sample] | None]) -> None:
        super().__init__(message)
        self.samples = samples


def open_generator(spec: str) -> Generator:
    """The generator that `spec` names: `openai:<url>#<model>`, a model directory, or a Hugging Face hub id.

    A directory's own `adapter/` is merged in. Raises ValueError, saying what would do, where `spec` makes no sense;
    a hub id that cannot be had raises transformers' own OSError.
    """
    if spec.startswith(OPENAI_PREFIX):
        url, model = _server(spec)
        from prm_backend.generators.openai_generator import OpenAIGenerator

        return OpenAIGenerator(url, model)
    directory = _directory(spec)
    # Seconds and hundreds of megabytes: only a process that samples pays for torch.
    from prm_backend.generators.transformers_generator import TransformersGenerator

    if directory is None:
        return TransformersGenerator.load(spec)
    adapter = directory / ADAPTER
    return TransformersGenerator.load(directory, adapter if adapter.is_dir() else None)


def default_prompt_template(spec: str) -> str:
    """The prompt template to sample `spec` with: a chat server needs to be told the format, our starter knows it."""
    return CHAT_PROMPT if spec.startswith(OPENAI_PREFIX) else Sampling().prompt_template


def seed_of(name: str) -> int:
    """The seed of what has this name: it draws the same again, and no other name draws from its stream."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])


def _server(spec: str) -> tuple[str, str]:
    url, _, model = spec.removeprefix(OPENAI_PREFIX).partition("#")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(
            f"{spec!r}: no http(s) address after 'openai:'; write openai:http://host:8000/v1#model-name"
        )
    if not model:
        raise ValueError(f"{spec!r}: no model named; write openai:{url}#model-name")
    return url, model


def _directory(spec: str) -> Path | None:
    """`spec` as a model directory, None where it is a hub id."""
    path = Path(spec).expanduser()
    if spec.strip() and path.is_dir():
        if not (path / "config.json").is_file():
            raise ValueError(f"{spec!r} is no model directory: it holds no config.json")
        if not any(path.glob("*.safetensors")):
            raise ValueError(f"{spec!r} holds no *.safetensors; weights in other formats are not opened")
        return path
    if path.is_file():
        raise ValueError(f"{spec!r} is a file; name the model's directory")
    if not spec.strip() or spec.startswith(("/", ".", "~")) or spec.count("/") > 1:
        raise ValueError(
            f"{spec!r}: there is no such directory; name a model directory, a hub id such as "
            "'organisation/model', or openai:<url>#<model>"
        )
    return None
