"""Which solutions deserve a person's time. Pure choices over dataclasses: no rows, no tensors."""
