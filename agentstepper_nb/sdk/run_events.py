"""A run's events as its Core is sent them, and those that are open where code runs.

Open events stand on a stack in a context variable, as an unchanging tuple. A thread or task that was
started with a copied context sees the events around it, which become the parents of its own, and what
it begins itself stays its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import uuid_utils
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ..protocol.agent import AgentMessage, EventBegun, HaltPointReached
from ..protocol.data_model import AgentLabel, EventKind, EventOutcome, EventSide, Failure, Usage
from ..protocol.replay_marks import ReplayMark
from ..protocol.seams import FoundBy
from .agent_frames import find_location
from .payload import NOT_HASHED, escape_surrogates, hash_content
from .query_samples import QuerySampler
from .scopes import MAX_PATH_PARTS, Scope, find_scope, set_scope, shorten_part
from .seam_report import SeamRecorder, seam_sources
from .sticky_edits import StickyEdits

log = logging.getLogger("agentstepper_nb.sdk")

#: Says of the code that is about to begin an event which agent it belongs to, and at which node of a
#: graph it is; None where it can't tell.
LabelSource = Callable[[], AgentLabel | None]

#: The agent's clock, in seconds.
clock = time.monotonic

_label_sources: list[LabelSource] = []


@dataclass(slots=True, eq=False)
class OpenEvent:
    """An event that has begun."""

    id: str
    run: str  # the run it belongs to
    kind: EventKind
    name: str | None = None
    """The tool's, the model's or the custom event's type."""
    ended: bool = False
    skipped: bool = False  # the person gave the result instead of the call
    result: Any = None  # that result
    scope: Scope | None = None  # inside of it, where it is a tool call
    is_replayed: bool = False  # its outcome is a recorded one: it costs nothing
    end_mark: ReplayMark | None = None  # at its end, where the run is forked
    end_edit: Raw | None = None  # of its result, made by a fork
    label: AgentLabel | None = None  # the agent that does it
    sampler: QuerySampler | None = None  # asks it again while it is halted, of a query
    is_sample: bool = False  # its outcome is one of these answers, which was counted when it came

    def set_request(self, request: Any) -> None:
        """A query is made with this request, which a person may have edited."""
        if self.sampler is not None:
            self.sampler.request = request

    def push(self) -> None:
        """Open it in this context."""
        _open.set((*_list_open_events(), self))
        if self.scope is not None:
            set_scope(self.scope)

    def end(self) -> None:
        """End it, for every context that sees it."""
        self.ended = True
        if self.scope is not None:
            self.scope.is_closed = True
        _open.set(_list_open_events())

    def detach(self) -> None:
        """Let what begins in this context from now on be no part of it, though it is open."""
        _open.set(tuple(event for event in _list_open_events() if event is not self))
        if self.scope is not None and self.scope.parent is not None:
            set_scope(self.scope.parent)


_open: ContextVar[tuple[OpenEvent, ...]] = ContextVar("agentstepper_open_events", default=())


def find_innermost_event(run: str) -> OpenEvent | None:
    """The innermost open event of a run in this context."""
    for event in reversed(_open.get()):
        if event.run == run and not event.ended:
            return event
    return None


def _list_open_events() -> tuple[OpenEvent, ...]:
    return tuple(event for event in _open.get() if not event.ended)


def add_label_source(source: LabelSource) -> None:
    """Add a framework's function that names the agent of an event.

    Args:
        source: Called at the begin of each event, in the agent's context.
    """
    if source not in _label_sources:
        _label_sources.append(source)


def _describe_scope(scope: Scope) -> tuple[tuple[str, ...], AgentLabel | None]:
    """The path and the label of an event that begins in a scope."""
    parts, agents = scope.path, scope.agents
    said = _ask_label_sources() if _label_sources else None
    if said is None:
        if not agents:
            return parts, None
        return parts, AgentLabel(name=agents[0], parent=agents[1] if agents[1:] else None)
    if said.name and (not agents or agents[0] != said.name):
        parent = said.parent or (agents[0] if agents else None)
        parts = (*parts[-MAX_PATH_PARTS + 1 :], shorten_part(f"agent:{said.name}"))
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
                name=shorten_part(label.name),
                node=label.node and shorten_part(label.node),
                parent=label.parent and shorten_part(label.parent),
            )
    return None


