"""Calls of the Linux kernel that Python has no function for, and Landlock, which is made of such."""

from __future__ import annotations

import ctypes
import os
import stat
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from .launch_spec import LandlockRules


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


def die_with_parent(signal_number: int) -> None:
    """Get a signal when the parent process ends, however it ends."""
    if sys.platform == "linux":
        check_result(_prctl(_PR_SET_PDEATHSIG, signal_number))


def become_subreaper() -> None:
    """Become the parent of each descendant whose own parent ends: daemons can't get away."""
    if sys.platform == "linux":
        check_result(_prctl(_PR_SET_CHILD_SUBREAPER, 1))


def forbid_new_privileges() -> None:
    """Have setuid programs, and those with capabilities, run without any of that."""
    check_result(_prctl(_PR_SET_NO_NEW_PRIVS, 1))


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
    check_result(_LIBC.capset(header, nothing))


def install_seccomp_filter(program: bytes) -> None:
    """Have the kernel refuse system calls. It needs `forbid_new_privileges` before.

    Args:
        program: An array of `struct sock_filter`.

    Raises:
        OSError: The kernel refuses.
    """
    instructions = ctypes.create_string_buffer(program, len(program))
    head = _Program(len(program) // _INSTRUCTION_BYTES, ctypes.addressof(instructions))
    check_result(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head)))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def call_syscall(syscall_number: int, *args: object) -> int:
    """Call the kernel; negative: it failed, and `checked` says why.

    Args:
        syscall_number: The number of the call.
        args: Its arguments; a number is as wide as a register.
    """
    wide = (ctypes.c_long(each) if isinstance(each, int) else each for each in args)
    return int(_LIBC.syscall(ctypes.c_long(syscall_number), *wide))


def check_result(result: int) -> int:
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


# These calls have the same numbers on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_FOR_VERSION = 1
_PATH_BENEATH = 1

#: Rights on files, as linux/landlock.h numbers them.
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# Those that a rule on a file, not a folder, may name.
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def find_landlock_abi() -> int:
    """The version of Landlock that this kernel has; 0 where there is none, or it is switched off."""
    found = call_syscall(_CREATE_RULESET, None, 0, _ASK_FOR_VERSION)
    return max(found, 0)


def restrict_access(spec: LandlockRules) -> None:
    """Give up all access but what is granted. It needs `no_new_privs`.

    Raises:
        OSError: The kernel refuses.
    """
    attributes = (ctypes.c_uint64 * 3)(spec["files"], spec["network"], spec["scopes"])
    size = ctypes.sizeof(attributes)  # older kernels take more than they know where that is zero
    ruleset = check_result(call_syscall(_CREATE_RULESET, attributes, size, 0))
    for path, rights in spec["grants"]:
        _grant(ruleset, path, rights & spec["files"])
    check_result(call_syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def _grant(ruleset: int, path: str, rights: int) -> None:
    """Grant rights on a file, or on a folder and all below it; what is gone needs no grant."""
    try:
        descriptor = _open_without_links(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, descriptor)
        check_result(call_syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(descriptor)


def _open_without_links(path: str) -> int:
    """Open a path of which no part is a link.

    A link that another command makes between the choice of a grant and now leads nowhere: the rule is
    on the link itself, or the folder that it should be isn't one.
    """
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open("/", flags)
    for part in path.split("/"):
        if part:
            above = descriptor
            try:
                descriptor = os.open(part, flags, dir_fd=above)
            finally:
                os.close(above)
    return descriptor
