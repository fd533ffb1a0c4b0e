"""A constrained answer, read while it comes: pieces of JSON in, the events of a text or a call out.

A server that doesn't keep to the schema may say anything: what is no such object is a text.
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

#: How the two kinds of an answer begin.
_SPEAKS: Final = re.compile(r'\s*\{\s*"text"\s*:\s*"')
_CALLS: Final = re.compile(r'\s*\{\s*"tool"\s*:\s*"([^"\\]+)"\s*,\s*"arguments"\s*:\s*(?=\{)')
#: What may still become one of these; longer ones don't.
_MAY_BEGIN: Final = re.compile(r'\s*(?:\{[\s\w\-":,.]*)?')
_MAX_BEGIN_CHARS: Final = 400
#: Of a JSON string, what can be read now: a half escape waits for its other half.
_READABLE: Final = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r"|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*"
)


class ConstrainedAnswerReader:
    """Reads one answer.

    Args:
        call_id: What a call in it is called.
    """

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._head = ""
        self._body: _Body | None = None

    def read(self, event: AgentEvent) -> Iterator[AgentEvent]:
        """The events that one of the server's makes; what is not of the text is passed on."""
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
        """What the answer is, as soon as that is clear, and what came of it."""
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
    """What comes after the beginning of an answer."""

    @property
    def is_complete(self) -> bool:
        """Whether its end has come."""

    def feed(self, text: str) -> Iterator[AgentEvent]:
        """Read some more."""


class _Plain:
    """A text that is no JSON."""

    is_complete = True

    def feed(self, text: str) -> Iterator[AgentEvent]:
        if text:
            yield TextDelta(text)


class _PartialText:
    """The inside of a JSON string, up to its quote."""

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
    """The object of a call's arguments, up to its brace."""

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
        """What of it is the arguments', and whether they end there."""
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
    # Half of a pair alone is no character that can be sent on.
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