class RunEvents:
    """Makes the events of one run.

    Args:
        run: The run's id.
        root: The run's own scope.
        seams: The run's tools and seams, and the part that was sent.

    Attributes:
        sticky_edits: The edits that are repeated in each prompt of the run.
    """

    def __init__(
        self, run: str, root: Scope | None = None, seams: SeamRecorder | None = None
    ) -> None:
        self.run = run
        self.root = root or Scope()
        self.seams = seams or SeamRecorder()
        self.sticky_edits = StickyEdits()

    def begin(
        self,
        kind: EventKind,
        name: str | None,
        content_hash: str | None,
        call_id: str | None = None,
        found_by: FoundBy = FoundBy.HAND,
        at: tuple[float, float] | None = None,
    ) -> tuple[OpenEvent, EventBegun]:
        """An event that begins here, without its halt point.

        Args:
            kind: The event's kind.
            name: The tool, the model or the custom event's type.
            content_hash: The hash of the original value; None where the sender's thread makes it.
            call_id: The id that the model gave a tool call.
            found_by: The method that found the tool, of a tool invocation.
            at: The begin in seconds, by the time of day and by the agent's clock; None: now.
        """
        parent = find_innermost_event(self.run)
        event = OpenEvent(make_id(), self.run, kind, name)
        scope = find_scope(self.root)
        path, label = _describe_scope(scope)
        event.label = label
        began, began_clock = at or (time.time(), clock())
        if scope.frozen is not None:
            scope.frozen.at = began
        if kind is EventKind.TOOL_INVOCATION:
            event.scope = scope.open_call(name or "", call_id)
            self.seams.add_tool(name or "", found_by)
        return event, EventBegun(
            id=event.id,
            kind=kind,
            at=began,
            clock=began_clock,
            parent=None if parent is None else parent.id,
            name=escape_surrogates(name) if name else None,
            scope=path or UNSET,
            label=label or UNSET,
            content_hash=UNSET if content_hash is None else content_hash,
            found_by=UNSET if found_by is FoundBy.HAND else found_by,
            seams=self.seams.pop_changed_seams() if seam_sources else UNSET,
            # A call that is told from the wire was made elsewhere.
            location=UNSET if found_by is FoundBy.WIRE else find_location(),
        )

    def make_instant_event(self, kind: EventKind, data: Raw) -> EventBegun:
        """An event without an end: the program's start, or a debug message.

        Args:
            kind: The event's kind.
            data: The event's data, as JSON text.
        """
        parent = find_innermost_event(self.run)
        path, label = _describe_scope(find_scope(self.root))
        return EventBegun(
            id=make_id(),
            kind=kind,
            at=time.time(),
            clock=clock(),
            parent=None if parent is None else parent.id,
            data=data,
            scope=path or UNSET,
            label=label or UNSET,
            seams=self.seams.pop_changed_seams() if seam_sources else UNSET,
            location=find_location(),
        )


def add_content_hash(
    messages: tuple[AgentMessage, ...], key: bytes | None
) -> tuple[AgentMessage, ...]:
    """Messages with the hash of the event that begins with them; on the sender's thread.

    Args:
        messages: The messages that are sent together.
        key: The key of the run's hashes; None: no hashes.
    """
    begun, point = messages[0], messages[-1]
    if not isinstance(begun, EventBegun) or not isinstance(point, HaltPointReached):
        return messages
    if begun.data is not UNSET:  # the program's start
        return messages
    content_hash = begun.content_hash
    if content_hash == NOT_HASHED:
        content_hash = UNSET
    elif content_hash is UNSET and key is not None and point.data is not UNSET:
        content_hash = hash_content(point.data, key)
    return (replace(begun, content_hash=content_hash), *messages[1:])


def make_id() -> str:
    """A UUIDv7."""
    return str(uuid_utils.uuid7())


def make_halt_point(
    event: str,
    side: EventSide,
    data: Raw,
    waits: bool,
    *,
    summary: str | None = None,
    outcome: EventOutcome | None = None,
    failure: Failure | None = None,
    traceback: str = "",
    usage: Usage | None = None,
    edit: Raw | UnsetType = UNSET,
    epoch: int = 0,
    schema: Raw | UnsetType = UNSET,
    signal: Raw | UnsetType = UNSET,
    result_type: str | UnsetType = UNSET,
) -> HaltPointReached:
    """A halt point that is reached now."""
    return HaltPointReached(
        id=make_id(),
        event=event,
        side=side,
        waits=waits,
        at=time.time(),
        clock=clock(),
        data=data,
        summary=summary,
        outcome=outcome,
        failure=failure,
        traceback=traceback,
        usage=usage,
        edit=edit,
        epoch=epoch,
        schema=schema,
        signal=signal,
        result_type=result_type,
    )
