"""What agents fail by, said to people."""

from __future__ import annotations

import asyncio
from typing import Final

from ...errors import AgentStepperError, AgentStopped
from ...llm_wire.answers import clean

#: Characters of an error that are told.
_MOST: Final = 2000


def explained(error: BaseException) -> str:
    """An error in a conversation: an `AgentStepperError` as it is, others by type and text."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, asyncio.CancelledError):
        return "What the agent waited for was cancelled, by something of its own."
    if isinstance(error, SystemExit):
        return f"The agent wanted to end its process: SystemExit({error.code!r})."
    name = type(error).__name__
    try:
        text = clean(str(error))
    except Exception:  # an agent's own class may fail at that, too
        return f"{name}, which can't say what it is about."
    if not isinstance(error, AgentStepperError):
        text = f"{name}: {text}" if text else f"{name}."
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def is_stop(error: BaseException) -> bool:
    """Whether a person pressed Stop in the debugger."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(AgentStopped) is not None
    return isinstance(error, AgentStopped)


def was_cancelled() -> bool:
    """Whether this task was cancelled, and not something that an agent waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
