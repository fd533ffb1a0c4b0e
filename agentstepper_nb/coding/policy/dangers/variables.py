"""Variables by which other programs are run, or other code is loaded."""

from __future__ import annotations

import re
from typing import Final

from ..words import Assignment

_LOADS: Final = "changes what other programs load or run"
_NAMES = re.compile(
    r"LD_(PRELOAD|AUDIT|LIBRARY_PATH)|DYLD_\w+|PATH|BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS"
    r"|BASH_FUNC_\S*|SHELL|CDPATH|SSH_ASKPASS"
    # Many of git's name programs, folders, or files to write to.
    r"|GIT_(?!(PAGER|(SEQUENCE_)?EDITOR|TERMINAL_PROMPT|OPTIONAL_LOCKS|MERGE_AUTOEDIT)$)"
    r"(?!(AUTHOR|COMMITTER)_)\w+"
    r"|PERL5(OPT|DB)|RUBYOPT|NODE_OPTIONS"
    r"|PYTHON(STARTUP|HOME|BREAKPOINT|WARNINGS|INSPECT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|LUA_INIT\w*"
    r"|LESSOPEN|LESSCLOSE|BROWSER|RUSTC(_WORKSPACE)?_WRAPPER|MAKEFLAGS|GNUMAKEFLAGS|TAR_OPTIONS|RSYNC_RSH"
    r"|AWKPATH|AWKLIBPATH|RIPGREP_CONFIG_PATH|FZF_DEFAULT_COMMAND|PYTEST_PLUGINS|NPM_CONFIG_\w+|PIP_\w+"
)
# These name a program too, but are often set to one that does nothing.
_SHOWS = re.compile(r"(GIT_|MAN|SYSTEMD_)?PAGER|(GIT_|SEQUENCE_|GIT_SEQUENCE_)?EDITOR|VISUAL")
_NOTHING: Final = {"", "cat", "true", ":", "less", "more", "/bin/true", "/bin/cat"}


def why_not(assignment: Assignment) -> str | None:
    """Why a variable is dangerous to set; None where it isn't.

    Args:
        assignment: The variable and its value.
    """
    if _NAMES.fullmatch(assignment.name):
        return _LOADS
    value = assignment.value
    if _SHOWS.fullmatch(assignment.name) and not (value.sure and value.text in _NOTHING):
        return _LOADS
    return None
