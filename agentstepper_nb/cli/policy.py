"""`agentstepper policy`: lists and changes the coding agent's policy rules."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from ..coding.policy import PolicyRule, PolicyRulesFile
from ..coding.policy.rules import RUN_COMMAND
from ..coding.session_list import CodingDataPaths
from ..coding.tools import make_default_tools
from ..discover import data_dir
from ..errors import PolicyRulesError
from . import EXIT_FAILURE, EXIT_OK, EXIT_USAGE_ERROR
from .terminal_text import escape_controls

_NONE: Final = "There are no rules. `agentstepper policy deny --command 'git push'` adds one."


class _UsageError(Exception):
    """The command was called wrongly; the message says what to do."""


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if the rules can't be read or written, or a rule to be removed doesn't exist; 2 for wrong
        usage.
    """
    rules_file = PolicyRulesFile(
        CodingDataPaths(Path(namespace.data).expanduser() if namespace.data else data_dir()).rules
    )
    try:
        match namespace.action:
            case "list":
                return _list(rules_file, namespace)
            case "remove":
                return _remove(rules_file, namespace.ids)
            case _:
                return _add(rules_file, namespace)
    except _UsageError as error:
        return _fail(str(error), EXIT_USAGE_ERROR)
    except PolicyRulesError as error:
        return _fail(str(error), EXIT_FAILURE)


def _list(rules_file: PolicyRulesFile, namespace: Namespace) -> int:
    rules = rules_file.rules(None if namespace.workspace is None else _folder(namespace.workspace))
    for rule in rules:
        print(escape_controls(_line(rule)))
    if not rules:
        print(_NONE)
    return EXIT_OK


def _line(rule: PolicyRule) -> str:
    where = "everywhere" if rule.workspace is None else f"in {rule.workspace}"
    return f"{rule.id}  {rule.effect} {rule.description}  {where}"


def _remove(rules_file: PolicyRulesFile, ids: list[str]) -> int:
    missing = [id for id in ids if not rules_file.remove(id)]
    if not missing:
        return EXIT_OK
    named = ", ".join(missing)
    return _fail(
        f"There is no rule {named}: `agentstepper policy list` shows their ids.", EXIT_FAILURE
    )


def _add(rules_file: PolicyRulesFile, namespace: Namespace) -> int:
    _check(namespace)
    workspace = None if namespace.everywhere else _folder(namespace.workspace or ".")
    if namespace.action == "deny":
        rule = rules_file.deny(
            namespace.tool or "*", command=namespace.text, path=namespace.path, workspace=workspace
        )
    else:
        rule = rules_file.allow(
            namespace.tool or RUN_COMMAND,
            command=namespace.text,
            path=namespace.path,
            workspace=workspace,
            network=namespace.network,
            writable=[str(_folder(folder)) for folder in namespace.writable],
        )
    print(escape_controls(_line(rule)))
    return EXIT_OK


def _check(namespace: Namespace) -> None:
    """Refuse an invalid rule, or one that never matches."""
    if namespace.text is None and namespace.path is None and namespace.tool is None:
        ways = "--command 'git push', --path '*.env' or --tool NAME"
        raise _UsageError(f"Say what to {namespace.action}: {ways}.")
    if namespace.text is not None:
        _check_command(namespace)
    elif namespace.path is not None:
        _check_path(namespace.path)
    if namespace.tool is not None:
        _check_tool(namespace.tool)
    if namespace.action == "allow":
        _check_allowed(namespace)


def _check_command(namespace: Namespace) -> None:
    if namespace.path is not None or namespace.tool is not None:
        raise _UsageError(
            "A rule is about either a command, or files and tools: leave --path and "
            "--tool out, or write two rules."
        )
    try:
        words = shlex.split(namespace.text)
    except ValueError as error:
        raise _UsageError(f"The command can't be parsed ({error}): close its quotes.") from None
    if not words:
        raise _UsageError("The command is empty: write at least the program's name.")


def _check_path(pattern: str) -> None:
    outside = pattern.startswith(("/", "~")) or ".." in pattern.split("/")
    if outside or not pattern.strip("./"):
        raise _UsageError(
            f"The pattern {pattern!r} names no files of a workspace: write it relative to "
            "the workspace, for example 'secrets/*'. The agent can't reach files outside "
            "the workspace anyway."
        )


def _check_tool(pattern: str) -> None:
    known = [tool.name for tool in make_default_tools(images=True)]
    if not any(fnmatchcase(name, pattern) for name in known):
        print(
            f"No installed tool matches {escape_controls(pattern)}. The tools are "
            f"{', '.join(known)}.",
            file=sys.stderr,
        )


def _check_allowed(namespace: Namespace) -> None:
    if namespace.text is None and (namespace.network or namespace.writable):
        raise _UsageError(
            "--network and --writable belong to a command: name the command by --command."
        )
    if namespace.text is None and namespace.tool is None:
        raise _UsageError(
            "--path needs a tool: name the one that may use these files, for example --tool "
            "write_file."
        )
    if namespace.tool is not None and namespace.tool == RUN_COMMAND:
        raise _UsageError(
            "run_command can't be allowed as a whole: allow one command, for example "
            "--command 'make test'."
        )


def _folder(name: str) -> Path:
    folder = Path(name).expanduser().resolve()
    if not folder.is_dir():
        raise _UsageError(f"{folder} is not a folder: name an existing one.")
    return folder


def _fail(message: str, code: int) -> int:
    print(f"agentstepper policy: {escape_controls(message)}", file=sys.stderr)
    return code
