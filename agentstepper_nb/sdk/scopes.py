"""The path of agents, tasks and tool calls that code runs in: docs/design/0023-scopes.md.

A path is the same each time that a program does the same, whatever its tasks and threads wait for: each
part is numbered where it is created, in the scope around; `scope_creation` does so for tasks, threads
and jobs of pools.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ..protocol.data_model import AgentLabel
from .frozen_scope import FrozenScope
from .live_scopes import LiveScopes
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
        live: Which agents, tasks, threads and jobs of the run haven't ended.
        has_forked: Whether, in a fork, what begins in it is served no more; children inherit it.
        frozen: What its code sees in place of the clock and of random numbers; None: the live ones.
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
            self.path = (*parent.path[-_MAX_PARTS + 1 :], _shorten(part))
            self.agents = parent.agents
            frozen = parent.frozen
            self.frozen = None if frozen is None else frozen.open_child(self.path)
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
_label_sources: list[LabelSource] = []
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
    """The scope that numbers what is created now.

    Returns:
        None outside of any run, and in what isn't numbered.
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
