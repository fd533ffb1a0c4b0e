"""Landlock: this process gives up all access to files but what it is granted."""

from __future__ import annotations

import ctypes
import os
import stat

from . import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .orders import LandlockOrders

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


def abi() -> int:
    """The version of Landlock that this kernel has; 0 where there is none, or it is switched off."""
    found = kernel.syscall(_CREATE_RULESET, None, 0, _ASK_FOR_VERSION)
    return max(found, 0)


def restrict(orders: LandlockOrders) -> None:
    """Give up all access but what is granted. It needs `no_new_privs`.

    Raises:
        OSError: The kernel refuses.
    """
    attributes = (ctypes.c_uint64 * 3)(orders["files"], orders["network"], orders["scopes"])
    size = ctypes.sizeof(attributes)  # older kernels take more than they know where that is zero
    ruleset = kernel.checked(kernel.syscall(_CREATE_RULESET, attributes, size, 0))
    for path, rights in orders["grants"]:
        _grant(ruleset, path, rights & orders["files"])
    kernel.checked(kernel.syscall(_RESTRICT_SELF, ruleset, 0))
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
        kernel.checked(kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
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
