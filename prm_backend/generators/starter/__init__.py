"""The starter: procedural problems, and a small adapter trained on them that teaches the default model to work in steps."""

from pathlib import Path

ADAPTER_DIR = Path(__file__).parent / "adapter"
