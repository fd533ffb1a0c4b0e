"""The arguments of `agentstepper worker`, `project` and `import-lance`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from .arguments import LOG_LEVELS, make_integer_type, parse_positive_number

if TYPE_CHECKING:
    from .arguments import Commands

_WORKER: Final = """\
Runs coding sessions and background agents for a Core of Jupyter or of `agentstepper serve`, outside of
the Core's process. A Core starts a worker by itself when it needs one, unless you started one before.
Without --url, the worker discovers the running Core. Each session's steps run alone in a process, unless
its moniker is cooperative.
"""
_PROJECT: Final = """\
Writes the background agents of a running Core to tables in LanceDB, with each change a moment later, and
searches them for the Core's clients. Needs `pip install "agentstepper_nb[lance]"`.
"""
_MAX_LABEL_CHARS: Final = 200


def add_worker_command(commands: Commands) -> None:
    """Describe `agentstepper worker`."""
    parser = commands.add_parser(
        "worker",
        help="run a worker for a Core, in place of the one that the Core starts",
        description=_WORKER,
        allow_abbrev=False,
    )
    add = parser.add_argument
    _add_core_options(parser)
    add("--data", metavar="DIR", help="folder of the sessions (agentstepper/ in Jupyter's data)")
    add(
        "--lease",
        type=parse_positive_number,
        default=10.0,
        metavar="S",
        help="seconds without renewal after which another worker takes over this worker's "
        "sessions (%(default)g)",
    )
    add(
        "--poll",
        type=parse_positive_number,
        default=1.0,
        metavar="S",
        help="seconds between two looks for work, if no notification comes (%(default)g)",
    )
    add(
        "--isolation",
        choices=("process", "none"),
        default="process",
        help="where steps of background agents run whose moniker isn't cooperative: each session's "
        "alone in a process, or all on the worker's event loop (%(default)s)",
    )
    add(
        "--processes",
        type=make_integer_type(1, 1000),
        default=32,
        metavar="N",
        help="how many sessions have a process at once; the others wait for one (%(default)d)",
    )
    add(
        "--label",
        type=_parse_label,
        action="append",
        default=[],
        metavar="LABEL",
        help="a label, for sessions that require it: gpu, region=eu; may be given several times",
    )
    add(
        "--max-sessions",
        type=make_integer_type(1, 1_000_000),
        metavar="N",
        help="how many background agents to take at most (any number)",
    )
    add(
        "--drain-timeout",
        type=parse_positive_number,
        default=30.0,
        metavar="S",
        help="seconds that steps under way have to end, after SIGTERM or Ctrl-C, before they are "
        "broken off (%(default)g)",
    )
    add(
        "--orphan-timeout",
        type=parse_positive_number,
        metavar="S",
        help="exit after S seconds without a Core, or with nothing to do (never)",
    )
    _add_log_level(parser)
    add(
        "--log-json",
        action="store_true",
        help="log one JSON object a line, for programs",
    )
    add(
        "--until-eof",
        dest="exits_at_stdin_eof",
        action="store_true",
        help="exit when the standard input ends",
    )


def _parse_label(text: str) -> str:
    """A type of arguments: labels of workers."""
    if not 1 <= len(text) <= _MAX_LABEL_CHARS:
        raise argparse.ArgumentTypeError(f"a label has 1 to {_MAX_LABEL_CHARS} characters")
    return text


def add_project_command(commands: Commands) -> None:
    """Describe `agentstepper project`."""
    parser = commands.add_parser(
        "project",
        help="write background agents to LanceDB's tables, and search them",
        description=_PROJECT,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--to",
        required=True,
        metavar="URI",
        help="a folder, or an object store: s3://bucket/agents",
    )
    add("--once", action="store_true", help="exit when everything is written")
    add("--rebuild", action="store_true", help="drop the tables first, and write them anew")
    add(
        "--embed",
        metavar="MODULE:FUNCTION",
        help="a function that gives a list of texts a vector each, for searches by meaning",
    )
    _add_core_options(parser)
    add(
        "--poll",
        type=parse_positive_number,
        default=1.0,
        metavar="S",
        help="seconds between two looks for changes (%(default)g)",
    )
    _add_log_level(parser)


def add_import_lance_command(commands: Commands) -> None:
    """Describe `agentstepper import-lance`."""
    parser = commands.add_parser(
        "import-lance",
        help="bring over the background agents that an earlier version stored in LanceDB",
        description="Copies the background agents of a folder that an earlier version was given as "
        "`lance:FOLDER` into the store of a Core that doesn't run. Rows that are there already stay, so "
        "that the command may be repeated.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="the folder, which stays as it is")
    add("--data", metavar="DIR", help="the Core's folder (agentstepper/ in Jupyter's data folder)")
    add(
        "--runtime-store",
        default="sqlite",
        metavar="STORE",
        help="the store to copy to, as `agentstepper serve` has it (%(default)s)",
    )


def _add_core_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the Core's address for workers."""
    add = parser.add_argument
    add("--url", help="the Core's address for workers or agents; by default the Core is discovered")
    add("--token", help="the worker token; prefer the variable AGENTSTEPPER_WORKER_TOKEN")


def _add_log_level(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--log-level",
        choices=LOG_LEVELS,
        default="info",
        help="the least severe messages to log (%(default)s)",
    )
