"""The path of agents, tasks and tool calls that code runs in: docs/design/0023-scopes.md.

A path is the same each time that a program does the same, whatever its tasks and threads wait for: each
part is numbered where it is created, in the scope around. For that the creation of tasks, threads and
jobs of pools is wrapped.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from functools import cache, partial
from types import CodeType
from typing import Any, Final

import wrapt

from .frozen_scope import FrozenScope
from .live_scopes import LiveScopes
from .payload import escape_surrogates

#: Parts of a path that are recorded, from the innermost out; and the characters of each.
MAX_PATH_PARTS: Final = 100
_MAX_PART_CHARS: Final = 1000


class Scope:
    """One part of a scope path, with the counters of the scopes inside of it.

    Args:
        part: The part's text, as `task:3`; empty for the run itself.
        parent: The scope around it; None for the run itself.
        agent: The agent's name, where the part is an agent.

    Attributes:
        root: The scope of the run.
        path: The parts, from the run inwards.
        agents: The names of the agents that the scope is inside of, the innermost first.
        is_closed: Whether events that begin in a context with this scope belong to the parent.
        live: The agents, tasks, threads and jobs of the run that haven't ended.
        has_forked: Whether, in a fork, the replay serves no more events of it; children inherit this.
        frozen: The frozen clock and random numbers of the scope's code; None: the live ones.
    """

    __slots__ = (
        "_counts",
        "agent",
        "agents",
        "frozen",
        "has_forked",
        "is_closed",
        "live",
        "parent",
        "path",
        "root",
    )

    def __init__(
        self, part: str = "", parent: Scope | None = None, agent: str | None = None
    ) -> None:
        self.parent = parent
        self.agent = agent
        if parent is None:
            self.root: Scope = self
            self.live = LiveScopes()
            self.path: tuple[str, ...] = ()
            self.agents: tuple[str, ...] = ()
            self.has_forked = False
            self.frozen: FrozenScope | None = None
        else:
            self.has_forked = parent.has_forked
            self.root = parent.root
            self.live = parent.live
            self.path = (*parent.path[-MAX_PATH_PARTS + 1 :], shorten_part(part))
            self.agents = parent.agents
            frozen = parent.frozen
            self.frozen = None if frozen is None else frozen.open_child(self.path)
        if agent is not None:
            self.agents = (shorten_part(agent), *self.agents)
        self.is_closed = False
        self._counts: dict[str, Iterator[int]] = {}

    def open_child(self, kind: str, agent: str | None = None) -> Scope:
        """The next scope of a kind inside of this one.

        Args:
            kind: The kind of the numbered scopes: `task`, `tool:search`.
            agent: The agent's name, where it is an agent.
        """
        # Threads may share a scope: each of these two steps is one operation.
        count = self._counts.setdefault(kind, itertools.count(1))
        child = Scope(f"{kind}:{next(count)}", self, agent)
        if not kind.startswith("tool:"):
            self.live.add(child.path)
        return child

    def end(self) -> None:
        """The agent, the task, the thread or the job has ended."""
        self.live.end(self.path)

    def close(self) -> None:
        """The agent has ended: what begins in a context that still has it belongs to its parent."""
        self.is_closed = True
        self.end()

    def open_call(self, name: str, call_id: str | None) -> Scope:
        """The scope inside of a tool call.

        Args:
            name: The tool's name.
            call_id: The id that the model gave the call: whatever the order in which tools run, a
                replay has the same.
        """
        if call_id:
            return Scope(f"tool:{call_id}", self)
        return self.open_child(f"tool:{name}")


current_scope: ContextVar[Scope | None] = ContextVar("agentstepper_scope", default=None)
_is_suspended: ContextVar[bool] = ContextVar("agentstepper_scopes_suspended", default=False)
#: The scope of a run that begins with the program's first query: its tasks are numbered before.
_expected_root: list[Scope] = []


def expect_run() -> Scope:
    """Number from now on what this context creates, for the run that opens next.

    Returns:
        The scope of that run.
    """
    root = Scope()
    _expected_root[:] = [root]
    current_scope.set(root)
    return root


def open_root() -> Scope:
    """The scope of a run that opens now."""
    return _expected_root.pop() if _expected_root else Scope()


def set_scope(scope: Scope) -> None:
    """Let what begins in this context from now on belong to a scope."""
    current_scope.set(scope)


def find_scope(root: Scope) -> Scope:
    """The scope of a run that the calling code is in; the run's own where its context has none.

    Args:
        root: The run's own scope.
    """
    scope = current_scope.get()
    while scope is not None and scope.is_closed:
        scope = scope.parent
    return scope if scope is not None and scope.root is root else root


def find_numbering_scope() -> Scope | None:
    """The scope that numbers new tasks, threads, jobs and events.

    Returns:
        None outside of any run, and in code that isn't numbered.
    """
    scope = current_scope.get()
    while scope is not None and scope.is_closed:
        scope = scope.parent
    return None if scope is None or _is_suspended.get() else scope


@contextmanager
def enter_scope(scope: Scope | None) -> Iterator[None]:
    """Inside, what begins belongs to a scope.

    Args:
        scope: The scope; None: the one that the calling code is in.
    """
    before = current_scope.get()
    if scope is not None:
        current_scope.set(scope)
    try:
        yield
    finally:
        current_scope.set(before)


@contextmanager
def enter_agent(root: Scope, name: str) -> Iterator[Scope]:
    """Inside, what begins is an agent's.

    Args:
        root: The run's own scope.
        name: The agent's name.
    """
    scope = find_scope(root).open_child(f"agent:{name}", name)
    with enter_scope(scope):
        try:
            yield scope
        finally:
            scope.close()


@contextmanager
def suspend_numbering() -> Iterator[None]:
    """Inside, tasks and threads get no numbers: a replay won't create them."""
    token = _is_suspended.set(True)
    try:
        yield
    finally:
        _is_suspended.reset(token)


def shorten_part(text: str) -> str:
    """A part of a path, or an agent's name, as it is recorded."""
    return (text if text.isascii() else escape_surrogates(text))[:_MAX_PART_CHARS]


# ---- creation ----------------------------------------------------------------------------------------
# That of tasks, threads and jobs is wrapped. Outside of a run each wrap costs a context variable's read.

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
    """End a task's scope before code that waits for the task continues."""
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
    """The nested contexts that a job enters by itself, and the function that it calls in them."""
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
    """Make a caller that runs a function in a scope, with this context's values of carried variables."""
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
