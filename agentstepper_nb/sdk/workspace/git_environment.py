"""The settings, variables and options of each call of git, so that git runs no other program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

#: Settings that win over those of any repository.
CONFIG: Final[Mapping[str, str]] = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.untrackedCache": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "credential.helper": "",  # empties the list
    # git would call itself in a submodule, and there none of these settings would count.
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "diff.orderFile": os.devnull,
    # Nothing is ever checked out, so a name that means `.git` on some other system is only a name.
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",  # a warning a file would fill a pipe that nobody reads meanwhile
    "core.bigFileThreshold": "1m",  # what is larger isn't diffed; see files.BODY_LIMIT
    "gc.auto": "0",
    "maintenance.auto": "false",
}

#: Variables that replace all others whose name begins with `GIT_`.
VARIABLES: Final[Mapping[str, str]] = {
    "GIT_ALLOW_PROTOCOL": "none",  # what git before 2.45 needs beside GIT_NO_LAZY_FETCH
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` would write the user's index
    "GIT_TERMINAL_PROMPT": "0",
    # Global ignore and attribute files have defaults below these, whatever the configuration says.
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
    "LANGUAGE": "C",
    "LC_ALL": "C",
}

_SYSTEM: Final = ("/usr", "/bin", "/sbin")

_SUBMODULES: Final = "--ignore-submodules=dirty"  # git would call itself to look into them
_DIFF: Final = (
    "--submodule=short",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    _SUBMODULES,
)

#: Options of commands that could run a program without them.
OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "diff": _DIFF,
    "diff-tree": _DIFF,
    "status": (_SUBMODULES,),
}


def make_arguments(command: Sequence[str]) -> list[str]:
    """Add the options that a command must carry.

    Args:
        command: The command's name and its arguments.
    """
    name, *arguments = command
    # Paths are no patterns; those of `check-ignore` never are, and it refuses the option.
    literal = () if name == "check-ignore" else ("--literal-pathspecs",)
    return ["--no-pager", *literal, name, *OPTIONS.get(name, ()), *arguments]


def make_environment(
    variables: Mapping[str, str],
    config: Mapping[str, str] | None = None,
    workspace: Path | None = None,
) -> dict[str, str]:
    """Make the whole environment of a call.

    Args:
        variables: Variables of the repository, as `GIT_DIR`.
        config: Settings besides `CONFIG`.
        workspace: The folder from which no program is executed.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept["PATH"] = make_search_path(workspace)
    return {**kept, **VARIABLES, **variables, **_settings({**CONFIG, **(config or {})})}


def find_git(path: str | None = None) -> str | None:
    """Find git.

    Args:
        path: The search path; None: this process's, without relative folders.
    """
    return shutil.which("git", path=make_search_path() if path is None else path)


def make_search_path(workspace: Path | None = None) -> str:
    """The search path without relative folders and those of a workspace: an agent may write there.

    Args:
        workspace: A folder, without links, from which no program is executed; None: no such folder.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if _is_trusted(folder, workspace))


def _is_trusted(folder: str, workspace: Path | None) -> bool:
    if not Path(folder).is_absolute():
        return False
    real = Path(os.path.realpath(folder))
    # Who may write to this Python, or to the system, needs no other program.
    trusted = (*map(os.path.realpath, (sys.prefix, sys.base_prefix)), *_SYSTEM)
    is_inside = workspace is not None and real.is_relative_to(workspace)
    return not is_inside or any(real.is_relative_to(each) for each in trusted)


def _settings(config: Mapping[str, str]) -> dict[str, str]:
    """Settings as variables: unlike `-c`, these may have any name."""
    variables = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (name, value) in enumerate(config.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
