"""The launcher's input. Imported only for type checking, since `typing` is slow to import."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class LandlockRules(TypedDict):
    """The Landlock rules of a command. Handled rights that aren't granted are refused.

    Args:
        files: The handled rights on files.
        network: The handled rights on the network.
        scopes: The scopes that are limited to the sandbox.
        grants: Paths with symbolic links resolved, with the rights on each path and all paths below.
    """

    files: int
    network: int
    scopes: int
    grants: list[tuple[str, int]]


class LaunchSpec(TypedDict):
    """The start of one command, encoded with `marshal`.

    Args:
        program: The program's path; the launcher searches no PATH.
        argv: The program's arguments, beginning with the program's name.
        parent_death_fd: The descriptor of a pipe's read end. The command is killed when the pipe's last
            writer is closed.
        pass_fds: Descriptors besides the standard streams that the program inherits.
        grace_s: Seconds for programs to end after SIGTERM.
        cgroups: Folders of control groups that the command joins.
        rlimits: The limits of the command, by the numbers of `resource`.
        landlock: The command's Landlock rules. With rules, capabilities are dropped.
        seccomp: The filter of the command's system calls.
    """

    program: str
    argv: list[str]
    parent_death_fd: int
    grace_s: float
    pass_fds: NotRequired[list[int]]
    cgroups: NotRequired[list[str]]
    rlimits: NotRequired[list[tuple[int, int]]]
    landlock: NotRequired[LandlockRules]
    seccomp: NotRequired[bytes]
