"""Whether a run can be started again by itself, and what a person does where it can't."""

from __future__ import annotations

import json

from ..protocol.data_model import Run
from ..protocol.start_methods import CellStart, CommandStart, FunctionStart, StartMethod


def explain_no_command(
    run: Run, start: StartMethod | None, row: int | None, host: str
) -> str | None:
    """Explain why a run's command or function can't be started again, and what to do; None: it can.

    Args:
        run: The run.
        start: The run's start method; None: unknown to the run's Core.
        row: The row at which to fork the run; None: no fork.
        host: This machine's name.
    """
    if isinstance(start, CommandStart):
        return _explain_masks(run, start, row) if start.masked else None
    if isinstance(start, FunctionStart):
        return _explain_function(run, start, row)
    why = explain_start(run, start, host)
    if isinstance(start, CellStart):
        return f"{why} Put %%step {make_option(run, row)} on top of a cell there."
    return f"{why} {_advise(run, row)}"


def explain_start(run: Run, start: CellStart | FunctionStart | None, host: str) -> str:
    """Describe a start method other than a command; arguments as `explain_no_command`'s."""
    if isinstance(start, CellStart):
        return f"Run {run.id} is a notebook's cell, and runs again in a kernel."
    if start is not None:
        why = f"Run {run.id} is a call of the Python function {start.module}.{start.name}"
        is_importable = start.call or not (start.module == "__main__" or "<" in start.name)
        return f"{why}." if is_importable else f"{why}, which no other process can import."
    if run.host and run.host != host:
        return f"The agent of run {run.id} ran on another machine, {run.host}."
    return (
        f"This Core doesn't know how run {run.id} was started: the run was imported, or its program "
        "was started by neither agentstepper run, spawn, %%step nor a function with @entry."
    )


def explain_masked_words(run: Run, start: CommandStart) -> str:
    """Name the words of a command that were masked, so that they can't be given again."""
    words = ", ".join(f"{at} ({start.argv[at]})" for at in start.masked if at < len(start.argv))
    return f"Arguments of the command of run {run.id} were masked when it was recorded: {words}."


def _explain_function(run: Run, start: FunctionStart, row: int | None) -> str | None:
    if not start.call:
        return f"{explain_start(run, start, '')} {_advise(run, row)}"
    for names, what in (
        (start.call.masked, "were masked when it was recorded"),
        (start.call.unrecorded, "aren't JSON, and weren't recorded"),
    ):
        if names:
            line = make_python_line(run, row, start.name)
            return (
                f"Arguments of {start.module}.{start.name} in run {run.id} {what}: "
                f"{', '.join(names)}. Call the function in Python, {line}."
            )
    return None


def make_option(run: Run, row: int | None) -> str:
    """The option of `agentstepper run` or `%%step` that starts a run again: a fork or a replay."""
    return f"--replay {run.id}" if row is None else f"--fork {run.id}@{row}"


def make_python_line(run: Run, row: int | None, function: str = "agent") -> str:
    """A line of Python that runs an agent's function again on a run."""
    name = json.dumps(run.name or run.id, ensure_ascii=False)
    if row is None:
        return f"replay_run({name}, {function}, …)"
    return f"fork_run({name}, {row}, {function}, …)"


def _advise(run: Run, row: int | None) -> str:
    return (
        f"Name a command, agentstepper run {make_option(run, row)} -- python agent.py, or a function, "
        f"{make_python_line(run, row)}."
    )


def _explain_masks(run: Run, start: CommandStart, row: int | None) -> str:
    return (
        f"{explain_masked_words(run, start)} Give the whole command: agentstepper run "
        f"{make_option(run, row)} -- {start.argv[0]} …"
    )
