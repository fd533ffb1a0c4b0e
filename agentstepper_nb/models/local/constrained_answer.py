"""Incremental decoder of constrained answers: pieces of JSON in, events of a text or a tool call out.

A server may ignore the schema. An answer that isn't an object of the schema is decoded as plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, Protocol

from ...llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)

#: The beginnings of the two kinds of answers.
_SPEAKS: Final = re.compile(r'\s*\{\s*"text"\s*:\s*"')
_CALLS: Final = re.compile(r'\s*\{\s*"tool"\s*:\s*"([^"\\]+)"\s*,\s*"arguments"\s*:\s*(?=\{)')
#: A text that may still become one of these beginnings, and the most characters of such a text.
_MAY_BEGIN: Final = re.compile(r'\s*(?:\{[\s\w\-":,.]*)?')
_MAX_BEGIN_CHARS: Final = 400
#: The part of a JSON string that can be decoded now, without an incomplete escape at its end. The first
#: half of a surrogate pair waits for the second half, or for what shows that there is none.
_READABLE: Final = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}(?=[^\\]|\\[^u]|\\u[^dD]|\\u[dD][^c-fC-F])"
    r"|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*"
)


class ConstrainedAnswerReader:
    """Decodes one constrained answer.

    Args:
        call_id: The id of the tool call, if the answer is one.
    """

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._head = ""
        self._body: _Body | None = None

    def read(self, event: AgentEvent) -> Iterator[AgentEvent]:
        """Convert one event of the server. Only text and the answer's end are changed."""
        match event:
            case TextDelta(text):
                yield from self._feed(text)
            case ResponseCompleted():
                yield from self._end(event)
            case _:
                yield event

    def _feed(self, text: str) -> Iterator[AgentEvent]:
        if self._body is None:
            self._head += text
            self._body, text = self._begin()
        if self._body is not None:
            if isinstance(self._body, _Call) and not self._body.has_started:
                yield self._body.start()
            yield from self._body.feed(text)

    def _begin(self) -> tuple[_Body | None, str]:
        """Return the body of the answer's kind, once the kind is known, and the rest of the text."""
        head = self._head
        if found := _CALLS.match(head):
            return _Call(self._call_id, found[1]), head[found.end() :]
        if found := _SPEAKS.match(head):
            return _PartialText(), head[found.end() :]
        if len(head) > _MAX_BEGIN_CHARS or not _MAY_BEGIN.fullmatch(head):
            return _Plain(), head
        return None, ""

    def _end(self, event: ResponseCompleted) -> Iterator[AgentEvent]:
        if self._body is None:
            if self._head:
                yield TextDelta(self._head)
            yield event
        elif self._body.is_complete and isinstance(self._body, _Call):
            reason = event.reason if event.reason == "error" else "tool_calls"
            yield ResponseCompleted(reason, event.usage)
        elif self._body.is_complete or event.reason != "stop":
            yield event
        else:
            text = "The local model ended in the middle of its answer."
            yield TraceEvent("error", {"kind": "invalid", "message": text})
            yield ResponseCompleted("error", None)


class _Body(Protocol):
    """The part of an answer after its beginning."""

    @property
    def is_complete(self) -> bool:
        """Whether the body's end has been read."""

    def feed(self, text: str) -> Iterator[AgentEvent]:
        """Read the next piece of text."""


class _Plain:
    """A text that isn't JSON."""

    is_complete = True

    def feed(self, text: str) -> Iterator[AgentEvent]:
        if text:
            yield TextDelta(text)


class _PartialText:
    """The inside of a JSON string, up to the closing quote."""

    def __init__(self) -> None:
        self.is_complete = False
        self._rest = ""

    def feed(self, text: str) -> Iterator[AgentEvent]:
        if self.is_complete:
            return
        self._rest += text
        found = _READABLE.match(self._rest)
        assert found is not None  # it matches nothing at all, too
        self._rest = self._rest[found.end() :]
        self.is_complete = self._rest.startswith('"')
        if found[0]:
            yield TextDelta(_unescaped(found[0]))


class _Call:
    """The JSON object of a call's arguments, up to the closing brace."""

    def __init__(self, call_id: str, name: str) -> None:
        self.is_complete = False
        self.has_started = False
        self._call_id = call_id
        self._name = name
        self._read: list[str] = []
        self._depth = 0
        self._in_text = False
        self._escaped = False

    def start(self) -> AgentEvent:
        self.has_started = True
        return ToolCallStarted(self._call_id, self._name)

    def feed(self, text: str) -> Iterator[AgentEvent]:
        if self.is_complete:
            return
        fragment, ended = self._own(text)
        self.is_complete = ended
        if fragment:
            self._read.append(fragment)
            yield ToolCallArgsDelta(self._call_id, fragment)
        if ended:
            yield ToolCallReady(self._call_id, self._name, "".join(self._read))

    def _own(self, text: str) -> tuple[str, bool]:
        """Return the part of a text that belongs to the arguments, and whether the arguments end."""
        for index, sign in enumerate(text):
            if self._in_text:
                self._in_text = self._escaped or sign != '"'
                self._escaped = sign == "\\" and not self._escaped
            elif sign == '"':
                self._in_text = True
            elif sign in "{[":
                self._depth += 1
            elif sign in "}]":
                self._depth -= 1
                if not self._depth:
                    return text[: index + 1], True
        return text, False


def _unescaped(text: str) -> str:
    read: str = json.loads(f'"{text}"', strict=False)
    # Half of a surrogate pair alone can't be encoded as UTF-8.
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
