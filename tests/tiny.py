"""A two-layer causal model and a byte-level tokenizer, made in memory: everything real about a model but its size.

Knows nothing of language: its samples are bytes of noise, which is what tests of the machinery around a model want.
"""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PAD, EOS = "<pad>", "<eos>"


def tiny_tokenizer(context: int = 512) -> PreTrainedTokenizerFast:
    """One token a UTF-8 byte (ids 2-257) beside `<pad>` (0) and `<eos>` (1); any text survives a round trip."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([PAD, EOS, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=EOS, model_max_length=context
    )


def tiny_model(hidden: int = 32, layers: int = 2, context: int = 512, seed: int = 0) -> LlamaForCausalLM:
    """A randomly initialised Llama with `layers` layers of width `hidden` over the byte vocabulary."""
    config = LlamaConfig(
        vocab_size=258,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=context,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


def tiny_model_dir(
    path: str | Path, *, hidden: int = 32, layers: int = 2, context: int = 512, seed: int = 0
) -> Path:
    """Save model and tokenizer to `path`; AutoModelForCausalLM and AutoTokenizer load them as any other directory."""
    path = Path(path)
    tiny_model(hidden, layers, context, seed).save_pretrained(path, safe_serialization=True)
    tiny_tokenizer(context).save_pretrained(path)
    return path


def parrot_dir(path: str | Path, problem: str, solutions: list[str], *, steps: int = 300) -> Path:
    """A tiny model that knows one problem and says one of `solutions` after it, about as often each; a few seconds."""
    tokenizer, model = tiny_tokenizer(), tiny_model(hidden=64).train()
    texts = [[*tokenizer(f"{problem}\n{text}").input_ids, tokenizer.eos_token_id] for text in solutions]
    longest = max(map(len, texts))
    ids = torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts])
    labels = ids.masked_fill(ids == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        loss = model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        # Sharper: it never stutters, and says each of several with the same chance still.
        model.model.norm.weight *= 3
    path = Path(path)
    model.eval().save_pretrained(path, safe_serialization=True)
    tokenizer.save_pretrained(path)
    return path
