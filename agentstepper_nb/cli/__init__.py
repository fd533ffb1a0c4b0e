"""The command `agentstepper`. Each subcommand is a module, imported on use.

Imports anything.
Begin reading in `arguments`, then in the subcommand's module: `step`, `serve`, `code`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from .._version import __version__

#: Exit codes, as shells and argparse have them.
EXIT_OK: Final = 0
EXIT_FAILURE: Final = 1
EXIT_USAGE_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130

#: The commands that run a program, whose command line follows `--`.
_WITH_PROGRAM: Final = ("run", "proxy", "bisect")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The arguments after the program's name; None: those of the process.

    Returns:
        The exit code: 0 for success, 1 for a failure, 2 for wrong usage, 130 after an interrupt; for
        `agentstepper run` the program's own; `agentstepper code` has more codes.
    """
    own, program = _split(sys.argv[1:] if arguments is None else list(arguments))
    options = _parser().parse_args(own)
    if options.command in _WITH_PROGRAM:
        options.program = program
    command = import_module(f".{options.command.replace('-', '_')}", __package__)
    try:
        code: int = command.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # who read it has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def _split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """Split arguments into the command's and, after `--`, the program's; argparse would drop `--`."""
    if arguments[:1] not in [[command] for command in _WITH_PROGRAM] or "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentstepper", description="The debugger for LLM agents.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"agentstepper_nb {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    from .agent_command_arguments import (
        add_chat_command,
        add_code_command,
        add_policy_command,
    )
    from .arguments import (
        add_proxy_command,
        add_run_command,
        add_serve_command,
        add_step_command,
    )
    from .store_command_arguments import (
        add_backup_command,
        add_bisect_command,
        add_doctor_command,
        add_export_command,
        add_put_back_command,
    )
    from .worker_arguments import (
        add_import_lance_command,
        add_project_command,
        add_worker_command,
    )

    add_serve_command(commands)
    add_step_command(commands)
    add_run_command(commands)
    add_proxy_command(commands)
    add_bisect_command(commands)
    add_doctor_command(commands)
    add_export_command(commands)
    add_backup_command(commands)
    add_put_back_command(commands)
    add_worker_command(commands)
    add_code_command(commands)
    add_chat_command(commands)
    add_policy_command(commands)
    add_project_command(commands)
    add_import_lance_command(commands)
    return parser
