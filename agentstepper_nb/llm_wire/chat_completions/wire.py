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


class ChatFunctionCall(Struct, frozen=True):
    """The function and the arguments of a tool call."""

    name: str
    arguments: str
    """JSON, as the model wrote it: it may be malformed."""


class ChatToolCall(Struct, frozen=True):
    """A tool call in an assistant's message."""

    id: str
    function: ChatFunctionCall
    type: str = "function"


class ChatCompletionMessage(Struct, frozen=True):
    """One message of a conversation, in a request or as the answer."""

    role: str
    content: str | tuple[dict[str, Any], ...] | None = None
    """A text, or a tuple of parts; text parts have a `text`."""
    tool_calls: tuple[ChatToolCall, ...] | UnsetType | None = UNSET
    tool_call_id: str | UnsetType | None = UNSET
    """The call that a message of role `tool` answers."""

    @property
    def text(self) -> str:
        """The message's words; of several parts, those that are text, a line each."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part["text"] for part in self.content if isinstance(part.get("text"), str))

    @property
    def calls(self) -> tuple[ChatToolCall, ...]:
        """The tool calls, none where the field is absent or null."""
        return self.tool_calls or ()


class ChatStreamOptions(Struct, frozen=True):
    """The options of a streamed answer."""

    include_usage: bool | None = False


class ChatCompletionRequest(Struct, frozen=True):
    """The body of `POST /v1/chat/completions`, as far as an answer depends on it."""

    model: str
    messages: tuple[ChatCompletionMessage, ...]
    tools: tuple[dict[str, Any], ...] | None = None
    n: Literal[1] | None = 1
    """The number of answers per request; any number but 1 is refused."""
    stream: bool | None = False
    stream_options: ChatStreamOptions | None = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a chunk that carries the usage."""
        return bool(self.stream_options and self.stream_options.include_usage)


class ChatCompletionUsage(Struct, frozen=True):
    """Tokens read and written."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletionChoice(Struct, frozen=True):
    """One answer of a completion."""

    index: int
    message: ChatCompletionMessage
    finish_reason: FinishReason


class ChatCompletion(Struct, frozen=True):
    """A whole answer."""

    id: str
    created: int
    model: str
    choices: tuple[ChatCompletionChoice, ...]
    usage: ChatCompletionUsage
    object: Literal["chat.completion"] = "chat.completion"


class ModelInfo(Struct, frozen=True):
    """A model that an endpoint offers."""

    id: str
    created: int
    owned_by: str
    object: Literal["model"] = "model"


class ModelList(Struct, frozen=True):
    """The answer to `GET /v1/models`."""

    data: tuple[ModelInfo, ...]
    object: Literal["list"] = "list"


class ChatFunctionDelta(Struct, frozen=True):
    """A piece of a call: its name comes with the first, its arguments grow."""

    arguments: str
    name: str | UnsetType = UNSET


class ChatToolCallDelta(Struct, frozen=True):
    """A piece of the tool call at `index`; the first piece carries id and type."""

    index: int
    function: ChatFunctionDelta
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET


class ChatCompletionDelta(Struct, frozen=True):
    """The part of a message that a chunk adds."""

    role: str | UnsetType = UNSET
    content: str | UnsetType | None = UNSET
    tool_calls: tuple[ChatToolCallDelta, ...] | UnsetType = UNSET


class ChatCompletionChunkChoice(Struct, frozen=True):
    """The part of one answer that a chunk adds."""

    index: int
    delta: ChatCompletionDelta
    finish_reason: FinishReason | None = None


class ChatCompletionChunk(Struct, frozen=True):
    """One event of a streamed completion."""

    id: str
    created: int
    model: str
    choices: tuple[ChatCompletionChunkChoice, ...]
    usage: ChatCompletionUsage | UnsetType | None = UNSET
    """Absent unless asked for; then null in all chunks but the last, which has no choices."""
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


class ApiError(Struct, frozen=True):
    """The body of an error response; sent as `{"error": …}`."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


def make_assistant_message(
    text: str | None, calls: Iterable[ChatToolCall] = ()
) -> ChatCompletionMessage:
    """An answer's message; without calls the field is absent, as the API has it."""
    return ChatCompletionMessage("assistant", text, tool_calls=tuple(calls) or UNSET)


_request_decoder = msgspec.json.Decoder(ChatCompletionRequest)


def decode_request(body: bytes) -> ChatCompletionRequest:
    """Read a request.

    Raises:
        msgspec.DecodeError: (a ValueError) It isn't JSON, or not of this shape; says where.
    """
    try:
        return _request_decoder.decode(body)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None


def encode_json(
    value: ChatCompletionRequest | ChatCompletion | ChatCompletionChunk | ModelList,
) -> bytes:
    """Write a value as JSON."""
    return msgspec.json.encode(value)


def encode_request_for_hash(request: ChatCompletionRequest) -> bytes:
    """Encode a request as bytes to hash: with sorted keys, and without the streaming options."""
    return msgspec.json.encode(replace(request, stream=False, stream_options=None), order="sorted")


def encode_error(error: ApiError) -> bytes:
    """Write an error in the envelope that the API and its clients know."""
    return msgspec.json.encode({"error": error})


def split_completion(
    completion: ChatCompletion, *, include_usage: bool = False
) -> Iterator[ChatCompletionChunk]:
    """Cut a completion into the chunks of a stream; the same completion is always cut the same way.

    Text travels by the word, a tool call as its name and then its arguments in pieces. Joined by
    a client, the chunks give the completion again.

    Args:
        completion: What to stream.
        include_usage: As `stream_options.include_usage` of the request.
    """
    pending = None if include_usage else UNSET

    def chunk(
        *choices: ChatCompletionChunkChoice, usage: ChatCompletionUsage | UnsetType | None = pending
    ) -> ChatCompletionChunk:
        return ChatCompletionChunk(
            completion.id, completion.created, completion.model, choices, usage
        )

    for choice in completion.choices:
        for delta in _deltas(choice.message):
            yield chunk(ChatCompletionChunkChoice(choice.index, delta))
        yield chunk(
            ChatCompletionChunkChoice(choice.index, ChatCompletionDelta(), choice.finish_reason)
        )
    if include_usage:
        yield chunk(usage=completion.usage)


def _deltas(message: ChatCompletionMessage) -> Iterator[ChatCompletionDelta]:
    yield ChatCompletionDelta(role=message.role, content=None if message.content is None else "")
    for words in sse.split_words(message.text):
        yield ChatCompletionDelta(content=words)
    for index, call in enumerate(message.calls):
        first = ChatFunctionDelta(name=call.function.name, arguments="")
        yield ChatCompletionDelta(
            tool_calls=(ChatToolCallDelta(index, first, id=call.id, type=call.type),)
        )
        for fragment in sse.split_arguments(call.function.arguments):
            yield ChatCompletionDelta(
                tool_calls=(ChatToolCallDelta(index, ChatFunctionDelta(arguments=fragment)),)
            )
