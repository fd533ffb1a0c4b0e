"""The line `%agentstepper check COMMAND`: records a run's outcome by a command that a person trusts."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from IPython.core.error import UsageError

from ..breakpoints.core_request import send_request
from ..core.key_line import find_key_line
from ..core.summaries import extract_first_line
from ..errors import AgentStepperError
from ..protocol.program_requests import DebuggerConfig, RecordCheckRun
from ..protocol.text_escaping import escape_to_one_line
from ..sdk import find_last_run
from .cell_mode import CellMode, find_core

_USAGE: Final = (
    'usage: %agentstepper check COMMAND, as in %agentstepper check "pytest -q". The command runs in '
    "the folder of this kernel's newest run."
)
#: Seconds that a command has.
_TIMEOUT_S: Final = 600.0
_MAX_COMMAND_CHARS: Final = 1000


def run_check_command(line: str, timeout_s: float = _TIMEOUT_S) -> str:
    """Execute a line that begins with `check`.

    Args:
        line: The text after `%agentstepper`.
        timeout_s: Seconds that the command may take.

    Returns:
        The command's result and its output, for a person.

    Raises:
        UsageError: There is no command or no run, the command can't be started or takes too long, or
            the Core refuses to record it.
    """
    command = _read_command(line)
    last = find_last_run()
    if last is None:
        raise UsageError("This kernel has run no agent yet. Run an agent first, then check it.")
    run, workspace = last
    folder = workspace if workspace and Path(workspace).is_dir() else str(Path.cwd())
    code, output = _run(command, folder, timeout_s)
    find_core(CellMode())
    request = RecordCheckRun(
        run=run, command=command, exit_code=code, line=extract_first_line(find_key_line(output))
    )
    try:
        send_request(request, DebuggerConfig)
    except (AgentStepperError, ConnectionError) as error:
        raise UsageError(
            f"The command exits with {code}; the Core didn't record that: {error}"
        ) from None
    how = "passed" if code == 0 else f"failed with exit code {code}"
    said = escape_to_one_line(f"“{command}” {how} in {folder}. The run's end shows it.")
    return f"{output.rstrip()}\n{said}" if output.strip() else said


def _read_command(line: str) -> str:
    command = "".join(line.strip().split(maxsplit=1)[1:])
    if len(command) > 1 and command[0] == command[-1] and command[0] in "\"'":
        command = command[1:-1]
    if not command or len(command) > _MAX_COMMAND_CHARS:
        raise UsageError(_USAGE)
    return command


def _run(command: str, folder: str, timeout_s: float) -> tuple[int, str]:
    """Run a command by the shell, as a person's terminal does."""
    try:
        process = subprocess.Popen(  # a person typed it into their own cell
            command,
            shell=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"The command can't be started: {error}.") from None
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise UsageError(
                f"The command took longer than {timeout_s:.0f} seconds and was ended. Check with a "
                "shorter command."
            ) from None
        except BaseException:  # an interrupt, which doesn't reach it by itself
            _kill(process)
            raise
    return process.returncode, output.decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a shell and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
