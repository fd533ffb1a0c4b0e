"""Pieces become messages: what belongs together is one, told as it comes and whole at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

from msgspec.structs import asdict, replace

from ..errors import CommandError, ProtocolError
from ..llm_wire.answer_builder import replace_surrogates
from ..protocol.chat import MAX_MESSAGE_LENGTH, AgentOutput, Message, MessageType
from . import message_types
from .connector import TextReplacement
from .request_converter import convert_mapping

#: The most characters of a message's content. Longer content is truncated, with a mark.
MAX_CONTENT_CHARS: Final = 1_000_000
#: Calls that may wait for their results at once; of more, the oldest is given up.
MAX_CALLS: Final = 100

_CUT: Final = "\n… (cut: a message has at most 1,000,000 characters)"
_MAX_BEFORE_CUT_CHARS: Final = MAX_CONTENT_CHARS - len(_CUT)
#: Types whose messages are their text: a piece without any is nothing.
_TEXTS: Final = frozenset({MessageType.MESSAGE, MessageType.CODE, MessageType.CONSOLE})
#: The fields that a piece and the one that goes on with it have alike.
_MERGE_FIELDS: Final = ("type", "role", "format", "language")
#: The fields that a piece which continues a message doesn't have.
_TOO_MUCH_CONTENT: Final = (
    "media_type",
    "data",
    "path",
    "choices",
    "call_id",
    "name",
    "arguments",
    "result",
    "ok",
    "details",
)


class PartialMessage:
    """A message that isn't whole yet.

    Args:
        message: As it began, without content.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self._parts: list[str] = []
        self._remaining_chars = _MAX_BEFORE_CUT_CHARS

    def append(self, text: str) -> Message:
        """Add some content; gives the message with what was added alone."""
        if self._remaining_chars < 0:
            text = ""
        elif len(text) > self._remaining_chars:
            text, self._remaining_chars = text[: self._remaining_chars] + _CUT, -1
        else:
            self._remaining_chars -= len(text)
        self._parts.append(text)
        return replace(self.message, content=text)

    def complete(self, **changes: Any) -> Message:
        """The message, complete."""
        return replace(self.message, content="".join(self._parts), final=True, **changes)


