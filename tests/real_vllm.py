"""Our clients against a real vLLM: `python -m tests.real_vllm path/to/vllm [its options]`, minutes on two cores.

Serves a tiny PRM of every convention in turn, prints by how much any step's probability differs from our own reading of
the same directory, and samples from a tiny language model. Fails where that is more than float32's rounding.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors.torch import load_file, save_file

from prm_backend.generators.openai_generator import OpenAIGenerator
from prm_backend.reward import load_scorer
from prm_backend.types import Sampling, Unscorable
from tests import published

PROBLEM = "What is $2 + 2$? " * 10  # longer than a block of vLLM's cache, and shared
SOLUTIONS = [tuple(["It is four.", f"Or {n}.", "So 4."][: 1 + n % 3]) for n in range(32)] + [("x" * 600,)]
POOLING = ("--runner", "pooling")
WORDS = published.tokenizer()
# A language model's two words become labels, `+` first; without the task vLLM 0.32 classifies whole texts.
ANSWERS = (
    *POOLING, "--convert", "classify", "--pooler-config", '{"task": "token_classify"}',
    "--hf-overrides", '{"classifier_from_token": ["+", "-"], "method": "no_post_processing"}',
)  # fmt: skip
# The mark's id is the default for Qwen's own vocabulary only.
MARK = f'{{"pooling_type": "STEP", "step_tag_id": {WORDS.convert_tokens_to_ids("<extra_0>")}}}'
CASES = {
    "trl": (published.token_classifier, POOLING),
    "pure": (lambda path: published.token_classifier(path, kind="qwen", labels=3), POOLING),
    "math-shepherd": (published.math_shepherd, ANSWERS),
    "rlhflow": (published.rlhflow, ANSWERS),
    "qwen": (published.qwen, (*POOLING, "--pooler-config", MARK)),
    "skywork": (published.skywork, POOLING),
}


def as_one_label(path: Path) -> None:
    """vLLM knows no value head; renamed, it is a token classifier's one label."""
    tensors = load_file(path / "model.safetensors")
    renamed = {name.replace("v_head.summary", "score"): tensor for name, tensor in tensors.items()}
    del renamed["lm_head.weight"]
    save_file(renamed, path / "model.safetensors", {"format": "pt"})
    published.edit_config(path, architectures=["Qwen2ForTokenClassification"], id2label={"0": "good"})


@contextmanager
def served(command: list[str], path: Path, *options: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    command = [command[0], "serve", str(path), *where, *options, *command[1:]]
    command += ["--served-model-name", "tiny", "--dtype", "float32", "--enforce-eager"]
    with (path / "vllm.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            while server.poll() is None:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models").close()
                    break
                except OSError:
                    time.sleep(1)
            else:
                sys.exit((path / "vllm.log").read_text())
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def main(command: list[str], directory: Path) -> None:
    published.SIZES |= {"hidden_size": 64, "initializer_range": 0.2}  # its heads have 32 numbers at least
    worst = 0.0
    for convention, (make, options) in CASES.items():
        path = make(directory / convention).path
        local = load_scorer(f"{convention}:{path}")
        expected = local.score([PROBLEM] * len(SOLUTIONS), SOLUTIONS)
        if convention == "skywork":
            as_one_label(path)
        with served(command, path, *options) as url:
            got = load_scorer(f"{convention}:{url}#tiny").score([PROBLEM] * len(SOLUTIONS), SOLUTIONS)
        assert isinstance(got[-1], Unscorable)
        steps = [
            pair for a, b in zip(expected[:-1], got[:-1], strict=True) for pair in zip(a, b, strict=True)
        ]
        apart = max(abs(p - q) for one, other in steps for p, q in zip(one, other, strict=True))
        bad = sorted(one.bad for one, _ in steps)
        said = f"{len(steps)} steps, p(bad) from {bad[0]:.2g} to {bad[-1]:.2g}, {apart:.1e} apart at most"
        print(f"{convention}: {said}", flush=True)
        worst = max(worst, apart)
    with served(command, directory / "rlhflow") as url:
        generator = OpenAIGenerator(f"{url}/v1", "tiny", logprobs=True, stop=["\n"])
        first, again = (
            generator.sample(["1 + 1?"] * 8, n=3, sampling=Sampling(max_new_tokens=8), seed=1) for _ in "12"
        )
    assert first == again, "the same seed drew something else"
    print(
        f"8 problems sampled twice in {generator.usage.requests} requests; it lacks {set(generator.server.unsupported)}"
    )
    sys.exit(worst > 1e-4)


if __name__ == "__main__":
    os.environ |= {
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1:], Path(made))
