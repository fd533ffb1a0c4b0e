"""Server-sent events: how they are framed and read again, and how an answer is cut for a stream.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

CONTENT_TYPE = "text/event-stream; charset=utf-8"

_BOM: Final = b"\xef\xbb\xbf"


def encode_event(data: bytes, event: str | None = None) -> bytes:
    """Frame one event.

    Args:
        data: UTF-8 text. Line breaks inside become further `data:` lines, as the standard asks.
        event: Its name, a single line; None leaves that field out.
    """
    name = b"" if event is None else b"event: %b\n" % event.encode()
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return name + b"".join(b"data: %b\n" % line for line in lines) + b"\n"


#: The event after which a Chat Completions stream says nothing more.
DONE = encode_event(b"[DONE]")


class SseEvent(Struct, frozen=True):
    """One server-sent event."""

    data: str
    name: str = "message"
    id: str | None = None
    """The last id that the stream has set, here or before."""


class SseDecoder:
    """Reads a stream's bytes, cut anywhere: inside a character or a line's end, too."""

    def __init__(self) -> None:
        self._line = bytearray()  # the one whose end hasn't come
        self._ended_by_cr = False  # the last line was: a line feed that comes next belongs to it
        self._first = True
        self._data: list[str] = []
        self._name = ""
        self._id: str | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """Decode the next bytes, and return the events that are now complete."""
        if not data:
            return []
        if self._ended_by_cr and data.startswith(b"\n"):
            data = data[1:]
        self._ended_by_cr = data.endswith(b"\r")
        return [event for line in self._lines(data) for event in self._read_line(line)]

    def close(self) -> list[SseEvent]:
        """End the stream, and return an event that lacks its blank line or its last line's end.

        The standard drops such an event, but some services omit the end.
        """
        # Carriage returns: a line feed might belong to one that came last.
        return self.feed(b"\r\r" if self._line else b"\r")

    def _lines(self, data: bytes) -> Iterator[bytes]:
        for line in data.splitlines(keepends=True):
            self._line += line
            if line.endswith((b"\n", b"\r")):
                complete = bytes(self._line).rstrip(b"\r\n")
                self._line.clear()
                yield complete

    def _read_line(self, line: bytes) -> Iterator[SseEvent]:
        if self._first:
            line, self._first = line.removeprefix(_BOM), False
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.decode(errors="replace").partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self) -> Iterator[SseEvent]:
        data, name = self._data, self._name
        self._data, self._name = [], ""
        if data:
            yield SseEvent("\n".join(data), name or "message", self._id)


#: Characters of a tool call's arguments that one event carries.
ARGUMENT_CHARS_PER_EVENT: Final = 16


def split_words(text: str) -> list[str]:
    """Cut a text by the word, its spaces kept."""
    return re.findall(r"\s*\S+\s*|\s+", text)


def split_arguments(arguments: str) -> list[str]:
    """Cut a tool call's arguments, wherever that falls."""
    step = ARGUMENT_CHARS_PER_EVENT
    return [arguments[start : start + step] for start in range(0, len(arguments), step)]
