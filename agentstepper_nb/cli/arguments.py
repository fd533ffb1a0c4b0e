"""The arguments of the subcommands `serve`, `step`, `run` and `proxy`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    # Only the type checker knows that this class takes an argument.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
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


def add_serve_command(commands: Commands) -> None:
    """Add the parser of `agentstepper serve`. No argument has a default: `--config` may set all."""
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
        "--worker-isolation",
        choices=("process", "none"),
        help="where that worker runs steps of background agents whose moniker isn't cooperative: "
        "each session's alone in a process, or all on its event loop (process)",
    )
    add(
        "--worker-processes",
        type=make_integer_type(1, 1000),
        metavar="N",
        help="how many sessions have a process at once there; the others wait for one (32)",
    )
    add(
        "--runtime-store",
        metavar="sqlite|postgresql://URL",
        help="where to store background agents: beside the runs (sqlite), or in PostgreSQL, for "
        "several Cores; AGENTSTEPPER_RUNTIME_STORE sets the same",
    )
    add(
        "--certfile",
        metavar="FILE",
        help="a TLS certificate (PEM): both ports then speak wss:// only",
    )
    add(
        "--keyfile",
        metavar="FILE",
        help="the private key of --certfile (PEM), if its file doesn't have it",
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
        help="delete runs, and background agents' sessions with their actions, steps and conversations, "
        "N days after their end",
    )
    add(
        "--keep-gib",
        type=parse_positive_number,
        metavar="N",
        help="delete the oldest runs when all take more than N GiB",
    )
    add(
        "--keep-sessions",
        type=make_integer_type(1, 2**31),
        metavar="N",
        help="delete the oldest ended sessions of background agents, and conversations without one, "
        "above N of each",
    )
    add(
        "--max-sessions",
        type=make_integer_type(1, 2**31),
        metavar="N",
        help="refuse to create background agents above N live sessions (100,000)",
    )
    add(
        "--max-actions",
        type=make_integer_type(1, 2**31),
        metavar="N",
        help="refuse new actions of background agents above N open ones (1,000,000); actions that "
        "control a session are always accepted",
    )
    add(
        "--model-rate",
        metavar="MODEL=N/min",
        nargs="+",
        action="extend",
        help="how often the background agents of all workers together may call a model: MODEL=60/min "
        "for requests, MODEL=90000tokens/min for tokens, or both after a comma (no limit)",
    )
    add(
        "--inspect",
        action=argparse.BooleanOptionalAction,
        help="show the stack and the locals of an agent that waits, where the agent allows it (yes)",
    )
    add(
        "--metrics",
        action=argparse.BooleanOptionalAction,
        help="serve figures for Prometheus at /agentstepper/metrics of both ports; requests need the "
        "control token (no)",
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
        "--log-json",
        action="store_true",
        help="log one JSON object a line, for programs",
    )
    add(
        "--until-eof",
        action="store_true",
        help="exit when the standard input ends, for example with the parent process",
    )
    add(
        "--config",
        metavar="FILE",
        help="a TOML file that sets the same names; the command line wins",
    )


def add_step_command(commands: Commands) -> None:
    """Add the parser of `agentstepper step`."""
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
    """Add the parser of `agentstepper run`."""
    parser = commands.add_parser(
        "run",
        help="run an agent's program under the debugger",
        usage="%(prog)s [-h] [--name NAME] [--url URL] [--token TOKEN] [--no-attach] "
        "[--discover-tools] [--freeze] [--with-parent] [--fork RUN@ROW | --replay RUN | --rerun RUN] "
        "[--workspace DIR] -- PROGRAM [ARGUMENT ...]",
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
        "--freeze",
        action="store_true",
        help="let the program's runs see a time and random numbers that a replay can repeat",
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
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--fork",
        metavar="RUN@ROW",
        help="start a recorded run again: serve what it recorded before the row, and halt there; "
        "without PROGRAM its own command",
    )
    again.add_argument(
        "--replay", metavar="RUN", help="the same up to its end; a difference ends the program"
    )
    again.add_argument("--rerun", metavar="RUN", help="the same command, and nothing is served")
    add(
        "--workspace",
        metavar="DIR",
        help="the folder that the program works on, whose changes the debugger shows; with --fork fresh "
        "(a new folder with the files of the row; the default), in_place (the recorded folder, until "
        "agentstepper put-back) or none",
    )
    again.add_argument("--cut", help=argparse.SUPPRESS)  # RUN@COUNT, of `agentstepper bisect`
    # Arguments before the `--` that no option takes.
    add("misplaced", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def add_proxy_command(commands: Commands) -> None:
    """Add the parser of `agentstepper proxy`."""
    parser = commands.add_parser(
        "proxy",
        help="halt the LLM queries of a program of any language",
        usage="%(prog)s [-h] [--name NAME] [--url URL] [--token TOKEN] [-- PROGRAM [ARGUMENT ...]]",
        description=_PROXY,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--name", help="the run's name, in place of the program's")
    add("--url", help="the debugger's address for agents; by default the debugger is discovered")
    add("--token", help="the agent token; prefer the variable AGENTSTEPPER_TOKEN")
    add(
        "--beat-after",
        type=parse_positive_number,
        default=30,
        metavar="SECONDS",
        help="the time until a waiting client gets the first heartbeat (30)",
    )
    add(
        "--beat-every",
        type=parse_positive_number,
        default=15,
        metavar="SECONDS",
        help="the time between further heartbeats (15)",
    )


def make_integer_type(low: int, high: int) -> Callable[[str], int]:
    """Make an argument type for `argparse`: integers from `low` to `high`."""

    def parse(text: str) -> int:
        given = int(text)
        if not low <= given <= high:
            raise argparse.ArgumentTypeError(f"{given} is not between {low} and {high}")
        return given

    parse.__name__ = "number"
    return parse


def parse_positive_number(text: str) -> float:
    """An argument type for `argparse`: numbers above 0."""
    given = float(text)
    if not given > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return given


parse_positive_number.__name__ = "number"


_port: Any = make_integer_type(0, 65535)
