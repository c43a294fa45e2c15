"""Samples solutions from a causal language model in this process: one left-padded batch, many problems x samples.

Knows no grading and no rows. Prompts run once, and samples that read alike so far are one line of the batch, which is
copied as they part; lines that have finished leave the batch, so a rambling one costs only itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, PreTrainedTokenizerBase

from prm_backend.generators.cache import append_lines, block_cache
from prm_backend.generators.draw import draw, heated
from prm_backend.generators.finish import distinct, is_finished, is_step_finished, make_sample, make_step
from prm_backend.products import multiplies_bfloat16, pack_linears
from prm_backend.types import Progress, ProgressCallback, Sample, Sampling, silent

ADAPTER_WEIGHTS = "adapter_model.safetensors"
STEP_TOKENS = 96  # a next step that is longer rambles
# Times the sampling's temperature, from the first to the last of the next steps that are drawn at once: a small model
# sure of itself says one thing over and over. The second draw makes up for those that read alike.
STEP_HEATS = ((1.0, 1.6), (2.0, 3.0))
KEEP_DONE = 0.9  # taking lines out copies the cache, so it waits until a tenth of them are done


@dataclass
class _Row:
    """One sample, or one step, as it grows."""

    problem: int
    prompt: tuple[int, ...]
    limit: int  # new tokens it may have
    only_step: bool = False
    heat: float = 1.0  # times the sampling's temperature
    ids: list[int] = field(default_factory=list)
    stopped: bool = False  # by end-of-text or a finished answer, not by the limit
    done: bool = False


class TransformersGenerator:
    """A causal model with a key-value cache and its tokenizer, as a `types.Generator`.

    `batch_tokens` bounds rows x (longest prompt + new tokens) of a batch, so memory stays bounded: the default
    takes 64 samples of 256 tokens, about 0.8 GB of cache for the default model.
    """

    def __init__(
        self, model: Any, tokenizer: PreTrainedTokenizerBase, *, name: str, batch_tokens: int = 16_384
    ) -> None:
        self.name = name
        self.batch_tokens = batch_tokens
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._context = int(getattr(model.config, "max_position_embeddings", 0) or 2048)
        self._ends = _end_tokens(model, tokenizer)
        self._breaks_line = lru_cache(maxsize=None)(lambda token: "\n" in tokenizer.decode([token]))

    @classmethod
    def load(
        cls, model_path: str | Path, adapter: str | Path | None = None, device: str | None = None
    ) -> TransformersGenerator:
        """Load a directory or hub id, safetensors only and without running code from it, and merge `adapter` in.

        In bfloat16 on a GPU (the first one, unless `device` says another) and on a CPU that multiplies it, else in
        float32, linear layers with weights in float16 (see `products`). Raises OSError (transformers' own message)
        where there is no such model, and ValueError where its weights are pickles.
        """
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        on_cpu = torch.device(device).type == "cpu"
        dtype = torch.float32 if on_cpu and not multiplies_bfloat16() else torch.bfloat16
        tokenizer = AutoTokenizer.from_pretrained(model_path, trust_remote_code=False)
        model: Any = AutoModelForCausalLM.from_pretrained(
            model_path,
            dtype=torch.float32 if on_cpu else dtype,
            use_safetensors=True,
            trust_remote_code=False,
        )
        name = Path(model_path).name if Path(model_path).is_dir() else str(model_path)
        if adapter is not None:
            model = _merged(model, Path(adapter))
            digest = hashlib.sha256((Path(adapter) / ADAPTER_WEIGHTS).read_bytes()).hexdigest()
            name = f"{name}+{digest[:8]}"
        model.to(device, dtype)
        pack_linears(model, rounded=True)
        return cls(model, tokenizer, name=name)

    def sample(
        self,
        problems: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = silent,
    ) -> list[list[Sample]]:
        """Draw `n` solutions for each problem; shape [problem][n].

        The same call draws the same samples on the same machine. A sample ends at end-of-text, after its answer, at
        `max_new_tokens`, or at the end of the model's context (the last two are marked truncated). Raises
        ValueError, before sampling anything, where a prompt alone fills the context.
        """
        rows = self._rows([sampling.prompt(problem) for problem in problems], n, sampling.max_new_tokens)
        random = torch.Generator(self._model.device).manual_seed(seed % 2**63)
        for batch in self._batches(rows):
            for _ in self._run(batch, sampling, random):
                # After every token, so that a request to stop is heard.
                done = sum(row.done for row in rows)
                tokens = sum(len(row.ids) for row in rows)
                progress(Progress(done, len(rows), f"sampling solutions, {tokens:,} tokens so far"))
        samples: list[list[Sample]] = [[] for _ in problems]
        for row in rows:
            sample = make_sample(
                self._text(row),
                truncated=not row.stopped,
                n_tokens=len(row.ids),
                segmentation=sampling.segmentation,
            )
            samples[row.problem].append(sample)
        return samples

    def next_steps(
        self,
        problem: str,
        steps: Sequence[str],
        *,
        n: int,
        sampling: Sampling,
        seed: int,
        progress: ProgressCallback = silent,
    ) -> list[str]:
        """Up to `n` distinct steps that could follow `steps`: drawn at once, the later ones hotter (see STEP_HEATS).

        The same call gives the same steps on the same machine. Steps that ran into a limit are dropped. Raises
        ValueError where the prompt and the steps alone fill the context.
        """
        prompt = sampling.prompt(problem) + "".join(f"{step}\n" for step in steps)
        random = torch.Generator(self._model.device).manual_seed(seed % 2**63)
        drawn: list[str | None] = []
        for coolest, hottest in STEP_HEATS:
            missing = n - len(distinct(drawn, n))
            rows = self._rows(
                [prompt], missing + 1, min(sampling.max_new_tokens, STEP_TOKENS), only_step=True
            )
            for k, row in enumerate(rows):
                row.heat = coolest + (hottest - coolest) * k / missing
            for batch in self._batches(rows):
                for _ in self._run(batch, sampling, random):
                    done = sum(row.done for row in rows)
                    progress(Progress(done, len(rows), f"{done} of {len(rows)} next steps written"))
            drawn += [make_step(self._text(row), truncated=not row.stopped) for row in rows]
            if len(distinct(drawn, n)) == n or sampling.temperature == 0:
                break
        return distinct(drawn, n)

    def _rows(self, prompts: Sequence[str], n: int, limit: int, *, only_step: bool = False) -> list[_Row]:
        rows = []
        for number, text in enumerate(prompts):
            prompt = tuple(self._tokenizer(text).input_ids)
            room = self._context - len(prompt)
            if room < 1 or not prompt:
                raise ValueError(
                    f"a prompt of {len(prompt)} tokens can't be continued in a context of {self._context}: "
                    f"{text[:60]!r}"
                )
            rows += [_Row(number, prompt, min(limit, room), only_step) for _ in range(n)]
        return rows

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Rows of like prompt lengths, as many as the token budget holds, at least one."""
        batch: list[_Row] = []
        for row in sorted(rows, key=lambda row: (len(row.prompt), row.problem), reverse=True):
            longest = len((batch or [row])[0].prompt)  # the longest prompt comes first
            if batch and (len(batch) + 1) * (longest + row.limit) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    @torch.inference_mode()
    def _run(self, rows: Sequence[_Row], sampling: Sampling, random: torch.Generator) -> Iterator[None]:
        """Sample every row of one batch to its end; yields after each token."""
        lines, cache, mask, logits = self._prefill(rows)
        while True:
            growing = [row for line in lines for row in line]
            of = torch.tensor([number for number, line in enumerate(lines) for _ in line], device=mask.device)
            drawn = draw(heated(logits[of], [row.heat for row in growing]), sampling, random).tolist()
            for row, token in zip(growing, drawn, strict=True):
                self._append(row, token)
            yield
            lines, copied = _parted(lines)
            if copied:
                parted = torch.tensor(copied, device=mask.device)
                append_lines(cache, parted)
                mask = torch.cat([mask, mask[parted]])
            alive = [number for number, line in enumerate(lines) if line]
            if not alive:
                return
            if len(alive) <= KEEP_DONE * len(lines):
                keep = torch.tensor(alive, device=mask.device)
                lines = [lines[number] for number in alive]
                cache.batch_select_indices(keep)
                mask = mask[keep]
            mask = torch.cat([mask, mask.new_ones(len(lines), 1)], dim=1)
            tokens = torch.tensor([[line[0].ids[-1] if line else 0] for line in lines], device=mask.device)
            logits = self._forward(tokens, mask, cache)

    def _append(self, row: _Row, token: int) -> None:
        row.ids.append(token)
        row.stopped = token in self._ends or self._is_finished(row)
        row.done = row.stopped or len(row.ids) == row.limit

    def _prefill(
        self, rows: Sequence[_Row]
    ) -> tuple[list[list[_Row]], DynamicCache, torch.Tensor, torch.Tensor]:
        """Run each distinct prompt once: its rows, a line; cache, attention mask and next-token logits of the lines."""
        lines: dict[tuple[int, ...], list[_Row]] = {}
        for row in rows:
            lines.setdefault(row.prompt, []).append(row)
        longest = max(map(len, lines))
        device = self._model.device
        ids = torch.zeros(len(lines), longest, dtype=torch.long, device=device)
        mask = torch.zeros_like(ids)
        for number, prompt in enumerate(lines):
            ids[number, longest - len(prompt) :] = torch.tensor(prompt, device=device)
            mask[number, longest - len(prompt) :] = 1
        cache = block_cache(self._model.config, len(rows))
        return list(lines.values()), cache, mask, self._forward(ids, mask, cache)

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
        """Logits (lines, vocabulary) after the last of `ids`; positions count real tokens, not padding."""
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            cache=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _is_finished(self, row: _Row) -> bool:
        """Only a token that breaks the line can end an answer, so only then is the text looked at; a step is short."""
        if row.only_step:
            return is_step_finished(self._text(row))
        if not self._breaks_line(row.ids[-1]):
            return False
        return is_finished(self._text(row))

    def _text(self, row: _Row) -> str:
        return str(self._tokenizer.decode(row.ids, skip_special_tokens=True))


def _parted(lines: Sequence[Sequence[_Row]]) -> tuple[list[list[_Row]], list[int]]:
    """The lines after another token: rows that are done leave, those that drew the same stay together, the first of
    them where they were, the others behind all lines. And which line each of these is a copy of."""
    kept: list[list[_Row]] = []
    others: list[tuple[int, list[_Row]]] = []
    for number, line in enumerate(lines):
        alike: dict[int, list[_Row]] = {}
        for row in line:
            if not row.done:
                alike.setdefault(row.ids[-1], []).append(row)
        first, *rest = alike.values() or [[]]
        kept.append(first)
        others += [(number, parted) for parted in rest]
    return kept + [line for _, line in others], [number for number, _ in others]


def _end_tokens(model: Any, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Every token that ends a text: a model may name several, and its tokenizer another."""
    configured = model.generation_config.eos_token_id
    several = configured if isinstance(configured, list) else [configured]
    return frozenset(token for token in [*several, tokenizer.eos_token_id] if token is not None)


def _merged(model: Any, adapter: Path) -> Any:
    if not (adapter / ADAPTER_WEIGHTS).is_file():
        raise FileNotFoundError(
            f"no adapter at {adapter}: it needs adapter_config.json and {ADAPTER_WEIGHTS}"
        )
    from peft import PeftModel  # slow to import, and most models come without an adapter

    return PeftModel.from_pretrained(model, adapter).merge_and_unload()
