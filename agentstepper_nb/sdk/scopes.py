"""The path of agents, tasks and tool calls that code runs in: docs/design/0023-scopes.md.

A path is the same each time that a program does the same, whatever its tasks and threads wait for:
each part is numbered where it is created, in the scope that creates it. The creation of tasks, threads
and jobs of pools is wrapped, to give each its scope; outside of a run each wrap costs the read of a
context variable.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from functools import cache, partial
from types import CodeType
from typing import Any, Final

import wrapt

from ..protocol.data_model import AgentLabel
from .payload import escape_surrogates

log = logging.getLogger("agentstepper_nb.sdk")

#: Parts of a path that are recorded, from the innermost out; and the characters of each.
_MAX_PARTS: Final = 100
_MAX_PART_CHARS: Final = 1000

#: Says of the code that is about to begin an event which agent it belongs to, and at which node of a
#: graph it is; None where it can't tell.
LabelSource = Callable[[], AgentLabel | None]


class Scope:
    """One part of a path, and what it has numbered inside of it.

    Args:
        part: What the part is, as `task:3`; nothing for the run itself.
        parent: The scope around it; None for the run itself.
        agent: The agent's name, where the part is an agent.

    Attributes:
        root: The scope of the run.
        path: The parts, from the run inwards.
        agents: The names of the agents that it is inside of, the innermost first.
        is_closed: Whether what begins in a context that still has it belongs to its parent.
    """

    __slots__ = ("_counts", "agent", "agents", "is_closed", "parent", "path", "root")

    def __init__(
        self, part: str = "", parent: Scope | None = None, agent: str | None = None
    ) -> None:
        self.parent = parent
        self.agent = agent
        if parent is None:
            self.root: Scope = self
            self.path: tuple[str, ...] = ()
            self.agents: tuple[str, ...] = ()
        else:
            self.root = parent.root
            self.path = (*parent.path[-_MAX_PARTS + 1 :], _shorten(part))
            self.agents = parent.agents
        if agent is not None:
            self.agents = (_shorten(agent), *self.agents)
        self.is_closed = False
        self._counts: dict[str, Iterator[int]] = {}

    def open_child(self, kind: str, agent: str | None = None) -> Scope:
        """The next scope of a kind inside of this one.

        Args:
            kind: What is numbered: `task`, `tool:search`.
            agent: The agent's name, where it is an agent.
        """
        # Threads may share a scope: each of these two steps is one operation.
        count = self._counts.setdefault(kind, itertools.count(1))
        return Scope(f"{kind}:{next(count)}", self, agent)

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


_current: ContextVar[Scope | None] = ContextVar("agentstepper_scope", default=None)
_is_suspended: ContextVar[bool] = ContextVar("agentstepper_scopes_suspended", default=False)
_label_sources: list[LabelSource] = []
#: The scope of a run that begins with the program's first query: its tasks are numbered before.
_expected_root: list[Scope] = []


def expect_run() -> None:
    """Number from now on what this context creates, for the run that opens next."""
    root = Scope()
    _expected_root[:] = [root]
    _current.set(root)


def open_root() -> Scope:
    """The scope of a run that opens now."""
    return _expected_root.pop() if _expected_root else Scope()


def set_scope(scope: Scope) -> None:
    """Let what begins in this context from now on belong to a scope."""
    _current.set(scope)


def find_scope(root: Scope) -> Scope:
    """The scope of a run that the calling code is in; the run's own where its context has none.

    Args:
        root: The run's own scope.
    """
    scope = _current.get()
    while scope is not None and scope.is_closed:
        scope = scope.parent
    return scope if scope is not None and scope.root is root else root


def find_numbering_scope() -> Scope | None:
    """The scope that numbers what is created now.

    Returns:
        None outside of any run, and in what isn't numbered.
    """
    scope = _current.get()
    while scope is not None and scope.is_closed:
        scope = scope.parent
    return None if scope is None or _is_suspended.get() else scope


@contextmanager
def enter_scope(scope: Scope | None) -> Iterator[None]:
    """Inside, what begins belongs to a scope.

    Args:
        scope: The scope; None: the one that the calling code is in.
    """
    before = _current.get()
    if scope is not None:
        _current.set(scope)
    try:
        yield
    finally:
        _current.set(before)


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
            scope.is_closed = True


@contextmanager
def suspend_numbering() -> Iterator[None]:
    """Inside, tasks and threads get no numbers: a replay won't create them."""
    token = _is_suspended.set(True)
    try:
        yield
    finally:
        _is_suspended.reset(token)


def add_label_source(source: LabelSource) -> None:
    """Ask a framework, too, whose an event is.

    Args:
        source: Is called at the begin of each event, in the agent's context.
    """
    if source not in _label_sources:
        _label_sources.append(source)


def describe_scope(scope: Scope) -> tuple[tuple[str, ...], AgentLabel | None]:
    """The path and the label of an event that begins in a scope."""
    parts, agents = scope.path, scope.agents
    said = _ask_label_sources() if _label_sources else None
    if said is None:
        if not agents:
            return parts, None
        return parts, AgentLabel(name=agents[0], parent=agents[1] if agents[1:] else None)
    if said.name and (not agents or agents[0] != said.name):
        parent = said.parent or (agents[0] if agents else None)
        parts = (*parts[-_MAX_PARTS + 1 :], _shorten(f"agent:{said.name}"))
        return parts, AgentLabel(name=said.name, node=said.node, parent=parent)
    name, outer = (agents[0], agents[1:]) if agents else ("", ())
    return parts, AgentLabel(name=name, node=said.node, parent=outer[0] if outer else None)


def _ask_label_sources() -> AgentLabel | None:
    for source in _label_sources:
        try:
            label = source()
        except Exception as error:  # a framework of another version; the agent goes on
            log.warning("A framework's agent could not be named: %r", error)
            continue
        if label is not None:
            return AgentLabel(
                name=_shorten(label.name),
                node=label.node and _shorten(label.node),
                parent=label.parent and _shorten(label.parent),
            )
    return None


def _shorten(text: str) -> str:
    return (text if text.isascii() else escape_surrogates(text))[:_MAX_PART_CHARS]


# ---- the creation of tasks, threads and jobs ---------------------------------------------------------

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
    if _current.get() is None:  # outside of any run
        return create(*args, **kwargs)
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
    if _current.get() is None:  # outside of any run
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
    if _current.get() is None:  # outside of any run
        return submit(*args, **kwargs)
    scope = find_numbering_scope()
    if scope is None or not args:
        return submit(*args, **kwargs)
    contexts, function = _find_contexts(args)
    if getattr(function, "__code__", None) not in _unnumbered:
        if contexts:
            _set_in_copies(contexts, scope, "pool")
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


def _set_in_copies(contexts: list[Context], scope: Scope, kind: str) -> None:
    """Give copies of the creator's context a scope of their own; other contexts stay as they are."""
    copies = [context for context in contexts if context.get(_current) is _current.get()]
    child = scope.open_child(kind) if copies else scope
    for context in copies:
        with suppress(RuntimeError):  # it is entered just now: no copy
            context.run(_current.set, child)


def _wrap_in_scope(scope: Scope) -> Callable[..., Any]:
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
