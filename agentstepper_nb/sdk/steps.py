"""What a flow asks its driver to do, and what a flow comes to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ..protocol.agent import AgentMessage
from .edit_checks import Check
from .open_events import OpenEvent

T = TypeVar("T")


class Send(NamedTuple):
    """Send these, and go on."""

    messages: tuple[AgentMessage, ...]


class Ask(NamedTuple):
    """Send these, and wait for the breakpoint's answer."""

    messages: tuple[AgentMessage, ...]
    breakpoint: str
    #: Called with what sends more, once these are on their way.
    queued: Callable[[Callable[[tuple[AgentMessage, ...]], None]], None] | None = None
    #: Says why the agent can't take an edit, where it can't; called on a thread of its own.
    check: Check | None = None


class Until(NamedTuple):
    """Wait until this is there."""

    future: Future[Any]


class Flush(NamedTuple):
    """Wait until everything sent so far has left the process."""


class Work(NamedTuple):
    """Do this, which may block, and go on when it is done."""

    function: Callable[[], None]


class Call(NamedTuple):
    """Make the agent's own call; what it came to is a `Made`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Made:
    """How a `Call` went. An exception is a value here: a generator can't be thrown a StopIteration."""

    value: Any = None
    error: BaseException | None = None


Step = Send | Ask | Until | Flush | Work | Call
#: A flow that ends with a T. What is sent in is an `Answer` for Ask, the future's result for Until, a
#: `Made` for Call, else None.
Steps = Generator[Step, Any, T]


class Begun(NamedTuple):
    """An event that may go on: its call is to be made with `value`."""

    event: OpenEvent
    value: Any
    edited: bool


class BegunTool(NamedTuple):
    """A tool invocation that may go on."""

    event: OpenEvent
    tool: str
    args: Any


class Ended(NamedTuple):
    """What an event's end came to."""

    value: Any
    edited: bool
