"""Plain values as JSON, so that tests can call a function in another process and get nothing but data back.

What comes out of `unpack` is made here, of built-in types: no method of a stranger's class is ever called on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_ITEMS = 1_000_000


class Opaque(Exception):
    """A value that is no plain data, such as a function or an object of one's own class."""


def pack(value: Any) -> Any:
    """Plain data as JSON: an iterator becomes what it yields. Raises Opaque."""
    if value is None or isinstance(value, bool):
        return value
    for kind, tag in _TAGS:
        if isinstance(value, kind):
            return [tag, *_parts(tag, value)]
    raise Opaque(type(value).__name__)


def unpack(packed: Any) -> Any:
    """The value of what `pack` made. Raises ValueError, TypeError … on anything else."""
    if packed is None or isinstance(packed, bool):
        return packed
    tag, parts = packed[0], packed[1:]
    if tag == "dict":
        return {unpack(key): unpack(value) for key, value in parts}
    if tag in _OF_ITEMS:
        return _OF_ITEMS[tag](unpack(part) for part in parts)
    return _SIMPLE[tag](*parts)


def _parts(tag: str, value: Any) -> Any:
    if tag == "int":
        return [int.__format__(value, "x")]
    if tag == "float":
        return [float.hex(value)]
    if tag == "complex":
        return [value.real.hex(), value.imag.hex()]
    if tag == "str":
        return [str.__str__(value)]
    if tag in ("bytes", "bytearray"):
        return [value.hex()]
    if tag == "range":
        return [value.start, value.stop, value.step]
    if tag == "dict":
        return [[pack(key), pack(item)] for key, item in value.items()]
    items: list[Any] = []
    for item in value:
        if len(items) >= MOST_ITEMS:
            raise Opaque(f"more than {MOST_ITEMS} items")
        items.append(pack(item))
    return items


_TAGS: list[tuple[type, str]] = [
    (int, "int"),
    (float, "float"),
    (complex, "complex"),
    (str, "str"),
    (bytes, "bytes"),
    (bytearray, "bytearray"),
    (range, "range"),
    (dict, "dict"),
    (list, "list"),
    (tuple, "tuple"),
    (set, "set"),
    (frozenset, "frozenset"),
    (Iterator, "iterator"),
]
_OF_ITEMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "iterator": lambda items: iter(list(items)),
}
_SIMPLE: dict[str, Any] = {
    "int": lambda digits: int(digits, 16),
    "float": float.fromhex,
    "complex": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "str": str,
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "range": range,
}
