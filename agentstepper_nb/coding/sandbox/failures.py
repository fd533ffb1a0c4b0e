"""Finds the access that a failed command lacked in the sandbox, from the command's output."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from . import SandboxAccess, SandboxChoice

#: Characters of an output's end that are looked at: programs say last why they failed.
_MAX_OUTPUT_CHARS: Final = 20_000
#: Lines of an output that may name a path.
_MAX_LINES: Final = 200

# What resolvers and programs say where there is no network: libc, Python, curl, wget, git, ssh, pip,
# npm, node, go, cargo, uv.
_NO_NETWORK: Final = re.compile(
    r"temporary failure in name resolution|name or service not known|could not resolve host"
    r"|unable to resolve host|network is unreachable|\bENETUNREACH\b|\bEAI_AGAIN\b|\bENOTFOUND\b"
    r"|failed to lookup address information|\bdns error\b|\bdial tcp\b.*(?:lookup|unreachable)"
    r"|nodename nor servname"
    # Where every socket is refused:
    r"|socket(?:.|\n){0,150}(?:operation not permitted|permission denied)"
    r"|code: 'E(?:PERM|ACCES)',\s+syscall: 'connect'"
    r"|(?:operation not permitted|permission denied).{0,80}socket"
    r"|(?:connect|listen|bind) (?:EPERM|EACCES)|urlopen error \[Errno (?:1|13)\]"
    r"|failed to establish a new connection: \[Errno (?:1|13)\]"
    r"|couldn't open socket|could not create socket",
    re.IGNORECASE,
)
# curl says the same of a service of this machine that isn't there; there the network doesn't help.
_UNREACHABLE: Final = re.compile(
    r"failed to connect to (?!127\.|localhost|::1|\[::1\]|0\.0\.0\.0)\S+", re.IGNORECASE
)
_REFUSED: Final = re.compile(
    r"read-only file system|\bEROFS\b|permission denied|\bEACCES\b|operation not permitted|\bEPERM\b",
    re.IGNORECASE,
)
_ABSENT: Final = re.compile(
    r"no such file or directory|\bENOENT\b|directory nonexistent|not a directory|does not exist",
    re.IGNORECASE,
)
_CREATES: Final = re.compile(
    r"(?:cannot|can't|could not|unable to) (?:create|touch|mkdir|make)|nonexistent|\bmkdir\b"
    r"|for writing",
    re.IGNORECASE,
)
# A path in quotes, which may have spaces; one that stands alone; a relative one after such a word.
_PATH: Final = re.compile(
    r"""['"‘`](?P<quoted>[^'"’`\n]+)['"’`]|(?<![\w./'"‘`-])(?P<plain>(?:/|\.\./)[^\s:,;'"’`)\]]+)"""
    r"""|\b(?:create|remove|open|file|directory|mkdir) (?P<bare>[^\s:'"‘`/][^\s:'"’`]*)(?=:)"""
)
# How shells begin a line: `/bin/bash: line 1: out/x: Permission denied`, `sh: 1: cannot create …`.
_SHELL: Final = re.compile(r"^\S*sh: (?:line )?\d+: ")
_REDIRECTED: Final = re.compile(r"^(?P<bare>[^:\n]+): (?=[^:\n]+$)")
# What node quotes beside a path.
_CODE: Final = re.compile(r"E[A-Z]+|connect")
#: Folders that nobody is asked about: the system's, in which a command has nothing to change.
_SYSTEM: Final = (
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "proc",
    "run",
    "sbin",
    "sys",
)
#: Folders of everybody's: of these a command has its own, by TMPDIR.
_SHARED: Final = (
    Path("/tmp"),
    Path("/var/tmp"),
    Path("/srv"),
    Path("/mnt"),
    Path("/opt"),
    Path("/var"),
)
_GIT: Final = ".git"


class SandboxFailure(Struct, frozen=True, kw_only=True):
    """Why a command failed on the sandbox.

    Args:
        cause: The reason, as the end of "it failed: …".
        advice: What the model may do about it.
        network: Whether the command would have the network by asking for it.
        folder: A folder that the command could change by asking for it.
    """

    cause: str
    advice: str
    network: bool = False
    folder: Path | None = None

    @property
    def retry_args(self) -> dict[str, Any]:
        """The arguments of `run_command` by which the same command may pass; empty: there are none."""
        if self.network:
            return {"network": True}
        return {} if self.folder is None else {"writable": [str(self.folder)]}

    @property
    def retry_question(self) -> str:
        """The question to a person: the end of "`npm ci` failed: …"."""
        how = "with the network" if self.network else f"with `{self.folder}` writable"
        return f"{self.cause}. Run it again {how}?"


_READ_ONLY: Final = SandboxFailure(
    cause="this session is read-only",
    advice="Commands can't change the workspace in this session's mode. Don't try again.",
)


def find_sandbox_failure(
    output: str, folder: Path, access: SandboxAccess, sandbox: SandboxChoice
) -> SandboxFailure | None:
    """Find out whether a command failed on what the sandbox refuses.

    Args:
        output: What the command printed.
        folder: Where the command ran.
        access: What the command could reach.
        sandbox: The sandbox's name.

    Returns:
        None where nothing tells that the sandbox is the reason.
    """
    if sandbox == "none":
        return None
    end = output[-_MAX_OUTPUT_CHARS:]
    return _no_network(end, access) or _refused_path(end, folder, access, sandbox)


def _no_network(output: str, access: SandboxAccess) -> SandboxFailure | None:
    if access.has_network or not (_NO_NETWORK.search(output) or _UNREACHABLE.search(output)):
        return None
    return SandboxFailure(
        cause="the sandbox has no network",
        advice="Commands have no network. If the task needs it, call `run_command` again with "
        "`network: true`: a person is asked.",
        network=True,
    )


def _refused_path(
    output: str, folder: Path, access: SandboxAccess, sandbox: SandboxChoice
) -> SandboxFailure | None:
    for line in output.splitlines()[-_MAX_LINES:]:
        refused, absent = _REFUSED.search(line), _ABSENT.search(line)
        if not (refused or absent):
            continue
        is_creating = _CREATES.search(line) is not None or _redirected(line) is not None
        # A line such as `Error: EROFS, open` of a program may name no path at all.
        if refused and not access.is_workspace_writable and not any(_paths(line, folder)):
            return _READ_ONLY
        for path in _paths(line, folder):
            found = (
                _find_denied_path(path, access, sandbox)
                if refused
                else _find_absent_path(path, access, is_creating=is_creating)
            )
            if found is not None:
                return found
    return None


def _paths(line: str, folder: Path) -> Iterator[Path]:
    """The paths that a line names; a relative one starts where the command ran."""
    if target := _redirected(line):
        yield Path(os.path.normpath(folder / target))
        return
    for found in _PATH.finditer(_SHELL.sub("", line)):
        text = found["quoted"] or found["bare"] or found["plain"].rstrip(".")
        if text and "\0" not in text and not _CODE.fullmatch(text):
            yield Path(os.path.normpath(folder / text))


def _redirected(line: str) -> str | None:
    """What bash couldn't open for a redirection; None where the line is no such complaint."""
    rest = _SHELL.sub("", line)
    found = None if rest == line else _REDIRECTED.match(rest)
    return None if found is None or found["bare"].startswith("cannot ") else found["bare"]


def _find_denied_path(
    path: Path, access: SandboxAccess, sandbox: SandboxChoice
) -> SandboxFailure | None:
    """Why a path couldn't be changed that the command sees."""
    if path.is_relative_to(access.workspace):
        return _denied_inside(path, access, sandbox)
    return None if _is_own(path, access) else _outside(path, access)


def _denied_inside(
    path: Path, access: SandboxAccess, sandbox: SandboxChoice
) -> SandboxFailure | None:
    if not access.is_workspace_writable:
        return _READ_ONLY
    if _GIT in path.parts:
        return SandboxFailure(
            cause=f"commands can't change `{path}`",
            advice="What git runs or is set by in `.git` is read-only for commands. Commit with the "
            "tool `git_commit`.",
        )
    if sandbox == "landlock" and path.parent == access.workspace and not os.path.lexists(path):
        return SandboxFailure(
            cause="this sandbox allows no new names in the repository's top folder",
            advice=f"Make `{path.name}` with `write_file` first, or let the command write into a "
            "folder below.",
        )
    return None


def _find_absent_path(
    path: Path, access: SandboxAccess, *, is_creating: bool
) -> SandboxFailure | None:
    """Why a path isn't there for the command, where it is there outside of the sandbox."""
    if path.is_relative_to(access.workspace) or _is_own(path, access):
        return None
    if _is_below(path, access.hidden):
        return None  # that there is such a file is nothing for the agent
    if not is_creating and os.path.lexists(path):
        return SandboxFailure(
            cause=f"commands don't see `{path}`",
            advice=f"`{path}` is outside of what the sandbox shows. Work without it, or ask the person "
            "to add its folder to the session's setting `readable`.",
        )
    # In a folder that commands see, nothing would be absent: it would be read-only.
    if not is_creating or not path.parent.is_dir() or _is_never_asked(path.parent, access):
        return None
    return _outside(path, access)


def _outside(path: Path, access: SandboxAccess) -> SandboxFailure | None:
    """What asking may help where a command was to change a path outside of the workspace."""
    folder = _changeable_folder(path)
    if folder is None or _is_below(folder, access.hidden) or _is_below(folder, access.writable):
        return None
    if _is_never_asked(folder, access):
        return SandboxFailure(
            cause=f"commands can't change `{path}`",
            advice=f"`{folder}` is outside of the workspace. Keep to the workspace and `$TMPDIR`.",
        )
    return SandboxFailure(
        cause=f"commands can't change `{folder}`",
        advice=f"`{folder}` is outside of the workspace. If the task needs it, call `run_command` "
        f'again with `writable: ["{folder}"]`: a person is asked.',
        folder=folder,
    )


def _changeable_folder(path: Path) -> Path | None:
    """The folder without links to be made writable; None where the user can't change it either."""
    for folder in (path, *path.parents):
        try:
            if not folder.is_dir():
                continue
            real = folder.resolve(strict=True)
        except (OSError, RuntimeError):
            return None
        return real if os.access(real, os.W_OK | os.X_OK) else None
    return None


def _is_never_asked(folder: Path, access: SandboxAccess) -> bool:
    """Whether a folder is too much for one question: the system's, a home, one above the workspace."""
    home = Path("~").expanduser().resolve()
    if access.workspace.is_relative_to(folder) or folder in (home, *home.parents, *_SHARED):
        return True
    if folder.is_relative_to("/usr"):
        return not folder.is_relative_to("/usr/local")
    return folder.parts[1] in _SYSTEM


def _is_own(path: Path, access: SandboxAccess) -> bool:
    """Whether a path is the session's own, which commands can change."""
    return _is_below(path, (access.home, access.temporary_folder, Path("/dev")))


def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
