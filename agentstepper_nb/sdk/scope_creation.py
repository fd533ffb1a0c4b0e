"""The scopes of tasks, threads and jobs of pools: their creation is wrapped, to give each its own.

Outside of a run each wrap costs a context variable's read.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar
from functools import cache, partial
from types import CodeType
from typing import Any, Final

import wrapt

from .scopes import Scope, current_scope, find_numbering_scope, suspend_numbering

#: Variables of this package that a thread gets from what starts it.
_carried: list[ContextVar[Any]] = []
#: Threads of this package, and of libraries that start them on demand, aren't the program's own.
_UNNUMBERED_NAMES: Final = ("agentstepper", "AnyIO worker")
#: The code of functions that a library calls in tasks and jobs when others have something to wait for.
_unnumbered: set[CodeType] = set()


def skip_numbering(function: Callable[..., Any]) -> None:
    """Number no task and no job that only calls this function: how often that is depends on timing.

    Args:
        function: The function, a method of its class, or a coroutine function.
    """
    _unnumbered.add(function.__code__)


def propagate_to_threads(variable: ContextVar[Any]) -> None:
    """Let threads and jobs have a variable's value where they are started from."""
    _carried.append(variable)


@cache
def wrap_creation() -> None:
    """Wrap the creation of tasks, threads and jobs, once a process."""
    _wrap(asyncio.BaseEventLoop, "create_task", _create_task)
    _wrap(threading.Thread, "start", _start_thread)
    _wrap(ThreadPoolExecutor, "submit", _submit)


def _wrap(owner: type, name: str, wrapper: Callable[..., Any]) -> None:
    setattr(owner, name, wrapt.FunctionWrapper(vars(owner)[name], wrapper))


def _create_task(create: Any, loop: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if current_scope.get() is None:  # outside of any run
        return create(*args, **kwargs)
    scope = find_numbering_scope()
    if scope is None or (args and getattr(args[0], "cr_code", None) in _unnumbered):
        return create(*args, **kwargs)
    context = kwargs.get("context")
    if context is not None:
        # Not asyncio.run(), whose own context outlives the task.
        child = _set_in_copies([context], scope, "task") if _has_task() else None
        return _end_with(create(*args, **kwargs), child)
    child = scope.open_child("task")
    token = current_scope.set(child)
    try:
        return _end_with(create(*args, **kwargs), child)
    finally:
        current_scope.reset(token)


def _end_with(task: Any, scope: Scope | None) -> Any:
    """End a task's scope before whoever waits for the task goes on."""
    if scope is not None:
        if task.done():  # it was started eagerly
            scope.end()
        else:
            task.add_done_callback(lambda _: scope.end())
    return task


def _start_thread(start: Any, thread: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if current_scope.get() is None:  # outside of any run
        return start(*args, **kwargs)
    scope = find_numbering_scope()
    if scope is not None and not thread.name.startswith(_UNNUMBERED_NAMES):
        call, run = _wrap_in_scope(scope.open_child("thread")), thread.run

        def run_carried() -> None:
            vars(thread).pop("run", None)  # a thread that has ended isn't held by itself
            call(run)

        thread.run = run_carried
    return start(*args, **kwargs)


def _submit(submit: Any, pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if current_scope.get() is None:  # outside of any run
        return submit(*args, **kwargs)
    scope = find_numbering_scope()
    if scope is None or not args:
        return submit(*args, **kwargs)
    contexts, function = _find_contexts(args)
    if getattr(function, "__code__", None) not in _unnumbered:
        if contexts:
            if (child := _set_in_copies(contexts, scope, "pool")) is not None:
                args = (partial(_call_and_end, child, args[0]), *args[1:])
        else:
            args = (partial(_wrap_in_scope(scope.open_child("pool")), args[0]), *args[1:])
    with suspend_numbering():  # the pool's own threads come and go
        return submit(*args, **kwargs)


def _find_contexts(args: tuple[Any, ...]) -> tuple[list[Context], Any]:
    """The contexts that a job enters by itself, one in the other, and what it calls in them."""
    found: list[Context] = []
    function = None
    while args:
        function, *rest = args
        if isinstance(function, partial):
            args = (function.func, *function.args, *rest)
            continue
        owner = getattr(function, "__self__", None)
        if not isinstance(owner, Context):
            break
        found.append(owner)
        args = tuple(rest)
    return found, function


def _set_in_copies(contexts: list[Context], scope: Scope, kind: str) -> Scope | None:
    """Give copies of the creator's context a scope of their own; other contexts stay as they are."""
    copies = [context for context in contexts if context.get(current_scope) is current_scope.get()]
    child = scope.open_child(kind) if copies else None
    for context in copies:
        with suppress(RuntimeError):  # it is entered just now: no copy
            context.run(current_scope.set, child)
    return child


def _call_and_end(scope: Scope, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    finally:
        scope.end()


def _wrap_in_scope(scope: Scope) -> Callable[..., Any]:
    """What calls a function in a scope, and with the values that carried variables have here."""
    values = [(current_scope, scope), *((variable, variable.get()) for variable in _carried)]

    def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        tokens = [(variable, variable.set(value)) for variable, value in values]
        try:
            return function(*args, **kwargs)
        finally:  # a pool's thread goes on to other jobs
            scope.end()
            for variable, token in tokens:
                variable.reset(token)

    return call


def _has_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False
