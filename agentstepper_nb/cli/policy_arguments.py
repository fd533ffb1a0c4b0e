"""What `agentstepper policy` takes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .arguments import Commands

_POLICY: Final = """\
Rules of what the coding agent may do: what they allow runs without asking, what they deny never runs.
They hold in this folder, or --everywhere. In patterns, * is anything, also /.
"""
_ALLOW: Final = """\
Allows a command, or calls of a tool, without asking. A command is allowed as it is written, whole; it
gets the network, and folders outside of the workspace, only where the rule names them.
"""
_DENY: Final = """\
Denies commands that begin so, wherever they stand in what is run; files, to tools and to commands; or
tools. With --tool read_file files can't be read; with --tool write_file they can be read, not changed.
"""


def add_policy(commands: Commands) -> None:
    """Describe `agentstepper policy`."""
    parser = commands.add_parser(
        "policy",
        help="list, add and remove rules of what the coding agent may do",
        description=_POLICY,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary, description in (
        ("list", "list the rules: their ids, what they are about, and where they hold", None),
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
            "--data", metavar="DIR", help="where rules are kept (agentstepper/ in Jupyter's data)"
        )


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", metavar="DIR", help="only the rules that hold in this folder"
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
    add("--command", dest="text", metavar="COMMAND", help="a command, as 'git push'")
    add("--path", metavar="PATTERN", help="files, as '*.env' or 'secrets/*'")
    add("--tool", metavar="PATTERN", help="tools, as write_file or 'write_*'")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workspace", metavar="DIR", help="the folder it holds in (this folder)")
    where.add_argument("--everywhere", action="store_true", help="it holds in each folder")


def _add_remove(parser: ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="a rule's id, as `list` shows it")


_ACTIONS: Final = {
    "list": _add_list,
    "allow": _add_allow,
    "deny": _add_rule,
    "remove": _add_remove,
}
