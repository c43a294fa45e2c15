"""The stranger's side: its program is loaded and called here. Whatever it does to this process, it can only answer."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from prm_backend.sandbox.wire import Opaque, pack, unpack

Reply = dict[str, Any]


def serve(read: Callable[[], Any], write: Callable[[Any], None]) -> None:
    """Answer each request: {"load": code}, {"look": name}, {"call": name, "args", "kwargs"}, {"run": code, "input"}."""
    scope = _module("solution")
    while (request := read()) is not None:
        sys.stdin, sys.stdout, sys.stderr = _stream(""), _stream(""), _stream("")
        try:
            reply = _answer(request, scope)
        except BaseException as error:  # SystemExit, too
            reply = {"raised": type(error).__name__, "text": _text_of(error)}
        write(reply)


def _answer(request: Any, scope: dict[str, Any]) -> Reply:
    if "load" in request:
        exec(_compiled(request["load"]), scope)
        return {"loaded": True}
    if "run" in request:
        return _run(request["run"], request["input"])
    name = request.get("look") or request["call"]
    if name not in scope:
        return {"missing": name}
    try:
        if "look" in request:
            return {"callable": True} if callable(scope[name]) else {"value": pack(scope[name])}
        args, kwargs = unpack(request["args"]), unpack(request["kwargs"])
        value = scope[name](*args, **kwargs)
        return {"value": pack(value), "args": pack(args)}  # a list may have been sorted in place
    except Opaque as opaque:
        return {"opaque": str(opaque)}


def _run(code: str, given: str) -> Reply:
    sys.stdin, out = _stream(given), _stream("")
    sys.stdout = out
    try:
        exec(_compiled(code), _module("__main__"))
    except SystemExit as exit:
        if exit.code not in (None, 0):
            raise
    out.flush()
    return {"output": out.buffer.getvalue().decode("utf-8", "replace")}


def _compiled(code: str) -> CodeType:
    return compile(code, "<solution>", "exec", dont_inherit=True)  # this file's __future__ is not theirs


def _module(name: str) -> dict[str, Any]:
    """The scope of a new module, which is where dataclasses and others look for it."""
    module = sys.modules[name] = ModuleType(name)
    return module.__dict__


class _Stream(io.TextIOWrapper):
    buffer: io.BytesIO


def _stream(text: str) -> _Stream:
    return _Stream(
        io.BytesIO(text.encode("utf-8", "replace")), encoding="utf-8", errors="replace", newline="\n"
    )


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:300]
    except BaseException:
        return ""
