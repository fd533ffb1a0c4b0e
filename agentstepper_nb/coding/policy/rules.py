"""Rules that people wrote, and which calls they are about."""

from __future__ import annotations

import glob
import posixpath
import re
import secrets
import shlex
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from msgspec import Struct

from ...errors import RulesError
from ..tools.apply_patch import touched
from .places import Places
from .verdict import shortened
from .words import Call

_PATCHED = re.compile(
    r"^(?:(?:---|\+\+\+) (?!/dev/null)(?:[ab]/)?|(?:rename|copy) (?:from|to) )([^\t\r\n]+)",
    re.MULTILINE,
)
#: The tool whose rules are about commands.
RUN_COMMAND = "run_command"
#: Arguments of tools that name a file or folder.
PATH_ARGUMENTS = frozenset(
    {
        "path",
        "paths",
        "cwd",
        "directory",
        "folder",
        "file",
        "files",
        "source",
        "target",
        "destination",
    }
)


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule. All that it names has to hold.

    Args:
        id: Its name, for lists and for removing it.
        effect: What it does.
        tool: The tools it is about, as a pattern: `*` is anything.
        workspace: The folder it holds in; None: in all.
        command: For `run_command`: where it allows, the whole command; where it denies, how a command
            begins, wherever it stands in what is run.
        shell: Whether an allowed command is read by a shell.
        folder: Where an allowed command is run, as the tool is given it.
        path: A pattern of paths; `*` is anything, also `/`. Where it allows, all paths of a call must
            match, where it denies, one.
    """

    id: str
    effect: Literal["allow", "deny"]
    tool: str
    workspace: str | None = None
    command: str | None = None
    shell: bool = False
    folder: str | None = None
    path: str | None = None

    def __str__(self) -> str:
        """The rule in words."""
        what = f"`{self.tool}`"
        if self.command is not None:
            how = "the command" if self.effect == "allow" else "commands like"
            what = f"{how} `{shortened(self.command)}`"
        if self.path is not None:
            what += f" on `{self.path}`"
        where = "in this workspace" if self.workspace else "everywhere"
        return f"{self.effect} {what} {where}"


def described(tool: str, args: Any) -> str | None:
    """What `RuleBook.allow` would allow, in words; None where there is nothing to allow.

    Args:
        tool: The tool's name.
        args: The call's arguments, parsed.
    """
    if tool == RUN_COMMAND:
        command = command_text(args)
        return None if command is None else f"the command `{shortened(command)}` in this workspace"
    guarded = in_git(args)
    if len(guarded) > 1:
        return None
    return " on ".join([f"`{tool}`", *(f"`{path}`" for path in guarded)]) + " in this workspace"


def allows(rule: Rule, tool: str, args: Any) -> bool:
    """Whether a rule allows a call.

    Args:
        rule: The rule, of this workspace.
        tool: The tool's name.
        args: The call's arguments, parsed.
    """
    if rule.effect != "allow" or not fnmatchcase(tool, rule.tool):
        return False
    if tool != RUN_COMMAND:
        return rule.command is None and _covers(rule, args)
    same = rule.command is not None and rule.command == command_text(args)
    return same and rule.shell == _by_shell(args) and rule.folder == _folder(args)


def _covers(rule: Rule, args: Any) -> bool:
    """Whether a rule that allows covers a call's paths: those in `.git` only where it names them."""
    if rule.path is None:
        return not in_git(args)
    named = paths(args)
    return bool(named) and all(_matches(path, rule.path) for path in named)


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(posixpath.normpath(path), pattern)


def denies(rule: Rule, tool: str, args: Any, calls: tuple[Call, ...] = ()) -> bool:
    """Whether a rule denies a call.

    Args:
        rule: The rule, of this workspace.
        tool: The tool's name.
        args: The call's arguments, parsed.
        calls: The programs that its command runs.
    """
    if rule.effect != "deny" or not fnmatchcase(tool, rule.tool):
        return False
    if rule.path is not None and not any(_matches(path, rule.path) for path in paths(args)):
        return False
    if rule.command is None:
        return True
    prefix = _split(rule.command)
    return any(_begins(call, prefix) for call in calls)


def paths(args: Any) -> list[str]:
    """The paths that a call names, in a patch too.

    Args:
        args: Its arguments, parsed.
    """
    if not isinstance(args, dict):
        return []
    found: list[str] = []
    for name, value in args.items():
        if name in PATH_ARGUMENTS or name.endswith("_path"):
            values = value if isinstance(value, list) else [value]
            found.extend(each for each in values if isinstance(each, str))
        elif name == "patch" and isinstance(value, str):
            # Lines of one that can't be read may still be paths to another tool.
            found.extend(touched(value) or _PATCHED.findall(value))
    return found


def in_git(args: Any) -> list[str]:
    """The paths of a call that lie in a `.git`, from where git runs programs.

    Args:
        args: Its arguments, parsed.
    """
    return [path for path in paths(args) if Places(None).is_git(path)]


def command_text(args: Any) -> str | None:
    """The command of a call of `run_command`, as text; None where there is none.

    Args:
        args: Its arguments, parsed.
    """
    command = args.get("command") if isinstance(args, dict) else None
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command if isinstance(command, str) and command else None


def allowing(tool: str, args: Any, workspace: Path) -> Rule:
    """The rule that `described` promises.

    Args:
        tool: The tool's name.
        args: The call's arguments, parsed.
        workspace: The folder that it holds in.

    Raises:
        RulesError: There is nothing to allow.
    """
    command = command_text(args) if tool == RUN_COMMAND else None
    if tool == RUN_COMMAND and command is None:
        raise RulesError("This call has no command that a rule could allow.")
    guarded = [] if tool == RUN_COMMAND else in_git(args)
    if len(guarded) > 1:
        raise RulesError("No rule allows several files in `.git` at once.")
    path = glob.escape(posixpath.normpath(guarded[0])) if guarded else None
    return Rule(
        id=new_id(),
        effect="allow",
        tool=tool,
        workspace=str(workspace),
        command=command,
        path=path,
        shell=tool == RUN_COMMAND and _by_shell(args),
        folder=_folder(args) if tool == RUN_COMMAND else None,
    )


def holds_in(rule: Rule, workspace: Path) -> bool:
    """Whether a rule is for this workspace, or for all."""
    return rule.workspace is None or rule.workspace == str(workspace)


def _by_shell(args: Any) -> bool:
    return isinstance(args, dict) and args.get("shell") is True


def _folder(args: Any) -> str | None:
    folder = args.get("folder") if isinstance(args, dict) else None
    return folder if isinstance(folder, str) else None


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _begins(call: Call, wanted: list[str]) -> bool:
    """Whether a call may begin with these words, options between them aside."""
    name = call.words[0]
    if not (wanted and name.sure and call.name == PurePosixPath(wanted[0]).name.lower()):
        return False
    missing = wanted[1:]
    behind_option = False
    for word in call.args:
        if not missing or not word.sure:
            break  # what isn't known may be what is missing
        if word.text == missing[0]:
            missing = missing[1:]
        elif not (word.text.startswith("-") or behind_option):
            return False
        behind_option = word.text.startswith("-")
    else:
        return not missing
    return True


def new_id() -> str:
    """A name for a rule."""
    return secrets.token_hex(4)
