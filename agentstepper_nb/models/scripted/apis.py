"""The APIs in which a script is served: how a request is read, and its answer written, in each.

A script knows Chat Completions alone: what comes in another API goes through the one conversation into
that, so that a rule that holds in one holds in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from agentstepper_nb.llm_wire import chat, messages, responses, sse
from agentstepper_nb.llm_wire.conversation import ModelRequest
from agentstepper_nb.llm_wire.messages import answer as messages_answer
from agentstepper_nb.llm_wire.responses import answer as responses_answer


@dataclass(frozen=True)
class API:
    """One way to ask a model over HTTP."""

    read: Callable[[bytes], chat.Request]
    """Raises a ValueError that says what is wrong."""
    whole: Callable[[chat.Completion], bytes]
    events: Callable[[chat.Completion, chat.Request], Iterator[bytes]]
    """The events of a stream, each framed."""
    error: Callable[[int, chat.Error], bytes]
    """The body of an error answer of that status."""


class _Streaming(msgspec.Struct):
    """What of a request's body is no part of the question."""

    stream: bool | None = False


_streaming = msgspec.json.Decoder(_Streaming)


def _reader(decode: Callable[[bytes], ModelRequest]) -> Callable[[bytes], chat.Request]:
    """Read requests of another API as those of chat completions."""

    def read(body: bytes) -> chat.Request:
        question = chat.decode_request(chat.encode_model_request(decode(body)))
        return msgspec.structs.replace(question, stream=_streaming.decode(body).stream)

    return read


def _chat_events(completion: chat.Completion, request: chat.Request) -> Iterator[bytes]:
    for chunk in chat.chunks(completion, include_usage=request.include_usage):
        yield sse.encode_event(chat.encode(chunk))
    yield sse.DONE


CHAT: Final = API(
    read=chat.decode_request,
    whole=chat.encode,
    events=_chat_events,
    error=lambda status, error: chat.encode_error(error),
)

#: By the path that is asked.
APIS: Final = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": API(
        read=_reader(responses.decode_request),
        whole=responses_answer.encode,
        events=lambda completion, request: responses_answer.events(completion),
        error=CHAT.error,
    ),
    "/v1/messages": API(
        read=_reader(messages.decode_request),
        whole=messages_answer.encode,
        events=lambda completion, request: messages_answer.events(completion),
        error=messages_answer.encode_error,
    ),
}
