"""The tests' side: asserts run here, where no line of the stranger's does; its functions are asked over the wire."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

from prm_backend.sandbox.wire import Opaque, pack, unpack

Reply = dict[str, Any]
Ask = Callable[[Any], Any]


class _Undecided(BaseException):
    """Nothing can be said; passes through the `except Exception` that a test may have."""


class _Remote:
    """A function of the stranger's program."""

    def __init__(self, name: str, ask: Ask, called: list[str]) -> None:
        self._name, self._ask, self._called = name, ask, called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            request = {"call": self._name, "args": pack(list(args)), "kwargs": pack(kwargs)}
        except Opaque as opaque:
            raise _Undecided(
                f"{self._name} is called with a {opaque}, which only lives in one process"
            ) from None
        self._called.append(self._name)
        reply = self._ask(request)
        _check(self._name, reply)
        value = unpack(reply["value"])
        for ours, theirs in zip(args, unpack(reply["args"]), strict=True):
            _bring_back(ours, theirs)
        return value


def run(tests: list[str], modules: dict[str, ModuleType], ask: Ask) -> Reply:
    """{"passed": n}, {"failed": index, "why"} or {"undecided": why}. The tests share one scope, in order."""
    called: list[str] = []
    scope: dict[str, Any] = {"__name__": "tests"}
    for index, test in enumerate(tests):
        try:
            tree = ast.parse(test)
            for name in _free_names(tree) - set(scope):
                scope[name] = modules.get(name) or _look(name, ask, called)
            exec(compile(tree, "<tests>", "exec", dont_inherit=True), scope)
        except _Undecided as why:
            return {"undecided": f"test {index + 1}: {why}"}
        except (SyntaxError, NameError, ImportError) as error:
            if isinstance(error, _Theirs):
                return _failed(index, error)
            return {"undecided": f"test {index + 1} is itself at fault: {type(error).__name__}: {error}"}
        except MemoryError:
            return {"undecided": f"test {index + 1}: out of memory"}
        except BaseException as error:
            return _failed(index, error)
    if not called:
        return {"undecided": "the tests never call the program"}
    return {"passed": len(tests)}


def _free_names(tree: ast.AST) -> set[str]:
    """Names that the test reads and nobody binds: built-in ones stay built in, so a program can't take their place."""
    read: set[str] = set()
    bound = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return read - bound


def _look(name: str, ask: Ask, called: list[str]) -> Any:
    """What the program has under that name: a function to call from here, or the value of a constant."""
    reply = ask({"look": name})
    if reply.get("callable"):
        return _Remote(name, ask, called)
    _check(name, reply)
    called.append(name)
    return unpack(reply["value"])


def _check(name: str, reply: Reply) -> None:
    """Raise what the program raised, or _Undecided where it gave nothing to compare."""
    if "missing" in reply:
        raise _Undecided(f"the program defines no {name}")
    if "opaque" in reply:
        raise _Undecided(f"{name} gives a {str(reply['opaque'])[:100]}, which tests can't look at")
    if "raised" in reply:
        raise _exception(str(reply["raised"]), str(reply["text"]))


class _Theirs(Exception):
    """Marks an exception of the program's, whatever else it is."""


def _exception(name: str, text: str) -> BaseException:
    """The built-in exception of that name, so that a test may expect it."""
    if name == "ModuleNotFoundError":
        return _Undecided(f"the program needs a module that is not there: {text}")
    if name == "MemoryError":
        return _Undecided("the program ran out of memory")
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return type(name, (_Theirs, kind), {})(text)
        except Exception:  # UnicodeDecodeError wants more than a text
            pass
    return type(name, (_Theirs,), {})(text)


def _failed(index: int, error: BaseException) -> Reply:
    return {"failed": index, "why": f"{type(error).__name__}: {error}".removesuffix(": ")[:300]}


def _bring_back(ours: Any, theirs: Any) -> None:
    """What the call did to an argument in place."""
    if ours == theirs:
        return
    if isinstance(ours, list | bytearray):
        ours[:] = theirs
    elif isinstance(ours, dict | set):
        ours.clear()
        ours.update(theirs)
