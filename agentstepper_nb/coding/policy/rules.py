"""Rules that people wrote, and which calls they are about."""

from __future__ import annotations

import posixpath
import re
import secrets
import shlex
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from msgspec import Struct

from ...errors import PolicyRulesError
from ..safe_paths import GIT_FOLDER_NAME
from ..tools.diffs import find_patch_paths
from .command_model import ProgramCall, shorten_part

_PATCHED = re.compile(
    r"^(?:(?:---|\+\+\+) (?!/dev/null)(?:[ab]/)?|(?:rename|copy) (?:from|to) )([^\t\r\n]+)",
    re.MULTILINE,
)
#: Commands that are the same program with the same arguments to a shell and without one.
_PLAIN = re.compile(r"[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*")
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


class PolicyRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One rule. All that it names has to hold.

    Args:
        id: Its name, for lists and for removing it.
        effect: What it does.
        tool: The tools it is about, as a pattern: `*` is anything.
        workspace: The folder it holds in; None: in all.
        command: For `run_command`: where it allows, the whole command; where it denies, how a command
            begins, wherever it stands in what is run.
        shell: Whether whoever allowed the command saw it as a shell reads it.
        folder: Where an allowed command is run, as the tool is given it.
        path: A pattern of paths; `*` is anything, also `/`. Where it allows, all paths of a call must
            match; where it denies, one, or a folder above it (see `denied_files`).
        network: Whether an allowed command may use the network.
        writable: Folders outside of the workspace that an allowed command may change.
    """

    id: str
    effect: Literal["allow", "deny"]
    tool: str
    workspace: str | None = None
    command: str | None = None
    shell: bool = False
    folder: str | None = None
    path: str | None = None
    network: bool = False
    writable: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The rule in words."""
        where = "in this workspace" if self.workspace else "everywhere"
        return f"{self.effect} {self.description} {where}"

    @property
    def description(self) -> str:
        """What the rule is about, in words."""
        description = f"`{self.tool}`"
        if self.command is not None:
            how = "the command" if self.effect == "allow" else "commands like"
            extras = _describe_extras(self.network, self.writable)
            description = f"{how} `{shorten_part(self.command)}`{extras}"
        if self.path is not None:
            description += f" on `{self.path}`"
        return description


def describe_rule(tool: str, args: Any) -> str | None:
    """What `PolicyRulesFile.allow` would allow, in words; None where there is nothing to allow.

    Args:
        tool: The tool's name.
        args: The call's arguments, parsed.
    """
    if tool == RUN_COMMAND:
        command = find_command_text(args)
        if command is None:
            return None
        beyond = _describe_extras(_network(args), _writable(args))
        return f"the command `{shorten_part(command)}`{beyond} in this workspace"
    return f"`{tool}` in this workspace"


def allows(rule: PolicyRule, tool: str, args: Any) -> bool:
    """Whether a rule allows a call.

    Args:
        rule: The rule, of this workspace.
        tool: The tool's name.
        args: The call's arguments, parsed.
    """
    if rule.effect != "allow" or not fnmatchcase(tool, rule.tool):
        return False
    if tool != RUN_COMMAND:
        named = find_paths(args)
        fits = rule.path is None or (named and all(_matches(path, rule.path) for path in named))
        return rule.command is None and bool(fits)
    command = find_command_text(args)
    same = command is not None and rule.command == command
    return (
        same
        and (rule.shell or _PLAIN.fullmatch(command or "") is not None)
        and rule.folder == _folder(args)
        and rule.network >= _network(args)
        and set(rule.writable) >= set(_writable(args))
    )


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(posixpath.normpath(path), pattern)


def denies(rule: PolicyRule, tool: str, args: Any, calls: tuple[ProgramCall, ...] = ()) -> bool:
    """Whether a rule denies a call.

    Args:
        rule: The rule, of this workspace.
        tool: The tool's name.
        args: The call's arguments, parsed.
        calls: The programs that its command runs.
    """
    if rule.effect != "deny" or not fnmatchcase(tool, rule.tool):
        return False
    if rule.path is not None and not any(_matches(path, rule.path) for path in find_paths(args)):
        return False
    if rule.command is None:
        return True
    prefix = _split(rule.command)
    return any(_begins(call, prefix) for call in calls)


def find_paths(args: Any) -> list[str]:
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
            found.extend(find_patch_paths(value) or _PATCHED.findall(value))
    return found


def is_git_path(path: Path) -> bool:
    """Whether a path lies in a `.git`: hooks and settings there are programs that git will run."""
    return any(name.casefold() == GIT_FOLDER_NAME for name in path.parts)


def find_command_text(args: Any) -> str | None:
    """The command of a call of `run_command`, as text; None where there is none.

    Args:
        args: Its arguments, parsed.
    """
    command = args.get("command") if isinstance(args, dict) else None
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command if isinstance(command, str) and command else None


def make_allow_rule(tool: str, args: Any, workspace: Path) -> PolicyRule:
    """The rule that `described` promises.

    Args:
        tool: The tool's name.
        args: The call's arguments, parsed.
        workspace: The folder that it holds in.

    Raises:
        PolicyRulesError: There is nothing to allow.
    """
    command = find_command_text(args) if tool == RUN_COMMAND else None
    if tool == RUN_COMMAND and command is None:
        raise PolicyRulesError("The call has no command that a rule could allow.")
    if command is None:
        return PolicyRule(id=make_rule_id(), effect="allow", tool=tool, workspace=str(workspace))
    return PolicyRule(
        id=make_rule_id(),
        effect="allow",
        tool=tool,
        workspace=str(workspace),
        command=command,
        shell=True,
        folder=_folder(args),
        network=_network(args),
        writable=_writable(args),
    )


def is_for_workspace(rule: PolicyRule, workspace: Path) -> bool:
    """Whether a rule is for this workspace, or for all."""
    return rule.workspace is None or rule.workspace == str(workspace)


def _network(args: Any) -> bool:
    """Whether a call may want the network: only what is surely false doesn't."""
    return isinstance(args, dict) and args.get("network", False) is not False


def _writable(args: Any) -> tuple[str, ...]:
    """The folders outside of the workspace that a call wants to change."""
    wanted = args.get("writable") if isinstance(args, dict) else None
    if wanted is None:
        return ()
    return tuple(map(str, wanted)) if isinstance(wanted, list) else (str(wanted),)


def _describe_extras(network: bool, writable: tuple[str, ...]) -> str:
    """In words, what a command is allowed beyond the sandbox."""
    description = ["the network"] if network else []
    description += [f"changes in `{folder}`" for folder in writable]
    return f" with {' and '.join(description)}" if description else ""


def _folder(args: Any) -> str | None:
    folder = args.get("folder") if isinstance(args, dict) else None
    return folder if isinstance(folder, str) else None


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _begins(call: ProgramCall, wanted: list[str]) -> bool:
    """Whether a call may begin with these words, options between them aside."""
    name = call.words[0]
    if not (wanted and name.is_certain and call.name == PurePosixPath(wanted[0]).name.lower()):
        return False
    missing = wanted[1:]
    behind_option = False
    for word in call.args:
        if not missing or not word.is_certain:
            break  # what isn't known may be what is missing
        if word.text == missing[0]:
            missing = missing[1:]
        elif not (word.text.startswith("-") or behind_option):
            return False
        behind_option = word.text.startswith("-")
    else:
        return not missing
    return True


def make_rule_id() -> str:
    """A name for a rule."""
    return secrets.token_hex(4)
