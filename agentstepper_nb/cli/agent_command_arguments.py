"""The arguments of `agentstepper code`, `chat` and `policy`."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import inspect

from .. import typed_json
from ..protocol.coding_settings import DEFAULTS, FIELDS, CodingSettings
from .arguments import make_integer_type

if TYPE_CHECKING:
    from .arguments import Commands

_CODE: Final = """\
Runs a coding agent on the repository in this folder. With a PROMPT, the agent answers it and exits;
without, the command asks for prompts, or reads one from a pipe. If a debugger is discovered, each step
of the agent can be halted and edited there.
"""
_CODE_EXITS: Final = """\
exit codes: 0 done, 1 failed, 2 wrong arguments, 3 stopped at the limit of iterations, 130 cancelled or
stopped in the debugger; a conversation exits with 0
"""


def add_code_command(commands: Commands) -> None:
    """Describe `agentstepper code`."""
    parser = commands.add_parser(
        "code",
        help="let a model work on the repository in this folder",
        description=_CODE,
        epilog=_CODE_EXITS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", metavar="PROMPT", nargs="?", help="what the agent should do")
    add("--provider", help="the model's provider (AGENTSTEPPER_PROVIDER, or openai)")
    add("--model", help="the model's name at its provider (AGENTSTEPPER_MODEL)")
    add("--workspace", metavar="DIR", help="the repository; by default this folder")
    add(
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="continue the session whose id begins with ID; without ID the latest of this "
        "workspace",
    )
    add("--list", action="store_true", help="list the stored sessions, and exit")
    add_setting_options(parser)
    add("--step", action="store_true", help="begin stepping in the debugger")
    add("--no-debugger", action="store_true", help="don't look for a debugger")
    add("--data", metavar="DIR", help="folder of the sessions (agentstepper/ in Jupyter's data)")


_CHAT: Final = """\
Starts a conversation with agents, in this terminal or through pipes: each line is a message. AGENT is
an installed connector (--list lists them) or MODULE:ATTRIBUTE, a function or connector that is imported
from the current folder. Several agents may share the conversation; the first one answers until /to names
another. If a debugger is discovered, each turn is shown there.
"""
_CHAT_EXITS: Final = """\
exit codes: 0 done, 1 the conversation can't begin, or a turn read from a pipe failed, 2 wrong arguments,
130 interrupted
"""


def add_chat_command(commands: Commands) -> None:
    """Describe `agentstepper chat`."""
    parser = commands.add_parser(
        "chat",
        help="talk with agents",
        description=_CHAT,
        epilog=_CHAT_EXITS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("agents", metavar="AGENT", nargs="*", help="the agent that answers")
    add(
        "--workspace", metavar="DIR", help="the folder in which agents work; by default this folder"
    )
    add("--provider", help="the model's provider (AGENTSTEPPER_PROVIDER, or openai)")
    add("--model", help="the model's name at its provider (AGENTSTEPPER_MODEL)")
    add("--system", metavar="TEXT", help="the system prompt of an endpoint's model")
    add(
        "-o",
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="options",
        help="a further option of the connector; VALUE is JSON or a text",
    )
    add("--session", metavar="ID", help="continue the conversation whose id begins with ID")
    add("--title", default="", help="the conversation's title")
    add(
        "--auto",
        type=make_integer_type(0, 1000),
        metavar="N",
        help="let the agents continue by themselves for at most N turns",
    )
    add(
        "--allow",
        metavar="PATH",
        action="append",
        default=[],
        help="one more folder whose pictures and files the chat may show",
    )
    add("--step", action="store_true", help="begin stepping in the debugger")
    add("--no-debugger", action="store_true", help="don't look for a debugger")
    add("--list", action="store_true", help="list connectors and conversations, and exit")
    add(
        *("--data", "--data-dir"),
        dest="data_dir",
        metavar="DIR",
        help="folder of the conversations (agentstepper/ in Jupyter's data)",
    )


_POLICY: Final = """\
Lists, adds and removes rules of what the coding agent may do: calls that a rule allows run without
asking, calls that a rule denies never run. Rules hold in this folder, or --everywhere. In patterns, *
matches anything, also /.
"""
_ALLOW: Final = """\
Allows a command, or calls of a tool, without asking. A command is allowed only exactly as it is written;
it may use the network, or change folders outside of the workspace, only if the rule says so.
"""
_DENY: Final = """\
Denies commands that begin with COMMAND, also inside longer commands; files, to tools and to commands;
or tools. With --tool read_file, files can't be read; with --tool write_file, files can be read, not
changed.
"""


def add_policy_command(commands: Commands) -> None:
    """Describe `agentstepper policy`."""
    parser = commands.add_parser(
        "policy",
        help="list, add and remove the rules of the coding agent's policy",
        description=_POLICY,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary, description in (
        ("list", "list the rules: id, what each allows or denies, and where it holds", None),
        ("allow", "allow without asking", _ALLOW),
        ("deny", "deny", _DENY),
        ("remove", "remove rules", None),
    ):
        action = actions.add_parser(
            name,
            help=summary,
            description=description or f"{summary.capitalize()}.",
            allow_abbrev=False,
        )
        _ACTIONS[name](action)
        action.add_argument(
            "--data", metavar="DIR", help="folder of the rules (agentstepper/ in Jupyter's data)"
        )


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", metavar="DIR", help="list only the rules that hold in this folder"
    )


def _add_allow(parser: ArgumentParser) -> None:
    _add_rule(parser)
    add = parser.add_argument
    add("--network", action="store_true", help="with --command: the command may use the network")
    add(
        "--writable",
        metavar="DIR",
        action="append",
        default=[],
        help="with --command: the command may change this folder outside of the workspace",
    )


def _add_rule(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--command", dest="text", metavar="COMMAND", help="a command, for example 'git push'")
    add("--path", metavar="PATTERN", help="files, for example '*.env' or 'secrets/*'")
    add("--tool", metavar="PATTERN", help="tools, for example write_file or 'write_*'")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workspace", metavar="DIR", help="the folder in which the rule holds (this folder)"
    )
    where.add_argument("--everywhere", action="store_true", help="the rule holds in every folder")


def _add_remove(parser: ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="a rule's id, as `list` shows it")


_ACTIONS: Final = {
    "list": _add_list,
    "allow": _add_allow,
    "deny": _add_rule,
    "remove": _add_remove,
}


#: Options that aren't called as their settings are.
_FLAGS: Final = {"auto_approve": "--yes"}
_UNITS: Final = {"timeout": "SECONDS", "limit": "BYTES", "bytes": "BYTES"}


def add_setting_options(parser: ArgumentParser) -> None:
    """Add an option for each setting. An omitted option is None.

    Args:
        parser: The parser of a command.
    """
    described = inspect.type_info(CodingSettings)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        _add(parser, field.name, field.type)


def read_settings(namespace: argparse.Namespace) -> CodingSettings:
    """Read the settings from a command line.

    Args:
        namespace: The parsed command line.
    """
    values = {name: getattr(namespace, name) for name in FIELDS}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return CodingSettings(**values | lists)


def _add(parser: ArgumentParser, name: str, kind: inspect.Type) -> None:
    description, plain = _described(kind)
    flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
    default = getattr(DEFAULTS, name)
    shown = f"{default:g}" if isinstance(default, float) else default
    said: dict[str, Any] = {"dest": name, "default": None, "help": description}
    if default is not None and default is not False:
        said["help"] = f"{description} ({shown})"
    if isinstance(plain, inspect.BoolType):
        is_switch = name in _FLAGS
        action = "store_true" if is_switch else argparse.BooleanOptionalAction
        parser.add_argument(flag, action=action, **said)
    elif isinstance(plain, inspect.LiteralType):
        parser.add_argument(flag, choices=plain.values, **said)
    elif isinstance(plain, inspect.VarTupleType):
        parser.add_argument(flag, action="append", metavar="PATH", **said)
    else:
        parser.add_argument(flag, type=_parser(name), metavar=_metavar(name, plain), **said)


def _described(kind: inspect.Type) -> tuple[str, inspect.Type]:
    """Return a setting's description, and its type without None."""
    description = ""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            description = (kind.extra_json_schema or {}).get("description", description)
            kind = kind.type
        else:
            kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    return description, kind


def _metavar(name: str, kind: inspect.Type) -> str:
    unit = _UNITS.get(name.rpartition("_")[2])
    return unit or ("NAME" if isinstance(kind, inspect.StrType) else "N")


def _parser(name: str) -> Callable[[str], Any]:
    """Reads a setting's value."""

    def parse(text: str) -> Any:
        try:
            return typed_json.convert(text, FIELDS[name].type, strict=False)
        except msgspec.ValidationError as error:
            raise argparse.ArgumentTypeError(f"{text[:80]!r} isn't valid: {error}") from None

    return parse
