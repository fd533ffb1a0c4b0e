"""The scope of an agent that a framework runs: what begins inside of it is the agent's."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

from ..sdk.base_stepper import find_current_stepper
from ..sdk.scopes import Scope, enter_scope, find_numbering_scope, find_scope


def open_agent(name: Any) -> Scope | None:
    """The scope of an agent that is called now, numbered in the scope of the calling code.

    Args:
        name: The agent's name, as its framework has it.

    Returns:
        None outside of any run, for an agent without a name, and where the calling code is that
        agent's own: a method that calls another of the same agent.
    """
    around = _find_scope_around()
    if around is None or not name or not isinstance(name, str) or around.agent == name:
        return None
    return around.open_child(f"agent:{name}", name)


def _find_scope_around() -> Scope | None:
    around = find_numbering_scope()  # also where a run is expected that no query has opened yet
    if around is not None:
        return around
    stepper = find_current_stepper()
    return None if stepper is None else find_scope(stepper._current_session().events.root)


def call_agent(
    name: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a method that runs an agent; all events that begin in the call are the agent's.

    Args:
        name: The agent's name, in its framework.
        call: The method. It may return the result, a coroutine, a generator or an async generator.
        args: The method's arguments.
        kwargs: The method's keyword arguments.

    Returns:
        The method's result, or the same kind of coroutine or generator.
    """
    scope = open_agent(name)
    return call(*args, **kwargs) if scope is None else call_in_scope(scope, call, args, kwargs)


def call_in_scope(
    scope: Scope, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call as `call_agent` does, in the agent's scope."""
    try:
        with enter_scope(scope):
            made = call(*args, **kwargs)
    except BaseException:
        scope.close()
        raise
    if isinstance(made, AsyncGenerator):
        return _step_async(scope, made)
    if isinstance(made, Generator):
        return _step(scope, made)
    if isinstance(made, Awaitable):
        return _await(scope, made)
    scope.close()
    return made


async def _await(scope: Scope, made: Awaitable[Any]) -> Any:
    try:
        with enter_scope(scope):
            return await made
    finally:
        scope.close()


def _step(scope: Scope, steps: Generator[Any, None, Any]) -> Generator[Any, None, Any]:
    """Make each step of a generator in the agent's scope; its consumer stays in its own."""
    inside = scope
    try:
        while True:
            with enter_scope(inside):
                try:
                    item = next(steps)
                except StopIteration as end:
                    return end.value
                inside = find_numbering_scope() or inside
            yield item
    finally:
        with enter_scope(inside):
            steps.close()
        scope.close()


async def _step_async(scope: Scope, steps: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """The asynchronous `_step`: else an async generator shares its consumer's context variables."""
    inside = scope
    try:
        while True:
            with enter_scope(inside):
                try:
                    item = await anext(steps)
                except StopAsyncIteration:
                    return
                inside = find_numbering_scope() or inside
            yield item
    finally:
        with enter_scope(inside):
            await steps.aclose()
        scope.close()
