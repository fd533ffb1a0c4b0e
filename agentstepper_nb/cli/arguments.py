"""What the subcommands take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    # Only the type checker knows that this class takes an argument.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
EXPORT_FORMATS: Final = ("run", "archive", "log")
DURABILITIES: Final = ("relaxed", "durable", "sync")

_SERVE: Final = """\
Runs a debugger for agents on two WebSocket ports, one for agents and one for UIs. Agents of this user
discover it without an address. `agentstepper step` in another terminal steps the agents.
"""
_STEP: Final = """\
Steps agents from the terminal: shows their messages, halts agents, edits messages, continues agents.
"""
_RUN: Final = """\
Runs an agent's program under the discovered debugger: its AgentSteppers connect without an address. The
program replaces this process, so that its output, the terminal, signals and the exit code are its own.
"""
_RUN_EXITS: Final = """\
exit codes that aren't the program's: 2 wrong arguments, 125 no debugger (or several, or one that refuses
agents), 126 the program can't be run, 127 there is no such program
"""
_PROXY: Final = """\
Runs a program of any language with OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL set to
a proxy on this machine, at which each LLM query halts before and after. The proxy forwards to the
services that these variables named before, else to the vendors' own, with the key that the program
sends. Without a program it prints the variables and serves until Ctrl-C.
"""
_DOCTOR: Final = """\
Checks the connections and the installation, and says what is wrong and what to do. Each line is one
finding: ✓ is well, ! is worth knowing, ✗ is wrong. The exit code is 1 if anything is wrong. In a
notebook, `%agentstepper doctor` checks the kernel. With --data, the command reads and checks all runs of
a folder instead; a Core may use the folder meanwhile.
"""

_WORKER: Final = """\
Runs coding sessions and background agents for a Core of Jupyter or of `agentstepper serve`, outside of
the Core's process. A Core starts a worker by itself when it needs one, unless you started one before.
Without --url, the worker discovers the running Core.
"""

_EXPORT: Final = """\
Writes a stored run to a file: .run for readers of version 1, .zip (an archive) for all data of the run,
.log for people. `agentstepper serve` may run meanwhile.
"""


def add_serve_command(commands: Commands) -> None:
    """Describe `agentstepper serve`. Nothing has a default here: a file may set it as well."""
    parser = commands.add_parser(
        "serve",
        help="run a debugger without Jupyter",
        description=_SERVE,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("--host", help="the address to listen on (localhost); any other address requires tokens")
    add("--client-port", type=_port, help="the port for agents (8765); 0 chooses a free port")
    add("--ui-port", type=_port, help="the port for UIs (4567); 0 chooses a free port")
    add("--data", metavar="DIR", help="the folder of the runs (in Jupyter's data folder)")
    add(
        "--ui-origin",
        metavar="ORIGIN",
        nargs="+",
        action="extend",
        help="origins of web pages that may connect as UIs, for example http://localhost:3000 "
        "(none)",
    )
    add(
        "--runs",
        metavar="FILE",
        nargs="+",
        action="extend",
        help="further .run files to list",
    )
    add(
        "--token",
        help="the agent token; prefer the variable AGENTSTEPPER_TOKEN (the data folder's "
        "agent-token)",
    )
    add(
        "--control-token",
        metavar="TOKEN",
        help="the control token of views and programs; prefer the variable "
        "AGENTSTEPPER_CONTROL_TOKEN (the data folder's control-token)",
    )
    add(
        "--worker",
        action=argparse.BooleanOptionalAction,
        help="start a worker when agents need one (yes)",
    )
    add(
        "--worker-token",
        metavar="TOKEN",
        help="the worker token; prefer the variable AGENTSTEPPER_WORKER_TOKEN (the data "
        "folder's worker-token)",
    )
    add(
        "--runtime-store",
        metavar="sqlite|lance:DIR",
        help="where to store background agents: beside the runs (sqlite), or in LanceDB "
        "tables; AGENTSTEPPER_RUNTIME_STORE sets the same",
    )
    add(
        "--durability",
        choices=DURABILITIES,
        help="what stored data survives: a kill, after a moment (relaxed); also a power cut, "
        "where a person or an agent relies on the data (durable, the default) or always "
        "(sync)",
    )
    add(
        "--keep-days",
        type=parse_positive_number,
        metavar="N",
        help="delete runs N days after their end",
    )
    add(
        "--keep-gib",
        type=parse_positive_number,
        metavar="N",
        help="delete the oldest runs when all take more than N GiB",
    )
    add(
        "--model",
        metavar="NAME",
        help="a model that writes each event's summary; it receives what agents send, and uses "
        "OPENAI_API_KEY or OPENAI_BASE_URL",
    )
    add(
        "--log-level",
        choices=LOG_LEVELS,
        help="the least severe messages to log on the error output (info)",
    )
    add(
        "--until-eof",
        dest="exits_at_stdin_eof",
        action="store_true",
        help="exit when the standard input ends, for example with the parent process",
    )
    add(
        "--config",
        metavar="FILE",
        help="a TOML file that sets the same names; the command line wins",
    )


def add_step_command(commands: Commands) -> None:
    """Describe `agentstepper step`."""
    parser = commands.add_parser(
        "step",
        help="step agents from the terminal",
        description=_STEP,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--url",
        help="the debugger's address for UIs; by default the debugger is discovered, as agents do",
    )
    add(
        "--run",
        metavar="ID|NAME",
        help="the run to show, by id, or by name or program (then the newest); by default the "
        "run that halted last",
    )
    add(
        "--token",
        help="the control token, needed if the debugger runs on another machine or as another "
        "user; prefer the variable AGENTSTEPPER_CONTROL_TOKEN",
    )


def add_run_command(commands: Commands) -> None:
    """Describe `agentstepper run`."""
    parser = commands.add_parser(
        "run",
        help="run an agent's program under the debugger",
        usage="%(prog)s [-h] [--name NAME] [--url URL] [--token TOKEN] [--no-attach] "
        "[--discover-tools] [--with-parent] -- PROGRAM "
        "[ARGUMENT ...]",
        description=_RUN,
        epilog=_RUN_EXITS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--name", help="the name of the program's runs, in place of its own")
    add("--url", help="the debugger's address for agents; by default the debugger is discovered")
    add("--token", help="the agent token; prefer the variable AGENTSTEPPER_TOKEN")
    add(
        "--discover-tools",
        dest="discovers_tools",
        action="store_true",
        help="let plain functions halt too that the program offers to a model as tools",
    )
    add(
        "--no-attach",
        dest="attach",
        action="store_false",
        help="let only those events halt that the program traces by an AgentStepper of its own",
    )
    add(
        "--with-parent",
        action="store_true",
        help="end the program when the process that started this one ends (Linux)",
    )
    # What stands here stands before the `--`.
    add("misplaced", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def add_proxy_command(commands: Commands) -> None:
    """Describe `agentstepper proxy`."""
    parser = commands.add_parser(
        "proxy",
        help="halt the LLM queries of a program of any language",
        usage="%(prog)s [-h] [--name NAME] [--url URL] [--token TOKEN] [-- PROGRAM [ARGUMENT ...]]",
        description=_PROXY,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--name", help="the run's name, in place of the program's")
    add("--url", help="where agents reach the debugger; else it is looked for")
    add("--token", help="the agent token; better put in AGENTSTEPPER_TOKEN")
    add(
        "--beat-after",
        type=parse_positive_number,
        default=30,
        metavar="SECONDS",
        help="when the first sign of life is sent to a client that waits (30)",
    )
    add(
        "--beat-every",
        type=parse_positive_number,
        default=15,
        metavar="SECONDS",
        help="the time between further signs of life (15)",
    )


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
        help="the run's id, the unique begin of its id, or its name (then the newest)",
    )
    add("file", metavar="FILE", help="the file; its extension is the format: .run, .zip or .log")
    add("--data", metavar="DIR", help="folder of the runs (agentstepper/ in Jupyter's data folder)")
    add(
        "--format",
        choices=EXPORT_FORMATS,
        help="the format, if the file's extension doesn't say it",
    )
    add("--force", action="store_true", help="replace the file if it exists")


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


def add_worker_command(commands: Commands) -> None:
    """Describe `agentstepper worker`."""
    parser = commands.add_parser(
        "worker",
        help="run a worker for a Core, in place of the one that the Core starts",
        description=_WORKER,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--url", help="the Core's address for workers or agents; by default the Core is discovered")
    add("--token", help="the worker token; prefer the variable AGENTSTEPPER_WORKER_TOKEN")
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
        "--log-level",
        choices=LOG_LEVELS,
        default="info",
        help="the least severe messages to log (%(default)s)",
    )
    add(
        "--until-eof",
        dest="exits_at_stdin_eof",
        action="store_true",
        help="exit when the standard input ends",
    )


def make_integer_type(low: int, high: int) -> Callable[[str], int]:
    """A type of arguments: whole numbers between two."""

    def parse(text: str) -> int:
        given = int(text)
        if not low <= given <= high:
            raise argparse.ArgumentTypeError(f"{given} is not between {low} and {high}")
        return given

    parse.__name__ = "number"
    return parse


def parse_positive_number(text: str) -> float:
    """A type of arguments: numbers above 0."""
    given = float(text)
    if not given > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return given


parse_positive_number.__name__ = "number"
_port: Any = make_integer_type(0, 65535)
