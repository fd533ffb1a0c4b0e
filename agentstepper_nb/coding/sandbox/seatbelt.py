"""Confines commands on macOS by `sandbox-exec`, with a profile that is made for each command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from ...errors import SandboxError
from . import CommandLaunch, ResourceLimits, SandboxAccess
from .command_environment import make_environment
from .git_paths import GitPaths, find_git_parts
from .launch import DAEMONS_NOT_ENDED, GRACE_S, Sandbox, prepare_launch
from .launcher.launch_spec import LaunchSpec
from .visible_paths import find_own_python, find_visible_paths

PROGRAM: Final = Path("/usr/bin/sandbox-exec")

# What macOS has beside the folders that other systems have, too.
_SYSTEM: Final = (
    "/System",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/Library/Frameworks",
    "/Applications/Xcode.app",
    "/opt/homebrew",
    "/private/var/db/timezone",
    "/private/var/select",
)
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")

# A later rule wins. What a program finds of the system itself is Apple's own list, `system.sb`.
_BASICS: Final = """\
(version 1)
(deny default)
(import "system.sb")
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow ipc-posix-sem)
"""
_NETWORK: Final = """\
(allow system-socket)
(allow network-bind network-inbound (local ip))
(allow network-outbound (remote ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))
"""

_GAPS: Final = (
    "A command can find out whether any file exists, and how large it is.",
    DAEMONS_NOT_ENDED,
)


class Seatbelt(Sandbox):
    """Confines commands by macOS's Seatbelt.

    Args:
        limits: What one command may use.

    Raises:
        SandboxError: There is no `sandbox-exec`.
    """

    name = "seatbelt"

    def __init__(self, limits: ResourceLimits | None = None, program: Path = PROGRAM) -> None:
        if not program.exists():
            raise SandboxError(
                f"Seatbelt can't confine commands: {program} is missing. It is a part of macOS."
            )
        self._program = program
        super().__init__(limits)

    @property
    def missing_protections(self) -> tuple[str, ...]:
        """What isn't held."""
        return _GAPS

    @contextlib.contextmanager
    def prepare_command(
        self, argv: Sequence[str], folder: Path, access: SandboxAccess
    ) -> Iterator[CommandLaunch]:
        """Prepare a command; see `Sandbox.prepare_command`."""
        spec = LaunchSpec(
            program=str(self._program),
            argv=[self._program.name, "-p", make_profile(access), *argv],
            parent_death_fd=-1,
            grace_s=GRACE_S,
        )
        with prepare_launch(
            spec, make_environment(access.home, access.temporary_folder), self._limits
        ) as launch:
            yield launch


def make_profile(access: SandboxAccess) -> str:
    """What a command may do, in the language of Seatbelt's profiles.

    Args:
        access: What the command may reach.
    """
    own = (access.home, access.temporary_folder)
    changeable, parts = access.writable_folders, find_git_parts(*access.writable_folders)
    seen = (
        *find_visible_paths((access.workspace, *access.writable)),
        *map(Path, _SYSTEM),
        *access.readable,
        access.workspace,
        *changeable,
        *parts.outside_folders,
    )
    lines = [
        _BASICS,
        _rule("allow", "file-read* process-exec*", seen),
        _rule("allow", "file-read* file-write-data file-ioctl", map(Path, _DEVICES)),
        # Where the workspace lies in a hidden folder, the workspace stays.
        _rule("deny", "file-read* file-write* process-exec*", access.hidden),
        _rule("allow", "file-read* process-exec*", _in_hidden(access)),
        _rule(
            "allow",
            "file-read* file-write* process-exec*",
            (*changeable, *parts.outside_folders, *own),
        ),
        _rule("deny", "file-read* file-write* process-exec*", _hidden_inside(access)),
        _rule("deny", "file-write*", _fixed(access, parts)),
        _rule("deny", "file-write-unlink", parts.entries, "literal"),
        _rule("deny", "file-read* file-write*", access.unreadable),
        _rule("allow", "file-read* file-write* process-exec*", own),
        _NETWORK if access.has_network else "(deny network*)\n",
    ]
    return "".join(lines)


def _in_hidden(access: SandboxAccess) -> Iterator[Path]:
    if any(access.workspace.is_relative_to(each) for each in access.hidden):
        yield access.workspace


def _hidden_inside(access: SandboxAccess) -> Iterator[Path]:
    """The hidden folders that lie in what a command may read or change."""
    for each in access.hidden:
        if not access.workspace.is_relative_to(each):
            yield each


def _fixed(access: SandboxAccess, parts: GitPaths) -> Iterator[Path]:
    """What a command can't change where it may change all else; names that don't exist, too."""
    yield from access.read_only
    yield from parts.read_only
    yield from (placeholder.path for placeholder in parts.missing)
    yield from (path for path in find_own_python() if path not in access.writable_folders)


def _rule(
    verb: Literal["allow", "deny"],
    operations: str,
    paths: Iterable[Path],
    kind: Literal["subpath", "literal"] = "subpath",
) -> str:
    """One rule on paths; nothing where there is no path. Seatbelt knows paths without links alone."""
    found = dict.fromkeys(path.resolve() for path in paths)
    filters = "".join(f"\n  ({kind} {_quoted(path)})" for path in found)
    return f"({verb} {operations}{filters})\n" if filters else ""


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
