"""The base class of incremental decoders of streamed answers, for all APIs."""

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

#: The error of an answer whose connection ended before the answer's end.
CUT_OFF_ERROR: Final = {
    "kind": "cut",
    "message": (
        "The answer broke off: the connection ended before the end of the model's answer. "
        "Try again."
    ),
}
#: The error of an unstreamed answer that isn't in the API's format.
UNREADABLE_ERROR: Final = {
    "kind": "invalid",
    "message": "The answer can't be decoded: it doesn't have the API's format. Check the address.",
}

#: The words in an error's code that mark a temporary error.
_TRANSIENT_SIGNS: Final = (
    "overloaded",
    "rate_limit",
    "server_error",
    "api_error",
    "timeout",
    "unavailable",
)


class AnswerStream(ABC):
    """An incremental decoder of one answer: pieces of bytes in, events out as soon as possible.

    The decoder buffers only an incomplete event and the arguments of open calls. An unreadable event
    becomes a `TraceEvent`, and decoding continues. The last event is `ResponseCompleted`; later data is
    dropped.
    """

    def __init__(self) -> None:
        self.is_over = False
        """Whether the answer is complete: no more events follow."""
        self._decoder = sse.SseDecoder()

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Decode the next bytes of a stream of server-sent events, and return the new events."""
        return [
            emitted for event in self._decoder.feed(data) for emitted in self.read_data(event.data)
        ]

    def close(self, error_data: dict[str, Any] | None = None) -> list[AgentEvent]:
        """End the stream.

        Args:
            error_data: The connection's error, as data of a `TraceEvent("error", …)`; None: no error.

        Returns:
            The events that end an incomplete answer.
        """
        emitted = [
            emitted for event in self._decoder.close() for emitted in self.read_data(event.data)
        ]
        return (
            emitted if self.is_over else [*emitted, *self._end(dict(error_data or CUT_OFF_ERROR))]
        )

    def read_data(self, data: str) -> Iterator[AgentEvent]:
        """Decode the data of one server-sent event, or an unstreamed answer."""
        if self.is_over:
            return
        try:
            yield from self._read(data)
        except (ValueError, RecursionError):
            yield TraceEvent("parse_error", data)

    @abstractmethod
    def _read(self, data: str) -> Iterator[AgentEvent]:
        """Decode the data of one server-sent event.

        Raises:
            ValueError: The data isn't in the API's format; raised before the first event is yielded.
        """

    def _end(self, error_data: dict[str, Any]) -> Iterator[AgentEvent]:
        """End an answer whose end wasn't received. Overridden for APIs without a marked end."""
        return self._fail(error_data)

    def _complete(self, reason: str, usage: Usage | None) -> ResponseCompleted:
        self.is_over = True
        return ResponseCompleted(reason, usage)

    def _fail(self, error_data: dict[str, Any]) -> Iterator[AgentEvent]:
        self.is_over = True
        yield TraceEvent("error", error_data)
        yield ResponseCompleted("error")


class BufferedAnswer:
    """A decoder of an unstreamed answer, which some endpoints send although a stream was requested.

    Args:
        stream: A new decoder of the API.
    """

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._body = bytearray()

    @property
    def is_over(self) -> bool:
        """Whether the answer was decoded."""
        return self._stream.is_over

    def feed(self, data: bytes) -> list[AgentEvent]:
        """Buffer the next bytes. Returns no events."""
        self._body += data
        return []

    def close(self, error_data: dict[str, Any] | None = None) -> list[AgentEvent]:
        """Decode the answer. See `AnswerStream.close`."""
        emitted = (
            [] if error_data else [*self._stream.read_data(self._body.decode(errors="replace"))]
        )
        return [*emitted, *self._stream.close(error_data or UNREADABLE_ERROR)]


class PartialToolCall:
    """A tool call whose arguments are still being received."""

    def __init__(self, call_id: str, name: str) -> None:
        self.call_id = call_id
        self.name = name
        self._fragments: list[str] = []

    @property
    def arguments(self) -> str:
        """The arguments so far, as JSON text; an empty object if there are none."""
        return "".join(self._fragments) or "{}"

    def make_started_event(self) -> ToolCallStarted:
        """Make the event that begins the call."""
        return ToolCallStarted(self.call_id, self.name)

    def append(self, fragment: str) -> Iterator[ToolCallArgsDelta]:
        """Append a piece of the arguments; yields its event unless the piece is empty."""
        if fragment:
            self._fragments.append(fragment)
            yield ToolCallArgsDelta(self.call_id, fragment)

    def set_arguments(self, arguments: str) -> Iterator[ToolCallArgsDelta]:
        """Set the complete arguments; yields an event of the part that wasn't received before."""
        before = "".join(self._fragments)
        if arguments.startswith(before):
            yield from self.append(arguments.removeprefix(before))
        else:
            self._fragments = [arguments]

    def make_ready_event(self) -> ToolCallReady:
        """Make the event that completes the call."""
        return ToolCallReady(self.call_id, self.name, self.arguments)


def make_text_events(text: str | None) -> Iterator[TextDelta]:
    """Make the event of a piece of text; no event if the piece is empty."""
    if text:
        yield TextDelta(text)


def make_reasoning_events(text: object) -> Iterator[TraceEvent]:
    """Make the event of a piece of a model's reasoning; no event unless the piece is text."""
    if text and isinstance(text, str):
        yield TraceEvent("reasoning", text)


def make_error_data(message: str, code: object = None) -> dict[str, Any]:
    """Make the data of an error that a service sends within its answer.

    Args:
        message: The service's error message.
        code: The service's error code, if any.
    """
    word = code if isinstance(code, str) else ""
    kind = "overloaded" if any(part in word for part in _TRANSIENT_SIGNS) else "refused"
    said = message or word or "no reason was given"
    return {"kind": kind, "message": f"The model's service failed while it answered: {said}"}
