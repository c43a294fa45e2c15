"""A key-value cache that grows in place: by tokens, and by lines that part from another. transformers' own copies all
it holds for every token it adds, and knows no such lines."""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

BLOCK = 64  # tokens of room added at a time


class _BlockLayer(DynamicLayer):
    """A DynamicLayer whose `keys` and `values` (lines, heads, tokens, size) are views into roomier buffers."""

    _buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        held = self.get_seq_length()
        lines, length = key_states.shape[0], held + key_states.shape[-2]
        if self._buffers is None or length > self._buffers[0].shape[-2]:
            self._buffers = self._room(key_states, length), self._room(value_states, length)
            if held and self.keys is not None and self.values is not None:
                self._buffers[0][:lines, :, :held] = self.keys
                self._buffers[1][:lines, :, :held] = self.values
        keys, values = self._buffers
        keys[:lines, :, held:length] = key_states
        values[:lines, :, held:length] = value_states
        self.is_initialized = True
        self.keys, self.values = keys[:lines, :, :length], values[:lines, :, :length]
        return self.keys, self.values

    def append(self, copied: torch.Tensor) -> bool:
        """Whether there was room for copies of these lines."""
        if self._buffers is None or self.keys is None:
            return False
        lines, length = self.keys.shape[0], self.get_seq_length()
        stop = lines + len(copied)
        if stop > len(self._buffers[0]):
            return False
        for buffer in self._buffers:
            buffer[lines:stop, :, :length] = buffer[copied, :, :length]
        self.keys, self.values = (buffer[:stop, :, :length] for buffer in self._buffers)
        return True

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        super().batch_select_indices(indices)
        self._buffers = None  # the selection is a tensor of its own, without room

    def _room(self, states: torch.Tensor, length: int) -> torch.Tensor:
        lines, heads, _, size = states.shape
        return states.new_empty(max(lines, self._lines), heads, length + BLOCK, size)


def block_cache(config: Any, lines: int) -> DynamicCache:
    """An empty cache with room for `lines`; layers that are no plain ones (sliding windows) stay as they are."""
    cache = DynamicCache(config=config)
    cache.layers = [_BlockLayer(lines) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def append_lines(cache: DynamicCache, copied: torch.Tensor) -> None:
    """Behind the cache's lines, a copy of each of those that `copied` [lines] counts."""
    layer: Any
    for layer in cache.layers:
        if not (isinstance(layer, _BlockLayer) and layer.append(copied)):
            own = torch.arange(layer.keys.shape[0], device=copied.device)
            layer.batch_select_indices(torch.cat([own, copied]))
