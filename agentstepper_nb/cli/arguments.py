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
A debugger for agents on two WebSocket ports, one for agents and one for UIs. Agents of this user find
it without an address. `agentstepper step` in another terminal steps them.
"""
_STEP: Final = """\
Steps agents from the terminal: shows what they say and hear, halts, edits, goes on.
"""
_RUN: Final = """\
Runs an agent's program under the debugger that is found here. A Python program halts before and after
each LLM query, without a change to its code; its own AgentSteppers connect without an address. The
program takes this process's place, so that its output, the terminal, signals and the exit code are its
own.
"""
_RUN_EXITS: Final = """\
exit codes that aren't the program's: 2 called wrongly, 125 no debugger (or several, or one that
refuses), 126 the program can't be run, 127 there is no such program
"""
_DOCTOR: Final = """\
Tells what is connected to what here, what is wrong, and what to do: one finding a line, ✓ for well,
! for worth knowing, ✗ for wrong. The exit code is 1 where anything is wrong. In a notebook
`%agentstepper doctor` says the same of its kernel. With --data it looks at the runs that are kept in a
folder instead: it reads all of them, beside a Core that uses them or without one.
"""

_WORKER: Final = """\
Serves a Core of Jupyter or of `agentstepper serve` with what its own process must not run:
coding sessions, and agents that run on their own. The Core starts one by itself when it is needed; one
of your own, started before, takes that one's place. Without --url it serves the Core that is running.
"""

_EXPORT: Final = """\
Writes a run that is kept to a file: .run for version 1's readers, .zip (an archive) for all there is of
it, .log for people. `agentstepper serve` may be running meanwhile, or not.
"""


def add_serve_command(commands: Commands) -> None:
    """Describe `agentstepper serve`. Nothing has a default here: a file may set it as well."""
    parser = commands.add_parser(
        "serve",
        help="run a debugger of its own, without Jupyter",
        description=_SERVE,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("--host", help="the address to listen on (localhost); any other demands tokens")
    add("--client-port", type=_port, help="the agents' port (8765); 0 takes a free one")
    add("--ui-port", type=_port, help="the UIs' port (4567); 0 takes a free one")
    add("--data", metavar="DIR", help="the folder that keeps the runs (in Jupyter's data folder)")
    add(
        "--ui-origin",
        metavar="ORIGIN",
        nargs="+",
        action="extend",
        help="origins of web pages that may connect as UIs, such as http://localhost:3000 (none)",
    )
    add(
        "--runs",
        metavar="FILE",
        nargs="+",
        action="extend",
        help=".run files to list as well",
    )
    add(
        "--token",
        help="the agent token; better put in AGENTSTEPPER_TOKEN (the data folder's agent-token)",
    )
    add(
        "--control-token",
        metavar="TOKEN",
        help="the token of views and of programs that control; better put in "
        "AGENTSTEPPER_CONTROL_TOKEN (the data folder's control-token)",
    )
    add(
        "--worker",
        action=argparse.BooleanOptionalAction,
        help="whether a worker is started where agents need one (yes)",
    )
    add(
        "--worker-token",
        metavar="TOKEN",
        help="the worker token; better put in AGENTSTEPPER_WORKER_TOKEN (the data folder's "
        "worker-token)",
    )
    add(
        "--runtime-store",
        metavar="sqlite|lance:DIR",
        help="where agents that run on their own are kept: beside the runs (sqlite), or in LanceDB "
        "tables; AGENTSTEPPER_RUNTIME_STORE says the same",
    )
    add(
        "--durability",
        choices=DURABILITIES,
        help="what is kept outlives: a kill, soon (relaxed), a power cut where a person or an agent "
        "relies on it (durable, the default), or always (sync)",
    )
    add(
        "--keep-days",
        type=parse_positive_number,
        metavar="N",
        help="delete runs N days after they ended",
    )
    add(
        "--keep-gib",
        type=parse_positive_number,
        metavar="N",
        help="delete the oldest runs above N GiB",
    )
    add(
        "--model",
        metavar="NAME",
        help="a model that puts each step into a sentence; it is sent what agents send, and reached by "
        "OPENAI_API_KEY or OPENAI_BASE_URL",
    )
    add("--log-level", choices=LOG_LEVELS, help="how much is told on the error output (info)")
    add(
        "--until-eof",
        action="store_true",
        help="end where the standard input does: with the program that holds its other end",
    )
    add("--config", metavar="FILE", help="a TOML file that sets the same names; the shell wins")


def add_step_command(commands: Commands) -> None:
    """Describe `agentstepper step`."""
    parser = commands.add_parser(
        "step",
        help="step agents from the terminal",
        description=_STEP,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--url", help="where UIs reach the debugger; else it is looked for, as agents look for it")
    add(
        "--run",
        metavar="ID|NAME",
        help="the run to look at, or its program, of whose runs the newest is looked at; else the one "
        "that halted last",
    )
    add(
        "--token",
        help="the control token, where the debugger is on another machine or another "
        "user's; better put in AGENTSTEPPER_CONTROL_TOKEN",
    )


def add_run_command(commands: Commands) -> None:
    """Describe `agentstepper run`."""
    parser = commands.add_parser(
        "run",
        help="run an agent's program under the debugger",
        usage="%(prog)s [-h] [--name NAME] [--url URL] [--token TOKEN] [--no-attach] [--with-parent] "
        "-- PROGRAM "
        "[ARGUMENT ...]",
        description=_RUN,
        epilog=_RUN_EXITS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--name", help="what its runs are called, in place of the name that it gives itself")
    add("--url", help="where agents reach the debugger; else it is looked for")
    add("--token", help="the agent token; better put in AGENTSTEPPER_TOKEN")
    add(
        "--no-attach",
        dest="attach",
        action="store_false",
        help="let only those events halt that the program traces by an AgentStepper of its own",
    )
    add(
        "--with-parent",
        action="store_true",
        help="end the program where the one that started this ends, however that ends (Linux)",
    )
    # What stands here stands before the `--`.
    add("misplaced", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def add_doctor_command(commands: Commands) -> None:
    """Describe `agentstepper doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="tell what is connected to what, and what is wrong",
        description=_DOCTOR,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", metavar="DIR", help="look at the runs that are kept in this folder")
    add(
        "--repair",
        action="store_true",
        help="bring back what can be of damaged runs; keeps the damaged files under other names",
    )
    add("--json", action="store_true", help="for programs: one JSON document")


def add_export_command(commands: Commands) -> None:
    """Describe `agentstepper export`."""
    parser = commands.add_parser(
        "export",
        help="write a run that is kept to a file",
        description=_EXPORT,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("run", metavar="RUN", help="its id, how its id alone begins, or its name (the newest)")
    add("file", metavar="FILE", help="the file; its end says the format: .run, .zip or .log")
    add(
        "--data", metavar="DIR", help="where runs are kept (agentstepper/ in Jupyter's data folder)"
    )
    add("--format", choices=EXPORT_FORMATS, help="the format, where the file's name doesn't say it")
    add("--force", action="store_true", help="replace the file where it exists")


def add_backup_command(commands: Commands) -> None:
    """Describe `agentstepper backup`."""
    parser = commands.add_parser(
        "backup",
        help="copy the runs and background agents to a new folder",
        description="Copies the runs and background agents to a new folder, which `agentstepper serve "
        "--data` can open. A Core that has the runs' folder goes on.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("to", metavar="TO", nargs="?", help="the new folder (agentstepper-backup-DATE-TIME, here)")
    add(
        "--data", metavar="DIR", help="where runs are kept (agentstepper/ in Jupyter's data folder)"
    )


def add_worker_command(commands: Commands) -> None:
    """Describe `agentstepper worker`."""
    parser = commands.add_parser(
        "worker",
        help="serve a Core, which else starts one itself",
        description=_WORKER,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--url", help="where the Core takes workers, or agents; else it is looked for")
    add("--token", help="the worker token; better put in AGENTSTEPPER_WORKER_TOKEN")
    add("--data", metavar="DIR", help="where sessions are kept (agentstepper/ in Jupyter's data)")
    add(
        "--lease",
        type=parse_positive_number,
        default=10.0,
        metavar="S",
        help="seconds until another worker takes over what this one no longer renews (%(default)g)",
    )
    add(
        "--poll",
        type=parse_positive_number,
        default=1.0,
        metavar="S",
        help="seconds after which it looks for work though nobody has woken it (%(default)g)",
    )
    add("--log-level", choices=LOG_LEVELS, default="info", help="how much is told (%(default)s)")
    add("--until-eof", action="store_true", help="end where the standard input does")


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
