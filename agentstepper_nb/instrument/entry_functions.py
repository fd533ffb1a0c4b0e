"""`entry`: marks a function whose calls are runs that can be started again."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

from ..errors import ConnectionLostError, DiscoveryError
from ..sdk import AgentStepper, AsyncAgentStepper, set_current_stepper
from ..sdk.base_stepper import InitialMode, find_context_stepper
from ..sdk.environment_replays import is_requested
from ..sdk.function_starts import make_call_start
from ..sdk.start_methods import use_start
from . import seams

P = ParamSpec("P")
R = TypeVar("R")


class _EntryOptions(NamedTuple):
    """The options of the runs of a function; see `entry`."""

    name: str
    workspace: str | os.PathLike[str] | None
    mode: InitialMode
    stop_on_entry: bool
    discovers_tools: bool

    def make_arguments(self) -> dict[str, Any]:
        """The arguments of an AgentStepper."""
        return {
            "program_name": self.name,
            "agent_workspace_path": self.workspace,
            "mode": self.mode,
            "stop_on_entry": self.stop_on_entry,
        }


@overload
def entry(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def entry(
    *,
    name: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    mode: InitialMode = "step",
    stop_on_entry: bool = False,
    discovers_tools: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def entry(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    mode: InitialMode = "step",
    stop_on_entry: bool = False,
    discovers_tools: bool = False,
) -> Any:
    """Mark a function as an agent: each call is a run that the Core can start again.

    To start a run again, the function is imported and called with the recorded arguments. LLM
    queries and tool calls inside of the function halt, as in a program that is attached. An
    AgentStepper that the function makes without an address is the run. A call inside of another run
    belongs to that run. If no Core is found, a warning says so, and the function runs without the
    debugger.

    The Core records the function's module and name, and the call's arguments as JSON with secrets
    masked. Arguments that can't be written as JSON aren't recorded; such a call can be started
    again only by `fork_run`.

    Args:
        function: The function, synchronous or `async`, at the top level of a module or of a class.
        name: The name of the runs; None: the function's name.
        workspace: The folder that the agent works on, as `agent_workspace_path=` of an
            AgentStepper.
        mode: The mode that the runs begin in, as for an AgentStepper.
        stop_on_entry: Whether the runs halt before the function does anything.
        discovers_tools: Whether plain functions halt too, as for `instrument.enable`.

    Raises:
        TypeError: The argument is no function, or is a generator function, whose call runs no code
            yet.
    """

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        _check(function)
        own_name = name or function.__name__
        return _wrap(
            function, _EntryOptions(own_name, workspace, mode, stop_on_entry, discovers_tools)
        )

    return mark if function is None else mark(function)


def _check(function: Callable[..., Any]) -> None:
    if not inspect.isfunction(function):
        raise TypeError(
            f"entry marks a function, not {function!r}. Write @agentstepper_nb.entry above a def."
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{function.__qualname__} yields, and entry marks functions that return. Mark the function "
            "that takes all the values."
        )


def _wrap(function: Callable[..., Any], options: _EntryOptions) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            async with AsyncExitStack() as opened:
                if _is_run_needed(function, args, kwargs):
                    await _open_async(opened, function, options, args, kwargs)
                return await function(*args, **kwargs)

        return call_async

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as opened:
            if _is_run_needed(function, args, kwargs):
                _open(opened, function, options, args, kwargs)
            return function(*args, **kwargs)

    return call


def _open(
    opened: ExitStack,
    function: Callable[..., Any],
    options: _EntryOptions,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Open the run of a call, and make it that of this context."""
    _attach(options)
    with _run_without_core(), use_start(make_call_start(function, args, kwargs)):
        dbg = opened.enter_context(AgentStepper(**options.make_arguments()))
        opened.enter_context(set_current_stepper(dbg))


async def _open_async(
    opened: AsyncExitStack,
    function: Callable[..., Any],
    options: _EntryOptions,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """The asynchronous form of `_open`."""
    _attach(options)
    with _run_without_core(), use_start(make_call_start(function, args, kwargs)):
        made = AsyncAgentStepper(**options.make_arguments())
        dbg = await opened.enter_async_context(made)
        opened.enter_context(set_current_stepper(dbg))


def _attach(options: _EntryOptions) -> None:
    if not seams.is_enabled():
        seams.enable(discovers_tools=options.discovers_tools)


@contextmanager
def _run_without_core() -> Iterator[None]:
    """Go on without the debugger where no Core is found, unless the run is one that starts again."""
    must_open = is_requested()
    try:
        yield
    except (DiscoveryError, ConnectionLostError) as error:
        if must_open:
            raise
        warnings.warn(
            f"This function runs without the debugger: {error}", RuntimeWarning, stacklevel=5
        )


def _is_run_needed(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """Whether a call opens a run; a call with wrong arguments fails without a run.

    Raises:
        ImportError: A module is being imported to start a run again, and calls an entry function.
    """
    if _importing:
        raise ImportError(
            f"The module {_importing[-1]} calls {function.__qualname__} where it is imported. Put the "
            'call below if __name__ == "__main__": so that its functions can be started again.'
        )
    if find_context_stepper() is not None:
        return False
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


# ---- importing a function, to call it again -----------------------------------------------------------


@contextmanager
def refuse_calls(module: str) -> Iterator[None]:
    """Inside, calls of marked functions fail: one of them is imported, to be called again.

    Args:
        module: The module's name.
    """
    _importing.append(module)
    try:
        yield
    finally:
        _importing.pop()


_importing: list[str] = []
