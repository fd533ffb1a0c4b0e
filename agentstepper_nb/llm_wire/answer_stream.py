"""Reading an answer as it comes: what the streams of all APIs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final

from ..protocol.data_model import Usage
from . import sse
from .events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)

#: What an answer is cut by that ends without saying so.
CUT_OFF_ERROR: Final = {
    "kind": "cut",
    "message": (
        "The answer broke off: the connection ended before the end of the model's answer. "
        "Try again."
    ),
}
#: An answer in one piece that is none.
UNREADABLE_ERROR: Final = {
    "kind": "invalid",
    "message": "The answer can't be decoded: it doesn't have the API's format. Check the address.",
}

#: In an error's code, the words of what passes by itself.
_TRANSIENT_SIGNS: Final = (
    "overloaded",
    "rate_limit",
    "server_error",
    "api_error",
    "timeout",
    "unavailable",
)


class AnswerStream(ABC):
    """An answer: bytes in, cut anywhere, events out as soon as they are known.

    Nothing is kept but an event that isn't complete and the arguments of open calls. What can't be
    read is a `TraceEvent`, and reading goes on. The last event is `ResponseCompleted`; what comes
    after it is dropped.
    """

    def __init__(self) -> None:
        self.is_over = False
        """Whether the answer is complete: nothing more will be given."""
        self._decoder = sse.SseDecoder()

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Take the next bytes of a stream of server-sent events."""
        return [
            emitted for event in self._decoder.feed(data) for emitted in self.read_data(event.data)
        ]

    def close(self, error_data: dict[str, Any] | None = None) -> list[AgentEvent]:
        """Nothing follows.

        Args:
            error_data: Why, where the connection failed; data of a `TraceEvent("error", …)`.

        Returns:
            The events that end an answer which hasn't said that it is over.
        """
        emitted = [
            emitted for event in self._decoder.close() for emitted in self.read_data(event.data)
        ]
        return (
            emitted if self.is_over else [*emitted, *self._end(dict(error_data or CUT_OFF_ERROR))]
        )

    def read_data(self, data: str) -> Iterator[AgentEvent]:
        """Read the data of one event, or an answer that came in one piece."""
        if self.is_over:
            return
        try:
            yield from self._read(data)
        except (ValueError, RecursionError):
            yield TraceEvent("parse_error", data)

    @abstractmethod
    def _read(self, data: str) -> Iterator[AgentEvent]:
        """Events of one event's data.

        Raises:
            ValueError: It isn't of the API's shape; before the first event is given.
        """

    def _end(self, error_data: dict[str, Any]) -> Iterator[AgentEvent]:
        """How an answer ends whose end didn't come; overridden where it may be whole all the same."""
        return self._fail(error_data)

    def _complete(self, reason: str, usage: Usage | None) -> ResponseCompleted:
        self.is_over = True
        return ResponseCompleted(reason, usage)

    def _fail(self, error_data: dict[str, Any]) -> Iterator[AgentEvent]:
        self.is_over = True
        yield TraceEvent("error", error_data)
        yield ResponseCompleted("error")


class BufferedAnswer:
    """An answer in one piece, where a stream was asked for: some endpoints know no other.

    Args:
        stream: Reads it, and hasn't read anything yet.
    """

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._body = bytearray()

    @property
    def is_over(self) -> bool:
        """Whether it was read."""
        return self._stream.is_over

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Take the next bytes; nothing is known before all are there."""
        self._body += data
        return []

    def close(self, error_data: dict[str, Any] | None = None) -> list[AgentEvent]:
        """Read it; see `AnswerStream.close`."""
        emitted = (
            [] if error_data else [*self._stream.read_data(self._body.decode(errors="replace"))]
        )
        return [*emitted, *self._stream.close(error_data or UNREADABLE_ERROR)]


class PartialToolCall:
    """A call whose arguments are still being written."""

    def __init__(self, call_id: str, name: str) -> None:
        self.call_id = call_id
        self.name = name
        self._fragments: list[str] = []

    @property
    def arguments(self) -> str:
        """The arguments so far; none at all are an empty object."""
        return "".join(self._fragments) or "{}"

    def make_started_event(self) -> ToolCallStarted:
        """What tells of it."""
        return ToolCallStarted(self.call_id, self.name)

    def append(self, fragment: str) -> Iterator[ToolCallArgsDelta]:
        """Some more was written; tells so unless it is nothing."""
        if fragment:
            self._fragments.append(fragment)
            yield ToolCallArgsDelta(self.call_id, fragment)

    def set_arguments(self, arguments: str) -> Iterator[ToolCallArgsDelta]:
        """Take the arguments that the service says are all; tells of what had not come yet."""
        before = "".join(self._fragments)
        if arguments.startswith(before):
            yield from self.append(arguments.removeprefix(before))
        else:
            self._fragments = [arguments]

    def make_ready_event(self) -> ToolCallReady:
        """What tells that it is whole."""
        return ToolCallReady(self.call_id, self.name, self.arguments)


def make_text_events(text: str | None) -> Iterator[TextDelta]:
    """What tells of some more text; nothing does of none."""
    if text:
        yield TextDelta(text)


def make_reasoning_events(text: object) -> Iterator[TraceEvent]:
    """What tells of some more that a model thinks, where it is text."""
    if text and isinstance(text, str):
        yield TraceEvent("reasoning", text)


def make_error_data(message: str, code: object = None) -> dict[str, Any]:
    """The data of an error that a service tells of within its answer.

    Args:
        message: What it says.
        code: Its word for that, if any.
    """
    word = code if isinstance(code, str) else ""
    kind = "overloaded" if any(part in word for part in _TRANSIENT_SIGNS) else "refused"
    said = message or word or "no reason was given"
    return {"kind": kind, "message": f"The model's service failed while it answered: {said}"}
