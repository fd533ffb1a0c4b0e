"""Policy rules that a person wrote, and the calls that a rule applies to."""

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
#: Commands that mean the same with and without a shell.
_PLAIN = re.compile(r"[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*")
#: The name of the tool whose rules have commands.
RUN_COMMAND = "run_command"
#: The names of tools' arguments that are paths.
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
    """A policy rule. The rule applies to a call that matches all fields that the rule sets.

    Args:
        id: The rule's id.
        effect: `allow` or `deny`.
        tool: A pattern of tools' names; `*` matches any text.
        workspace: The workspace in which the rule applies; None: all workspaces.
        command: For `run_command`. Of an `allow` rule: the whole command. Of a `deny` rule: the
            beginning of any program call in the command.
        shell: Whether a shell may run an `allow` rule's command. False: only a command that means the
            same to a shell.
        folder: The folder in which an allowed command runs, as in the tool's argument.
        path: A pattern of paths; `*` matches any text, including `/`. All paths of a call must match an
            `allow` rule; one path, or a folder above it, must match a `deny` rule (see `denied_files`).
        network: Whether an allowed command may use the network.
        writable: The folders outside of the workspace that an allowed command may write.
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
        """The rule as a sentence."""
        where = "in this workspace" if self.workspace else "everywhere"
        return f"{self.effect} {self.description} {where}"

    @property
    def description(self) -> str:
        """A description of the calls that the rule applies to."""
        description = f"`{self.tool}`"
        if self.command is not None:
            how = "the command" if self.effect == "allow" else "commands like"
            extras = _describe_extras(self.network, self.writable)
            description = f"{how} `{shorten_part(self.command)}`{extras}"
        if self.path is not None:
            description += f" on `{self.path}`"
        return description


def describe_rule(tool: str, args: Any) -> str | None:
    """Describe the rule that `PolicyRulesFile.allow_similar` would add; None: there is no such rule.

    Args:
        tool: The tool's name.
        args: The call's decoded arguments.
    """
    if tool == RUN_COMMAND:
        command = find_command_text(args)
        if command is None:
            return None
        beyond = _describe_extras(_network(args), _writable(args))
        return f"the command `{shorten_part(command)}`{beyond} in this workspace"
    return f"`{tool}` in this workspace"


def allows(rule: PolicyRule, tool: str, args: Any, *, has_shell: bool = True) -> bool:
    """Whether a rule allows a call.

    Args:
        rule: A rule that applies in this workspace.
        tool: The tool's name.
        args: The call's decoded arguments.
        has_shell: Whether a shell reads the call's command.
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
        and (rule.shell or not has_shell or _PLAIN.fullmatch(command or "") is not None)
        and rule.folder == _folder(args)
        and rule.network >= _network(args)
        and set(rule.writable) >= set(_writable(args))
    )


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(posixpath.normpath(path), pattern)


def denies(rule: PolicyRule, tool: str, args: Any, calls: tuple[ProgramCall, ...] = ()) -> bool:
    """Whether a rule denies a call.

    Args:
        rule: A rule that applies in this workspace.
        tool: The tool's name.
        args: The call's decoded arguments.
        calls: The program calls in the call's command.
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
    """Find the paths in a call's arguments, including those in a patch.

    Args:
        args: The call's decoded arguments.
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
    """Whether a path is in a `.git` folder, whose hooks and settings are programs that git runs."""
    return any(name.casefold() == GIT_FOLDER_NAME for name in path.parts)


def find_command_text(args: Any) -> str | None:
    """Return the command of a call of `run_command` as text; None: the call has no command.

    Args:
        args: The call's decoded arguments.
    """
    command = args.get("command") if isinstance(args, dict) else None
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command if isinstance(command, str) and command else None


def make_allow_rule(tool: str, args: Any, workspace: Path, *, has_shell: bool = True) -> PolicyRule:
    """Make the rule that `describe_rule` describes.

    Args:
        tool: The tool's name.
        args: The call's decoded arguments.
        workspace: The workspace in which the rule applies.
        has_shell: Whether a shell reads the call's command.

    Raises:
        PolicyRulesError: The call has nothing that a rule could allow.
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
        shell=has_shell,
        folder=_folder(args),
        network=_network(args),
        writable=_writable(args),
    )


def is_for_workspace(rule: PolicyRule, workspace: Path) -> bool:
    """Whether a rule applies in a workspace."""
    return rule.workspace is None or rule.workspace == str(workspace)


def _network(args: Any) -> bool:
    """Whether a call may request the network: every value of the argument except False counts."""
    return isinstance(args, dict) and args.get("network", False) is not False


def _writable(args: Any) -> tuple[str, ...]:
    """Return the folders outside of the workspace that a call wants to write."""
    wanted = args.get("writable") if isinstance(args, dict) else None
    if wanted is None:
        return ()
    return tuple(map(str, wanted)) if isinstance(wanted, list) else (str(wanted),)


def _describe_extras(network: bool, writable: tuple[str, ...]) -> str:
    """Describe the access beyond the sandbox that a rule allows a command."""
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
    """Whether a call may begin with these words, ignoring options between the words."""
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
    """Make a new rule's id."""
    return secrets.token_hex(4)
