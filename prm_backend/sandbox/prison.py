"""How a process shuts itself in: no network, files, processes or threads, little memory and time. Linux only.

A seccomp filter lets through what plain computing needs and answers everything else with EPERM, so nothing that Python
code does (ctypes, frames, the garbage collector …) leads out. See seccomp(2), and linux/seccomp.h for the numbers.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import os
import platform
import resource
import sys
from types import ModuleType

# What programs may import: loaded before the door shuts, for no file can be read afterwards.
ALLOWED = (
    "abc", "array", "ast", "base64", "binascii", "bisect", "builtins", "calendar", "cmath", "collections",
    "collections.abc", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "inspect", "io", "itertools",
    "json", "keyword", "math", "numbers", "operator", "os", "pprint", "queue", "random", "re", "secrets",
    "statistics", "string", "struct", "sys", "textwrap", "threading", "time", "timeit", "traceback",
    "types", "typing", "unicodedata", "uuid", "warnings", "zlib", "_strptime", "encodings.ascii",
    "encodings.latin_1", "encodings.utf_16", "encodings.utf_32", "encodings.idna",
)  # fmt: skip

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SIGKILL, _FILTER_MODE = 9, 2
_KILL, _ALLOW, _REFUSE = 0x8000_0000, 0x7FFF_0000, 0x0005_0000 | errno.EPERM
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4

# By machine: its AUDIT_ARCH, and its numbers of the calls that are let through.
_MACHINES = {
    "x86_64": (
        0xC000_003E,
        {
            "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10,
            "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
            "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60,
            "gettimeofday": 96, "getrusage": 98, "times": 100, "sigaltstack": 131, "time": 201,
            "futex": 202, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
            "clock_nanosleep": 230, "exit_group": 231, "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC000_00B7,
        {
            "close": 57, "lseek": 62, "read": 63, "write": 64, "fstat": 80, "exit": 93, "exit_group": 94,
            "futex": 98, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114,
            "clock_nanosleep": 115, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
            "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "getrusage": 165,
            "gettimeofday": 169, "getpid": 172, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226,
            "madvise": 233, "getrandom": 278,
        },
    ),
}  # fmt: skip


class NoPrison(Exception):
    """This machine can't shut a process in; nothing may be run here."""


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


def load_allowed() -> dict[str, ModuleType]:
    """Import what programs may import."""
    modules = {name: importlib.import_module(name) for name in ALLOWED}
    "".encode("cp437", "replace")
    return modules


def shut_in(*, cpu_seconds: int, memory_bytes: int, machine: str | None = None) -> None:
    """Shut this process in for good. Raises NoPrison where the kernel does not grant it all.

    Standard streams become /dev/null; what the caller holds open besides stays open.
    """
    machine = machine or platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES or sys.maxsize < 2**32:
        raise NoPrison(
            f"programs are run on Linux on {' or '.join(_MACHINES)}, not on {sys.platform} on {machine}"
        )
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    # A second more before the kill that can't be caught: SIGXCPU tells why.
    _limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _limit(resource.RLIMIT_AS, memory_bytes, memory_bytes)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK):
        _limit(kind, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    _control(libc, _PR_SET_PDEATHSIG, _SIGKILL)
    _control(libc, _PR_SET_NO_NEW_PRIVS, 1)
    architecture, calls = _MACHINES[machine]
    steps = _filter(architecture, sorted(calls.values()))
    instructions = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    _control(libc, _PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(_Program(len(steps), instructions)))
    _forget_the_way_out()


def _filter(architecture: int, calls: list[int]) -> list[tuple[int, int, int, int]]:
    """The filter's instructions (BPF): another architecture's numbers mean other calls, so those kill."""
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for call in calls:
        steps += [(_JUMP_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ALLOW)]
    return [*steps, (_RETURN, 0, 0, _REFUSE)]


def _control(libc: ctypes.CDLL, option: int, value: object, pointer: object = 0) -> None:
    arguments = [option, value, pointer, 0, 0]
    if libc.prctl(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)) != 0:
        why = os.strerror(ctypes.get_errno())
        raise NoPrison(f"this machine's kernel refuses to shut a process in (prctl {option}: {why})")


def _limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit, within the hard one that the machine may have set already."""
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def _forget_the_way_out() -> None:
    """Let an import that can't work fail by name, rather than by what it may not open."""
    for name in ("ctypes", "_ctypes", "resource"):
        sys.modules.pop(name, None)
    sys.argv[:] = [""]
    sys.path.clear()
    sys.path_hooks.clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder"]
