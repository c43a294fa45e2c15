"""Values of parsed JSON, checked one by one; a refusal is a ValueError naming the place. Knows no record."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


def refuse(value: object, where: str, wanted: str) -> NoReturn:
    """Raise the ValueError that says where, what would do and what was found."""
    shown = repr(value)
    raise ValueError(f"{where} must be {wanted}, got {shown if len(shown) <= 60 else shown[:60] + '…'}")


def fields(value: object, where: str, keys: str, optional_keys: str = "") -> dict[str, Any]:
    """The value as an object with exactly these keys (separated by spaces), and perhaps the optional ones."""
    if not isinstance(value, dict):
        return refuse(value, where, "an object")
    expected = keys.split()
    for key in expected:
        if key not in value:
            raise ValueError(f"{where} lacks the key {key!r}")
    for key in value:
        if key not in expected and key not in optional_keys.split():
            raise ValueError(f"{where} has the unknown key {str(key)[:60]!r}")
    return value


def each(read: Callable[[object, str], T], value: object, where: str) -> tuple[T, ...]:
    """The value as a list, each item read by `read(item, where)`."""
    if not isinstance(value, list):
        return refuse(value, where, "a list")
    return tuple(read(item, f"{where}[{i}]") for i, item in enumerate(value))


def optional(read: Callable[..., T], value: object, where: str, *more: int) -> T | None:
    """None for null, else `read(value, where, *more)`."""
    return None if value is None else read(value, where, *more)


def string(value: object, where: str) -> str:
    return value if isinstance(value, str) else refuse(value, where, "a text")


def boolean(value: object, where: str) -> bool:
    return value if isinstance(value, bool) else refuse(value, where, "true or false")


def integer(value: object, where: str, least: int) -> int:
    """The value as a whole number from `least` to 2**31 - 1, as databases hold; true and false are none."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31:
        return value
    return refuse(value, where, f"a whole number from {least} to {2**31 - 1}")


def number(value: object, where: str) -> float:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return refuse(value, where, "a finite number")
