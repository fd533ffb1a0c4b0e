"""The arguments of the subcommands that work on a folder of runs."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .arguments import Commands

EXPORT_FORMATS: Final = ("run", "archive", "log", "pytest")

_DOCTOR: Final = """\
Checks the connections and the installation, and says what is wrong and what to do. Each line is one
finding: ✓ is well, ! is worth knowing, ✗ is wrong. The exit code is 1 if anything is wrong. In a
notebook, `%agentstepper doctor` checks the kernel. With --data, the command reads and checks all runs of
a folder instead; a Core may use the folder meanwhile.
"""
_EXPORT: Final = """\
Writes a stored run to a file: .run for readers of version 1, .zip (an archive) for all data of the run,
.log for people. `agentstepper serve` may run meanwhile.

With --pytest it writes a test, test_x.py, that replays the run, and its recording beside it. The agent
is replayed once for it: neither a model nor a tool is called.
"""
_BISECT: Final = """\
Starts the command of the good run, or PROGRAM, again and again: each time the good run is served up to
another event, and the program goes on by itself from there. Says before how many LLM queries that may
make, and asks.
"""
_PUT_BACK: Final = """\
Undoes the newest restore of a fork in place, also one that was killed: the folder's files become what
they were before. Their present state is stored first.
"""


def add_doctor_command(commands: Commands) -> None:
    """Describe `agentstepper doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="check the connections and the installation, and say what is wrong",
        description=_DOCTOR,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", metavar="DIR", help="check the runs stored in this folder")
    add(
        "--repair",
        action="store_true",
        help="restore what is readable of damaged runs; the damaged files stay under other names",
    )
    add("--json", action="store_true", help="print one JSON document, for programs")


def add_export_command(commands: Commands) -> None:
    """Describe `agentstepper export`."""
    parser = commands.add_parser(
        "export",
        help="write a stored run to a file",
        description=_EXPORT,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "run",
        metavar="RUN",
        help="the run's id, the unique begin of its id, its name or its program's (then the newest)",
    )
    add(
        "file",
        metavar="FILE",
        nargs="?",
        help="the file; its extension is the format: .run, .zip or .log",
    )
    add("-o", "--output", metavar="FILE", help="the file, in place of FILE above")
    add("--data", metavar="DIR", help="folder of the runs (agentstepper/ in Jupyter's data folder)")
    add(
        "--format",
        choices=EXPORT_FORMATS,
        help="the format, if the file's extension doesn't say it",
    )
    add("--force", action="store_true", help="replace the file if it exists")
    test = parser.add_argument_group("of a test").add_argument
    test("--pytest", action="store_true", help="write a test of pytest (as --format pytest)")
    test("--agent", metavar="MODULE:FUNCTION", help="the agent's function, as the test imports it")
    test(
        "--arg",
        dest="args",
        metavar="JSON",
        action="append",
        default=[],
        type=parse_json,
        help="an argument of the function, as JSON; repeat it for more",
    )
    test(
        "--volatile",
        metavar="PATTERN",
        action="append",
        default=[],
        help="a regular expression of what differs from one execution to the next; repeat it for more",
    )
    test(
        "--freeze",
        action="store_true",
        help="let the test's agent see the recorded time and random numbers",
    )
    test(
        "--no-replay",
        dest="replays",
        action="store_false",
        help="write the test without replaying the agent now",
    )


def parse_json(text: str) -> Any:
    """Parse an argument's JSON; invalid JSON is taken as a text.

    Args:
        text: The argument.
    """
    try:
        return json.loads(text)
    except ValueError:
        return text


def add_backup_command(commands: Commands) -> None:
    """Describe `agentstepper backup`."""
    parser = commands.add_parser(
        "backup",
        help="copy the runs and background agents to a new folder",
        description="Copies the runs and background agents to a new folder, which `agentstepper serve "
        "--data` can open. A Core that uses the runs' folder may keep running.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "to",
        metavar="TO",
        nargs="?",
        help="the new folder (by default agentstepper-backup-DATE-TIME in this folder)",
    )
    add("--data", metavar="DIR", help="folder of the runs (agentstepper/ in Jupyter's data folder)")


def add_bisect_command(commands: Commands) -> None:
    """Describe `agentstepper bisect`."""
    parser = commands.add_parser(
        "bisect",
        help="find the event that decides whether an agent passes a check",
        usage="%(prog)s [-h] --check COMMAND [--repeat N] [--yes] [--url URL] [--token TOKEN] "
        "GOOD [BAD] [-- PROGRAM [ARGUMENT ...]]",
        description=_BISECT,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("good", metavar="GOOD", help="the id or name of a run that passes the check")
    add(
        "bad",
        metavar="BAD",
        nargs="?",
        help="one that doesn't: what both have in common isn't tried",
    )
    add(
        "--check",
        metavar="COMMAND",
        required=True,
        help="a shell command that passes with exit code 0; it reads what the program printed, and "
        "AGENTSTEPPER_RUN has the run's id",
    )
    add("--repeat", metavar="N", type=int, default=3, help="executions for each event (3)")
    add("--yes", action="store_true", help="don't ask before LLM queries are made")
    add("--report-to", metavar="FD", type=int, help=argparse.SUPPRESS)  # of a Core
    add("--url", help="the debugger's address for agents; by default the debugger is discovered")
    add("--token", help="the agent token; prefer the variable AGENTSTEPPER_TOKEN")


def add_put_back_command(commands: Commands) -> None:
    """Describe `agentstepper put-back`."""
    parser = commands.add_parser(
        "put-back",
        help="make a workspace what it was before a fork restored files in it",
        description=_PUT_BACK,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "target", metavar="FOLDER|RUN", help="the workspace, or the id or name of a run that has it"
    )
    add("--data", metavar="DIR", help="folder of the runs (agentstepper/ in Jupyter's data folder)")
