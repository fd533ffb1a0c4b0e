"""Calls of the Linux kernel that Python has no function for. Elsewhere they do nothing."""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47

_SECCOMP_MODE_FILTER = 2
_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_INSTRUCTION_BYTES = 8

_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int) -> None:
    """Get a signal when the parent process ends, however it ends."""
    if sys.platform == "linux":
        checked(_prctl(_PR_SET_PDEATHSIG, number))


def become_subreaper() -> None:
    """Become the parent of each descendant whose own parent ends: daemons can't get away."""
    if sys.platform == "linux":
        checked(_prctl(_PR_SET_CHILD_SUBREAPER, 1))


def forbid_new_privileges() -> None:
    """Have setuid programs, and those with capabilities, run without any of that."""
    checked(_prctl(_PR_SET_NO_NEW_PRIVS, 1))


def drop_capabilities() -> None:
    """Drop all capabilities for good. It needs `forbid_new_privileges` before.

    Raises:
        OSError: The kernel refuses.
    """
    # Only who has CAP_SETPCAP can; who hasn't can't get any back, by `no_new_privs`.
    for each in range(64):
        _prctl(_PR_CAPBSET_DROP, each)
    _prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked(_LIBC.capset(header, nothing))


def filter_calls(program: bytes) -> None:
    """Have the kernel refuse system calls. It needs `forbid_new_privileges` before.

    Args:
        program: An array of `struct sock_filter`.

    Raises:
        OSError: The kernel refuses.
    """
    instructions = ctypes.create_string_buffer(program, len(program))
    head = _Program(len(program) // _INSTRUCTION_BYTES, ctypes.addressof(instructions))
    checked(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head)))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def syscall(number: int, *args: object) -> int:
    """Call the kernel; negative: it failed, and `checked` says why.

    Args:
        number: The number of the call.
        args: Its arguments; a number is as wide as a register.
    """
    wide = (ctypes.c_long(each) if isinstance(each, int) else each for each in args)
    return int(_LIBC.syscall(ctypes.c_long(number), *wide))


def checked(result: int) -> int:
    """What a call gave.

    Raises:
        OSError: It failed.
    """
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _prctl(option: int, *values: int) -> int:
    padded = (*values, 0, 0, 0, 0)[:4]
    return int(_LIBC.prctl(option, *(ctypes.c_ulong(each) for each in padded)))
