"""Finds the run that a call, which is about to be made, belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ..errors import AgentStopped
from ..own_queries import is_own_query
from ..sdk.base_stepper import BaseStepper, find_current_stepper
from . import auto_run

_STOPPED_MESSAGE: Final = (
    "The person pressed Stop: this run asks no model and calls no tool any more."
)

_is_agent_remote: ContextVar[bool] = ContextVar("agentstepper_is_agent_remote", default=False)


@contextmanager
def expect_remote_agent() -> Iterator[None]:
    """Within this context the agent is another process, of which only requests are seen here."""
    token = _is_agent_remote.set(True)
    try:
        yield
    finally:
        _is_agent_remote.reset(token)


def is_agent_remote() -> bool:
    """Whether the agent that makes the query is another process."""
    return _is_agent_remote.get()


class RepeatedStop(AgentStopped, KeyboardInterrupt):
    """Raised where an agent goes on after Stop. Loops that retry any error end at KeyboardInterrupt."""


def is_run_expected() -> bool:
    """Whether a call may belong to a run: a cheap check, since most calls belong to none."""
    return auto_run.is_enabled() or find_current_stepper() is not None


def find_run() -> BaseStepper | None:
    """The AgentStepper whose run a call belongs to; opens a run in a program with an attached debugger.

    Returns:
        None outside of any run, and where the debugger itself makes the call.
    """
    found = find_current_stepper() or (auto_run.open_run() if auto_run.is_enabled() else None)
    return None if found is None or is_own_query() else found


def raise_if_stopped(stepper: BaseStepper, is_async: bool) -> None:
    """Raise an error in a run that a person stopped.

    Args:
        stepper: The stepper of the run.
        is_async: Whether an event loop runs, which a KeyboardInterrupt would end.

    Raises:
        AgentStopped: The person pressed Stop.
    """
    if stepper._current_session().link.is_stopped:
        raise AgentStopped(_STOPPED_MESSAGE) if is_async else RepeatedStop(_STOPPED_MESSAGE)
