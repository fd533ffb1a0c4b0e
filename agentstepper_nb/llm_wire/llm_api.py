"""The LLM APIs on the wire: which API a request is for, and its answer as one JSON value.

A new API is one more `LlmApi`, here or registered by an agent's author for an address of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from .answer_events import JoinedAnswer, JsonObject, decode_events
from .chat_completions import answer_events as chat_events
from .gemini import answer_events as gemini_events
from .messages import answer_events as messages_events
from .responses import answer_events as responses_events
from .sse import SseDecoder, SseEvent

_EVENT_STREAM: Final = "text/event-stream"
_MODEL_IN_PATH: Final = re.compile(r"/models/([^/:]+):")


@dataclass(frozen=True)
class LlmApi:
    """One LLM API.

    Args:
        name: The API's name, for a person.
        path: A pattern that matches the end of a request's path.
        request_member: Names of members; every request's body has one of them.
        answer_member: The name of the list that every complete answer has.
        join_events: Makes a complete answer from the JSON objects of a stream.
        split_answer: Makes a stream's events from a complete answer and the request's body.
        is_event: Whether a JSON object is an event of a stream, in an agent that parses streams itself.
    """

    name: str
    path: re.Pattern[str]
    request_member: tuple[str, ...]
    answer_member: str
    join_events: Callable[[Sequence[JsonObject]], JoinedAnswer]
    split_answer: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[bytes]]
    is_event: Callable[[JsonObject], bool] = lambda event: False


#: The APIs whose requests are recognised by path and body.
APIS: Final = (
    LlmApi(
        "Chat Completions",
        re.compile(r"/chat/completions$"),
        ("messages",),
        "choices",
        chat_events.join_events,
        chat_events.split_answer,
        chat_events.is_event,
    ),
    LlmApi(
        "Responses",
        re.compile(r"/responses$"),
        ("input", "prompt", "previous_response_id", "conversation"),
        "output",
        responses_events.join_events,
        responses_events.split_answer,
        responses_events.is_event,
    ),
    LlmApi(
        "Messages",
        re.compile(r"/messages$"),
        ("messages",),
        "content",
        messages_events.join_events,
        messages_events.split_answer,
        messages_events.is_event,
    ),
    LlmApi(
        "Gemini",
        re.compile(r":(?:streamG|g)enerateContent$"),
        ("contents",),
        "candidates",
        gemini_events.join_events,
        gemini_events.split_answer,
        gemini_events.is_event,
    ),
)


@dataclass(frozen=True)
class LlmRequest:
    """A request to an LLM API.

    Args:
        api: The API.
        body: The request's JSON body.
        model: The model's name; None: the request names no model.
    """

    api: LlmApi
    body: JsonObject
    model: str | None

    def check_body(self, edited: Any) -> Any:
        """See that an edited body is a request that the client can read the answer of.

        Raises:
            ValueError: It isn't, and why.
        """
        if not isinstance(edited, dict) or not _has_any(edited, self.api.request_member):
            needed = " or ".join(f'"{name}"' for name in self.api.request_member)
            raise ValueError(f"A request to {self.api.name} is a JSON object with {needed}.")
        if bool(edited.get("stream")) != bool(self.body.get("stream")):
            raise ValueError('The client reads the answer by "stream": leave "stream" as it was.')
        return edited

    def check_answer(self, edited: Any) -> Any:
        """See that an edited answer is one of this API.

        Raises:
            ValueError: It isn't, and why.
        """
        member = self.api.answer_member
        if not isinstance(edited, dict) or not isinstance(edited.get(member), list):
            raise ValueError(
                f'An answer of {self.api.name} is a JSON object with a list "{member}".'
            )
        if self.body.get("stream"):
            self._check_streamed(edited)
        return edited

    def _check_streamed(self, edited: JsonObject) -> None:
        """See that an edited answer can be streamed, as its client reads it."""
        try:
            self.encode_answer(_EVENT_STREAM, edited)
        except (ValueError, TypeError, AttributeError, LookupError):
            raise ValueError(
                f'The items of "{self.api.answer_member}" aren\'t those of an answer of '
                f"{self.api.name}: leave their form as it was."
            ) from None

    def decode_answer(self, content_type: str, data: bytes) -> JoinedAnswer:
        """Read an answer, streamed or not.

        Args:
            content_type: The response's content type.
            data: The response's body.

        Raises:
            ValueError: The body isn't JSON, nor a stream of it.
        """
        if content_type.startswith(_EVENT_STREAM):
            return self.api.join_events(decode_events(_decode_sse(data)))
        answer = msgspec.json.decode(data)
        if isinstance(answer, list):  # Gemini's stream where the client asks for no events
            return self.api.join_events(answer)
        return JoinedAnswer(answer)

    def encode_answer(self, content_type: str, answer: Any, is_list: bool = False) -> bytes:
        """Write an answer as its client reads it.

        Args:
            content_type: The response's content type.
            answer: The answer in one piece.
            is_list: Whether the client reads a JSON list of answers.
        """
        if content_type.startswith(_EVENT_STREAM):
            return b"".join(self.api.split_answer(answer, self.body))
        return msgspec.json.encode([answer] if is_list else answer)


def recognize_request(
    method: str,
    path: str,
    content: Callable[[], bytes],
    api: LlmApi | None = None,
) -> LlmRequest | None:
    """Find out whether an HTTP request asks a model.

    Args:
        method: The request's method.
        path: The path of its URL, without the query.
        content: Gives its body; called only where method and path fit.
        api: What is spoken at its address, where that is known; else the path says so.

    Returns:
        The request; None where it is something else.
    """
    if method != "POST":
        return None
    if api is None:
        api = next((known for known in APIS if known.path.search(path)), None)
        if api is None:
            return None
    try:
        body = msgspec.json.decode(content())
    except ValueError:
        return None
    if not isinstance(body, dict) or not _has_any(body, api.request_member):
        return None
    return LlmRequest(api, body, _find_model(path, body))


def recognize_events(events: Sequence[JsonObject]) -> LlmApi | None:
    """Find the API of a stream by its events.

    Args:
        events: The JSON objects of a stream.

    Returns:
        The API; None: the events aren't of a known API, or there are no events.
    """
    return next((api for api in APIS if events and all(map(api.is_event, events))), None)


def split_into_events(
    api: LlmApi, answer: Mapping[str, Any], request: Mapping[str, Any]
) -> list[JsonObject]:
    """Make the JSON objects of a stream's events from a whole answer.

    Args:
        api: The API.
        answer: The answer in one piece.
        request: The request's body.
    """
    return decode_events(_decode_sse(b"".join(api.split_answer(answer, request))))


def _has_any(body: Mapping[str, Any], members: tuple[str, ...]) -> bool:
    return any(body.get(name) is not None for name in members)


def _find_model(path: str, body: Mapping[str, Any]) -> str | None:
    model = body.get("model")
    if isinstance(model, str):
        return model
    named = _MODEL_IN_PATH.search(path)
    return named[1] if named else None


def _decode_sse(data: bytes) -> list[SseEvent]:
    decoder = SseDecoder()
    return [*decoder.feed(data), *decoder.close()]
