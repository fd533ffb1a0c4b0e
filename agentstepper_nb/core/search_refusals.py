"""Explains why a Core can't bisect a run, or write its test, and what to do instead."""

from __future__ import annotations

import json
import shlex

from ..protocol.data_model import Run
from ..protocol.run_programs import ExportTest, StartBisect
from ..protocol.start_methods import CellStart, CommandStart, FunctionStart, StartMethod
from .start_methods import explain_masked_words, explain_no_command, explain_start


def explain_no_search(
    run: Run, start: StartMethod | None, command: StartBisect, host: str
) -> str | None:
    """Explain why a search can't execute a run's command or function, and what to do; None: it can.

    Args:
        run: The good run.
        start: The run's start method; None: unknown to the run's Core.
        command: The person's command.
        host: This machine's name.
    """
    line = _make_bisect_line(command)
    if isinstance(start, CommandStart):
        if not start.masked:
            return None
        why = explain_masked_words(run, start)
        return f"{why} Give the whole command: {line} -- {start.argv[0]} …"
    if isinstance(start, FunctionStart) and explain_no_command(run, start, None, host) is None:
        return None
    why, function = explain_start(run, start, host), _make_python_line(command)
    if isinstance(start, CellStart | FunctionStart):
        return f"{why} Search from Python, with the agent's function: {function}."
    return f"{why} Name a command, {line} -- python agent.py, or a function, {function}."


def explain_no_export(
    run: Run, start: StartMethod | None, command: ExportTest, host: str
) -> str | None:
    """Explain why a run's test can't be written here, and what to do, or None. Arguments as above."""
    if isinstance(start, CommandStart):
        return None
    words = ["agentstepper", "export", "--pytest", run.id, "--agent", command.agent]
    for argument in command.args:
        words += ["--arg", argument]
    line = shlex.join([*words, "-o", command.file])
    return f"{explain_start(run, start, host)} In the folder of its agent type {line}"


def _make_bisect_line(command: StartBisect) -> str:
    runs = [command.run, *([] if command.bad is None else [command.bad])]
    words = [*runs, "--check", command.check, "--repeat", str(command.repeat)]
    return f"agentstepper bisect {shlex.join(words)}"


def _make_python_line(command: StartBisect) -> str:
    good, bad, check = (
        json.dumps(each, ensure_ascii=False) for each in (command.run, command.bad, command.check)
    )
    bad = "None" if command.bad is None else bad
    repeat = command.repeat
    return f"find_deciding_event({good}, {bad}, agent, …, check={check}, repeat={repeat})"