class MessageBuilder:
    """Makes messages from the pieces of one answer.

    Consecutive pieces of text, code or output with the same type, role, format and language form one
    message. A call and its result form one message by the call's id, regardless of pieces in between. An
    incomplete message has `final` false, and only the new part of its content; the complete message has
    the same id and `final` true.

    Args:
        session_id: The session's id.
        agent_name: The name of the answering agent.
        clock: Returns the time, in seconds since 1970.
        new_id: Makes the ids of messages, and of calls without an id.
    """

    def __init__(
        self,
        session_id: str,
        agent_name: str | None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        self._session_id = session_id
        self._agent_name = agent_name
        self._clock = clock
        self._new_id = new_id
        self._open: PartialMessage | None = None
        self._calls: list[PartialMessage] = []
        self._confirmations: dict[str, PartialMessage] = {}

    def add(self, item: str | AgentOutput | TextReplacement | Mapping[str, Any]) -> list[Message]:
        """Add a piece of the answer.

        Args:
            item: The item that the agent yielded, except a `Handoff`.

        Returns:
            The changes: the end of the previous message, a new message, or a part of a message.

        Raises:
            ProtocolError: `invalid_message`: the item isn't a valid piece. The builder is unchanged.
        """
        if isinstance(item, TextReplacement):
            return self._replaced(replace_surrogates(item.content))
        piece = to_agent_output(item)
        if piece.type in _TEXTS and not piece.content and not _has_more(piece):
            return []
        if piece.type == MessageType.FUNCTION:
            return self._function(piece)
        saying = None if piece.is_new_block else self._open
        if saying is not None and _goes_on(piece, saying.message):
            told = saying.append(replace_surrogates(piece.content))
            return [told] if told.content else []
        opened, told = self._opened(piece)
        before = self._finish_text()
        if piece.type == MessageType.CONFIRMATION:
            self._confirmations[told.id] = opened
        elif piece.data is not None or piece.path is not None:
            return [*before, opened.complete()]
        else:
            self._open = opened
        return [*before, told]

    def end_confirmation(self, message_id: str, choice: str | None) -> Message:
        """End a CONFIRMATION.

        Args:
            message_id: Its message.
            choice: What the person chose; None: it is withdrawn.

        Returns:
            The whole message.

        Raises:
            CommandError: `not_waiting`: it doesn't wait, or this is none of its choices.
        """
        asked = self._confirmations.get(message_id)
        if asked is None:
            raise CommandError("not_waiting", "This confirmation no longer waits for a choice.")
        if choice is not None and choice not in asked.message.choices:
            known = ", ".join(asked.message.choices)
            raise CommandError(
                "not_waiting", f"{choice!r} is not a choice of this confirmation: choose {known}."
            )
        del self._confirmations[message_id]
        return asked.complete(chosen=choice)

    def close(self) -> list[Message]:
        """The answer is over: what isn't whole is as it is. Gives these messages, whole."""
        calls, self._calls = self._calls, []
        asking, self._confirmations = self._confirmations, {}
        rest = [*calls, *asking.values()]
        rest.sort(key=lambda each: each.message.created_at)
        return [*(each.complete() for each in rest), *self._finish_text()]

    # ---- parts --------------------------------------------------------------------------------------

    def _opened(self, piece: AgentOutput) -> tuple[PartialMessage, Message]:
        """A new message, checked; and what is told of it."""
        content = replace_surrogates(piece.content)
        fields = asdict(piece) | {"content": content[:MAX_CONTENT_CHARS]}
        del fields["is_new_block"]
        message = message_types.check_message(
            Message(
                id=self._new_id(),
                session_id=self._session_id,
                agent_name=self._agent_name,
                created_at=self._clock(),
                final=False,
                **fields,
            )
        )
        opened = PartialMessage(replace(message, content=""))
        return opened, opened.append(content)

    def _finish_text(self) -> list[Message]:
        """The end of the text that is being said."""
        saying, self._open = self._open, None
        return [] if saying is None else [saying.complete()]

    def _replaced(self, content: str) -> list[Message]:
        saying, self._open = self._open, None
        if saying is None:
            if not content:
                return []
            opened, _ = self._opened(AgentOutput(content=content))
            return [opened.complete()]
        told = PartialMessage(saying.message)
        told.append(content)
        return [told.complete()]

    def _function(self, piece: AgentOutput) -> list[Message]:
        if piece.ok is None and piece.result is None:
            return self._called(piece)
        ok, call = piece.ok is not False, self._call_of(piece.call_id)
        if call is not None:
            checked = message_types.check_message(replace(call.message, result=piece.result, ok=ok))
            self._calls.remove(call)
            call.append(replace_surrogates(piece.content))
            return [*self._finish_text(), call.complete(result=checked.result, ok=ok)]
        call_id = piece.call_id or self._new_id()
        piece = replace(piece, call_id=call_id, name=piece.name or "?", ok=ok)
        opened, _ = self._opened(piece)
        return [*self._finish_text(), opened.complete()]

    def _called(self, piece: AgentOutput) -> list[Message]:
        arguments = {} if piece.arguments is None else piece.arguments
        call_id = piece.call_id or self._new_id()
        opened, told = self._opened(replace(piece, call_id=call_id, arguments=arguments))
        before = self._finish_text()
        self._calls.append(opened)
        if len(self._calls) > MAX_CALLS:
            before.append(self._calls.pop(0).complete())
        return [*before, told]

    def _call_of(self, call_id: str | None) -> PartialMessage | None:
        """The call whose result came: the oldest that waits of its id; without one, the newest."""
        if call_id is None:
            return self._calls[-1] if self._calls else None
        return next((each for each in self._calls if each.message.call_id == call_id), None)


def to_agent_output(item: object) -> AgentOutput:
    """Convert an item that an agent yielded to a piece.

    Args:
        item: A text, a piece, or a mapping that the default rules convert.

    Raises:
        ProtocolError: `invalid_message`: the item is none of these.
    """
    if isinstance(item, AgentOutput):
        return item
    if isinstance(item, str):
        return AgentOutput(content=item)
    if isinstance(item, Mapping):
        return convert_mapping(item)
    text = (
        f"An answer can't contain a value of type {type(item).__name__}: give texts, pieces and "
        "mappings."
    )
    raise ProtocolError("invalid_message", text)


def is_content_empty(message: Message) -> bool:
    """Whether all that a message said was taken back: of text, code or output nothing is left.

    Args:
        message: The message.
    """
    return (
        message.final
        and message.type in _TEXTS
        and message.path is None
        and not message.content
        and message.role != "user"
    )


def _has_more(piece: AgentOutput) -> bool:
    return any(getattr(piece, name) not in (None, ()) for name in _TOO_MUCH_CONTENT)


def _goes_on(piece: AgentOutput, message: Message) -> bool:
    return not _has_more(piece) and all(
        getattr(piece, name) == getattr(message, name) for name in _MERGE_FIELDS
    )


class MessageCollector:
    """Collects the newest messages of a stream as complete messages.

    Args:
        max_messages: The most messages that are held.
    """

    def __init__(self, max_messages: int = MAX_MESSAGE_LENGTH) -> None:
        self._max_messages = max_messages
        self._pieces = MessageBuilder("stream", None)
        self._messages: dict[str, Message | PartialMessage] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """Each message in the order in which it began: whole, or as far as it has come."""
        return tuple(
            replace(each.complete(), final=False) if isinstance(each, PartialMessage) else each
            for each in self._messages.values()
        )

    def add(self, item: object) -> None:
        """Add a message, or a part of a message. Other items are ignored.

        Args:
            item: An item of the stream.
        """
        if isinstance(item, Message):
            self._put(item)
        elif isinstance(item, str | AgentOutput | TextReplacement | Mapping):
            for message in self._pieces.add(item):
                self._put(message)

    def close(self) -> None:
        """The stream is over."""
        for message in self._pieces.close():
            self._put(message)

    def _put(self, message: Message) -> None:
        if message.final:
            self._messages[message.id] = message
        else:
            known = self._messages.get(message.id)
            opened = (
                known
                if isinstance(known, PartialMessage)
                else PartialMessage(replace(message, content=""))
            )
            opened.append(message.content)
            self._messages[message.id] = opened
        while len(self._messages) > self._max_messages:
            del self._messages[next(iter(self._messages))]
