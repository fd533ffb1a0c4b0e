"""The command's own process, until its program replaces the launcher's."""

from __future__ import annotations

import errno
import os
import resource
import signal

from . import kernel, landlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .orders import Orders

# As shells have them: the program can't be run; there is none. And as env(1): who starts it failed.
_NOT_STARTED, _NOT_EXECUTABLE, _NOT_FOUND = 125, 126, 127
# Where there may be any number, as macOS has it.
_MOST_DESCRIPTORS = 1 << 20
# Python ignores these two for itself; programs expect that they end a program.
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ)


def execute(orders: Orders, keeper: int) -> NoReturn:
    """Become the command. Failures are printed, as a shell prints them.

    Args:
        orders: How it is started.
        keeper: The parent's process id.
    """
    code = _NOT_STARTED
    try:
        _prepare(orders, keeper)
        code = _NOT_EXECUTABLE
        os.execv(orders["program"], orders["argv"])
    except BaseException as error:
        if code == _NOT_EXECUTABLE and getattr(error, "errno", None) == errno.ENOENT:
            code = _NOT_FOUND
        why = getattr(error, "strerror", None) or repr(error)
        said = f"agentstepper: {orders['argv'][0]!r} was not started: {why}\n"
        os.write(2, said.encode("utf-8", "surrogateescape"))
    os._exit(code)


def forbid_core_files() -> None:
    """Keep this process from writing a core file when a signal ends it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _prepare(orders: Orders, keeper: int) -> None:
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(_NOT_STARTED)
    for each in _DEFAULTS:
        signal.signal(each, signal.SIG_DFL)
    os.setsid()
    for folder in orders.get("cgroups", ()):
        _join(folder)
    forbid_core_files()
    for limited, most in orders.get("rlimits", ()):
        _lower(limited, most)
    if "landlock" in orders:
        kernel.forbid_new_privileges()
        kernel.drop_capabilities()
        landlock.restrict(orders["landlock"])
    _close_all_but(orders.get("pass_fds", []))
    if "seccomp" in orders:
        kernel.filter_calls(orders["seccomp"])


def _join(folder: str) -> None:
    """Move this process to a control group."""
    descriptor = os.open(f"{folder}/cgroup.procs", os.O_WRONLY)
    try:
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)


def _lower(limited: int, most: int) -> None:
    """Lower a resource's limit; one that is lower already stays."""
    _, hard = resource.getrlimit(limited)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limited, (most, most))


def _close_all_but(wanted: list[int]) -> None:
    """Close all descriptors but the standard streams and those that the program inherits."""
    start = 3
    for each in sorted(wanted):
        os.closerange(start, each)
        os.set_inheritable(each, True)
        start = each + 1
    os.closerange(start, min(os.sysconf("SC_OPEN_MAX"), _MOST_DESCRIPTORS))
