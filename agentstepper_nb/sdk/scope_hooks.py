"""What gives tasks, threads and the jobs of pools their scopes: their creation, wrapped.

Outside of a run each of these costs the read of a context variable.
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

from .scopes import Scope, _current, find_numbering_scope, suspend_numbering

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
def install() -> None:
    """Wrap the creation of tasks, threads and jobs, once a process."""
    _wrap(asyncio.BaseEventLoop, "create_task", _create_task)
    _wrap(threading.Thread, "start", _start_thread)
    _wrap(ThreadPoolExecutor, "submit", _submit)


def _wrap(owner: type, name: str, wrapper: Callable[..., Any]) -> None:
    setattr(owner, name, wrapt.FunctionWrapper(vars(owner)[name], wrapper))


def _create_task(create: Any, loop: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    scope = find_numbering_scope()
    if scope is None or (args and getattr(args[0], "cr_code", None) in _unnumbered):
        return create(*args, **kwargs)
    context = kwargs.get("context")
    if context is not None:
        if _has_task():  # not asyncio.run(), whose own context outlives the task
            _set_in_copies([context], scope, "task")
        return create(*args, **kwargs)
    token = _current.set(scope.open_child("task"))
    try:
        return create(*args, **kwargs)
    finally:
        _current.reset(token)


def _start_thread(start: Any, thread: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    scope = find_numbering_scope()
    if scope is not None and not thread.name.startswith(_UNNUMBERED_NAMES):
        call, run = _carry(scope.open_child("thread")), thread.run

        def run_carried() -> None:
            vars(thread).pop("run", None)  # a thread that has ended isn't held by itself
            call(run)

        thread.run = run_carried
    return start(*args, **kwargs)


def _submit(submit: Any, pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    scope = find_numbering_scope()
    if scope is None or not args:
        return submit(*args, **kwargs)
    contexts, function = _find_contexts(args)
    if getattr(function, "__code__", None) not in _unnumbered:
        if contexts:
            _set_in_copies(contexts, scope, "pool")
        else:
            args = (partial(_carry(scope.open_child("pool")), args[0]), *args[1:])
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


def _set_in_copies(contexts: list[Context], scope: Scope, kind: str) -> None:
    """Give copies of the creator's context a scope of their own; other contexts stay as they are."""
    copies = [context for context in contexts if context.get(_current) is _current.get()]
    child = scope.open_child(kind) if copies else scope
    for context in copies:
        with suppress(RuntimeError):  # it is entered just now: no copy
            context.run(_current.set, child)


def _carry(scope: Scope) -> Callable[..., Any]:
    """What calls a function in a scope, and with the values that carried variables have here."""
    values = [(_current, scope), *((variable, variable.get()) for variable in _carried)]

    def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        tokens = [(variable, variable.set(value)) for variable, value in values]
        try:
            return function(*args, **kwargs)
        finally:  # a pool's thread goes on to other jobs
            for variable, token in tokens:
                variable.reset(token)

    return call


def _has_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False
