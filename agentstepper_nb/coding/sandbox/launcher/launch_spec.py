"""What the agent tells the launcher. Imported for types alone: `typing` is slow to import."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class LandlockRules(TypedDict):
    """What a command is granted; all else of what is handled is refused.

    Args:
        files: The rights on files that are handled.
        network: The rights on the network that are handled.
        scopes: What is only reached within the sandbox.
        grants: Paths without links, with the rights on each and on all below it.
    """

    files: int
    network: int
    scopes: int
    grants: list[tuple[str, int]]


class LaunchSpec(TypedDict):
    """How one command is started, as `marshal` carries it.

    Args:
        program: The program's path; the launcher searches no PATH.
        argv: What the program is given, its own name first.
        parent_death_fd: The descriptor of a pipe's read end; all ends when the pipe's last writer
            is gone.
        pass_fds: Descriptors beside the standard streams that the program inherits.
        grace_s: Seconds that programs have to end by themselves after SIGTERM.
        cgroups: Folders of control groups that the command joins.
        rlimits: Resources as `resource` numbers them, with the most that the command may use.
        landlock: What the command is granted. With it capabilities are dropped.
        seccomp: The filter of its system calls.
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
