"""A key-value cache that grows in blocks: transformers' own copies all it holds for every token it adds."""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

BLOCK = 64  # tokens of room added at a time


class _BlockLayer(DynamicLayer):
    """A DynamicLayer whose `keys` and `values` (rows, heads, tokens, size) are views into roomier buffers."""

    _buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        held = self.get_seq_length()
        length = held + key_states.shape[-2]
        if self._buffers is None or length > self._buffers[0].shape[-2]:
            self._buffers = self._room(key_states, length), self._room(value_states, length)
            if held and self.keys is not None and self.values is not None:
                self._buffers[0][..., :held, :] = self.keys
                self._buffers[1][..., :held, :] = self.values
        keys, values = self._buffers
        keys[..., held:length, :] = key_states
        values[..., held:length, :] = value_states
        self.is_initialized = True
        self.keys, self.values = keys[..., :length, :], values[..., :length, :]
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        super().batch_select_indices(indices)
        self._buffers = None  # the selection is a tensor of its own, without room

    @staticmethod
    def _room(states: torch.Tensor, length: int) -> torch.Tensor:
        rows, heads, _, size = states.shape
        return states.new_empty(rows, heads, length + BLOCK, size)


def block_cache(config: Any) -> DynamicCache:
    """An empty cache for a model of this config; layers that are no plain ones (sliding windows) stay as they are."""
    cache = DynamicCache(config=config)
    cache.layers = [_BlockLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache
