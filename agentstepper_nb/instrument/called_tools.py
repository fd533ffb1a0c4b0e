"""The tools that models have called in their answers, until something executes the calls.

By these a call that a framework makes gets the id that its model gave it, whether the framework hands
the id to the tool or not, and no id that a framework made up: a replay would have another.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ..llm_wire.tool_names import CalledTool, find_called_tools
from ..sdk.base_stepper import BaseStepper

#: The most answers of a run whose calls are stored; calls of older answers aren't recognized.
_MAX_ANSWERS: Final = 100


@dataclass
class _RunCalls:
    """The tools that models called in one run."""

    answers: deque[list[CalledTool]] = field(default_factory=lambda: deque(maxlen=_MAX_ANSWERS))
    ids: set[str] = field(default_factory=set)


_lock = threading.Lock()
_runs: dict[str, _RunCalls] = {}
#: The run in which this context has read an answer, and the calls of it that nothing has executed yet.
_called: ContextVar[tuple[str, list[CalledTool]] | None] = ContextVar(
    "agentstepper_called_tools", default=None
)


def record_called_tools(stepper: BaseStepper, answer: dict[str, Any]) -> None:
    """Record the tools that an answer calls.

    Args:
        stepper: The stepper of the query's run.
        answer: The whole answer, as the agent reads it.
    """
    calls, run = find_called_tools(answer), stepper.run_id
    _called.set((run, calls))
    with _lock:
        known = _runs.get(run)
        if known is None:
            known = _runs[run] = _RunCalls()
            stepper._current_session().link.add_end_callback(lambda: _forget(run))
        known.answers.append(calls)
        known.ids.update(call.id for call in calls if call.id)


@contextmanager
def restore_called_tools() -> Iterator[None]:
    """Restore this context's current calls afterwards, whatever queries are made inside."""
    before = _called.get()
    try:
        yield
    finally:
        _called.set(before)


def pop_called_tool(run: str, name: str, args: Any) -> CalledTool | None:
    """The next call of a tool in this context's answer, or in the run's newest where it has none.

    Args:
        run: The run's id.
        name: The tool's name.
        args: The call's arguments: of several calls, one with these is preferred.

    Returns:
        None where the answer doesn't call the tool, or each of its calls was executed.
    """
    with _lock:
        calls = _get_own_calls(run)
        if calls is None:
            known = _runs.get(run)
            calls = known.answers[-1] if known is not None else []
        named = [(calls, call) for call in calls if call.name == name]
        return _remove_first(named, partial(_has_args, args)) or _remove_first(
            named, lambda call: True
        )


def find_call_id(run: str, name: str, args: Any, given: str | None) -> str | None:
    """The id that the model gave a call, which is about to be executed.

    Args:
        run: The run's id.
        name: The tool's name.
        args: The call's arguments.
        given: The id by which the framework knows the call, where it has one.

    Returns:
        None where the model gave no id, or several calls are possible.
    """
    with _lock:
        known = _runs.get(run)
        if known is None:
            return given
        calls = list(_list_calls(known, _get_own_calls(run) or [], name))
        if given in known.ids:
            _remove_first(calls, lambda call: call.id == given)
            return given
        taken = _remove_first(calls, partial(_has_args, args))
        if taken is not None:
            return taken.id
        return None if calls else given


def _get_own_calls(run: str) -> list[CalledTool] | None:
    """The calls of the answer that this context has read in a run; None where it has read none."""
    called = _called.get()
    return called[1] if called is not None and called[0] == run else None


def _list_calls(
    known: _RunCalls, own: list[CalledTool], name: str
) -> Iterator[tuple[list[CalledTool], CalledTool]]:
    """The calls of a tool that nothing has executed, with their lists; this context's come first."""
    for calls in (own, *(calls for calls in reversed(known.answers) if calls is not own)):
        yield from ((calls, call) for call in calls if call.name == name)


def _remove_first(
    calls: list[tuple[list[CalledTool], CalledTool]], fits: Callable[[CalledTool], bool]
) -> CalledTool | None:
    for owner, call in calls:
        if fits(call):
            owner.remove(call)
            return call
    return None


def _has_args(args: Any, call: CalledTool) -> bool:
    try:
        return bool(call.args == args)
    except Exception:  # of arguments of the agent's own types, which may be compared in other ways
        return False


def _forget(run: str) -> None:
    with _lock:
        _runs.pop(run, None)
