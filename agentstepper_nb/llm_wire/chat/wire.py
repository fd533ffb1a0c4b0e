"""The Chat Completions API: requests, completions, and the chunks a completion is streamed as.

Decoding is lenient where clients differ and strict where a mistake would pass unseen: fields that
are not named here are ignored, roles are any word, content is text or parts; a missing `messages`
or a tool call without a function is an error that says where.

Encoding writes what the API writes, nulls included: an absent `tool_calls` is left out, a
`finish_reason` that is not there yet is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from .. import sse

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]


class FunctionCall(Struct, frozen=True):
    """What a tool call calls."""

    name: str
    arguments: str
    """JSON, as the model wrote it: it may be malformed."""


class ToolCall(Struct, frozen=True):
    """One call that an assistant's message asks for."""

    id: str
    function: FunctionCall
    type: str = "function"


class Message(Struct, frozen=True):
    """One message of a conversation, in a request or as the answer."""

    role: str
    content: str | tuple[dict[str, Any], ...] | None = None
    """Text, or parts of which those with a `text` are the words."""
    tool_calls: tuple[ToolCall, ...] | UnsetType | None = UNSET
    tool_call_id: str | UnsetType | None = UNSET
    """The call that a message of role `tool` answers."""

    @property
    def text(self) -> str:
        """The message's words; of several parts, those that are text, a line each."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part["text"] for part in self.content if isinstance(part.get("text"), str))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, none where the field is absent or null."""
        return self.tool_calls or ()


class StreamOptions(Struct, frozen=True):
    """How a stream is to be sent."""

    include_usage: bool | None = False


class Request(Struct, frozen=True):
    """The body of `POST /v1/chat/completions`, as far as an answer depends on it."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] | None = None
    n: Literal[1] | None = 1
    """One answer a request; more are refused, not silently left out."""
    stream: bool | None = False
    stream_options: StreamOptions | None = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a chunk that carries the usage."""
        return bool(self.stream_options and self.stream_options.include_usage)


class Usage(Struct, frozen=True):
    """Tokens read and written."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Choice(Struct, frozen=True):
    """One answer of a completion."""

    index: int
    message: Message
    finish_reason: FinishReason


class Completion(Struct, frozen=True):
    """A whole answer."""

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    object: Literal["chat.completion"] = "chat.completion"


class Model(Struct, frozen=True):
    """A model that an endpoint offers."""

    id: str
    created: int
    owned_by: str
    object: Literal["model"] = "model"


class ModelList(Struct, frozen=True):
    """The answer to `GET /v1/models`."""

    data: tuple[Model, ...]
    object: Literal["list"] = "list"


class FunctionDelta(Struct, frozen=True):
    """A piece of a call: its name comes with the first, its arguments grow."""

    arguments: str
    name: str | UnsetType = UNSET


class ToolCallDelta(Struct, frozen=True):
    """A piece of the tool call at `index`; the first piece carries id and type."""

    index: int
    function: FunctionDelta
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET


class Delta(Struct, frozen=True):
    """What a chunk adds to the message."""

    role: str | UnsetType = UNSET
    content: str | UnsetType | None = UNSET
    tool_calls: tuple[ToolCallDelta, ...] | UnsetType = UNSET


class ChunkChoice(Struct, frozen=True):
    """What a chunk adds to one answer."""

    index: int
    delta: Delta
    finish_reason: FinishReason | None = None


class Chunk(Struct, frozen=True):
    """One event of a streamed completion."""

    id: str
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | UnsetType | None = UNSET
    """Absent unless asked for; then null in all chunks but the last, which has no choices."""
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


class Error(Struct, frozen=True):
    """What an error answer says; sent as `{"error": …}`."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


def assistant(text: str | None, calls: Iterable[ToolCall] = ()) -> Message:
    """An answer's message; without calls the field is absent, as the API has it."""
    return Message("assistant", text, tool_calls=tuple(calls) or UNSET)


_request_decoder = msgspec.json.Decoder(Request)


def decode_request(body: bytes) -> Request:
    """Read a request.

    Raises:
        msgspec.DecodeError: (a ValueError) It isn't JSON, or not of this shape; says where.
    """
    try:
        return _request_decoder.decode(body)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None


def encode(value: Request | Completion | Chunk | ModelList) -> bytes:
    """Write a value as JSON."""
    return msgspec.json.encode(value)


def encode_question(request: Request) -> bytes:
    """What a request asks, as bytes to hash: keys sorted, and whether it streams left out."""
    return msgspec.json.encode(replace(request, stream=False, stream_options=None), order="sorted")


def encode_error(error: Error) -> bytes:
    """Write an error in the envelope that the API and its clients know."""
    return msgspec.json.encode({"error": error})


def chunks(completion: Completion, *, include_usage: bool = False) -> Iterator[Chunk]:
    """Cut a completion into the chunks of a stream; the same completion is always cut the same way.

    Text travels by the word, a tool call as its name and then its arguments in pieces. Joined by
    a client, the chunks give the completion again.

    Args:
        completion: What to stream.
        include_usage: As `stream_options.include_usage` of the request.
    """
    pending = None if include_usage else UNSET

    def chunk(*choices: ChunkChoice, usage: Usage | UnsetType | None = pending) -> Chunk:
        return Chunk(completion.id, completion.created, completion.model, choices, usage)

    for choice in completion.choices:
        for delta in _deltas(choice.message):
            yield chunk(ChunkChoice(choice.index, delta))
        yield chunk(ChunkChoice(choice.index, Delta(), choice.finish_reason))
    if include_usage:
        yield chunk(usage=completion.usage)


def _deltas(message: Message) -> Iterator[Delta]:
    yield Delta(role=message.role, content=None if message.content is None else "")
    for words in sse.words(message.text):
        yield Delta(content=words)
    for index, call in enumerate(message.calls):
        first = FunctionDelta(name=call.function.name, arguments="")
        yield Delta(tool_calls=(ToolCallDelta(index, first, id=call.id, type=call.type),))
        for fragment in sse.fragments(call.function.arguments):
            yield Delta(tool_calls=(ToolCallDelta(index, FunctionDelta(arguments=fragment)),))
