"""A machine that refuses user namespaces, as containers do: by a filter that a process begins with.

    subprocess.run(without_userns("bwrap", "--unshare-user", …))

As a program: installs the filter and becomes the command in its arguments.
"""

import ctypes
import os
import struct
import sys
from pathlib import Path

from agentstepper_nb.coding.sandbox.seccomp import CLONE_NEWUSER, SyscallRefusal, assemble_filter

NO_USER_NAMESPACES = (
    SyscallRefusal(("clone", "unshare"), 0, "any bit of", (CLONE_NEWUSER,)),
    SyscallRefusal(("clone3",), error=38),  # ENOSYS: the caller takes `clone`
)

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


def without_userns(*words: str) -> list[str]:
    """A command that runs another one where no user namespace can be made."""
    return [sys.executable, str(Path(__file__)), *words]


def install(refusals: tuple[SyscallRefusal, ...]) -> None:
    """Put a filter on this process and all that it starts."""
    code = assemble_filter(refusals)
    libc = ctypes.CDLL(None, use_errno=True)
    filter = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(filter))
    for option, value, where in (
        (_PR_SET_NO_NEW_PRIVS, 1, None),
        (_PR_SET_SECCOMP, _MODE_FILTER, program),
    ):
        if libc.prctl(option, ctypes.c_ulong(value), where, 0, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    install(NO_USER_NAMESPACES)
    os.execvp(sys.argv[1], sys.argv[1:])
