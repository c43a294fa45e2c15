"""The starter: procedural problems, and the adapter trained on them that teaches the default model to work in steps."""

from pathlib import Path

ADAPTER_DIR = Path(__file__).parent / "adapter"
