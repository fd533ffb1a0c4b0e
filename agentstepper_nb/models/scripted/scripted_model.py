"""The model behind the server: the bytes of a request in, an answer in the request's API out.

Rules see Chat Completions requests only. Requests of other APIs are converted first, so that one
script answers all APIs.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock
from typing import Any, Final

import msgspec

from agentstepper_nb.llm_wire import chat_completions, messages, responses, sse
from agentstepper_nb.llm_wire.chat_completions import (
    ChatCompletion,
    ChatCompletionChoice,
    ChatCompletionMessage,
    ChatCompletionRequest,
    ChatCompletionUsage,
    ChatFunctionCall,
    ChatToolCall,
    encode_request_for_hash,
    make_assistant_message,
)
from agentstepper_nb.llm_wire.conversation import ModelRequest
from agentstepper_nb.llm_wire.messages import answers as messages_answers
from agentstepper_nb.llm_wire.responses import answers as responses_answers

from .script import (
    ErrorFault,
    NoRuleMatchesError,
    PauseFault,
    PauseGate,
    Script,
    ScriptRule,
    apply_fault,
)


def hash_request(request: ChatCompletionRequest) -> str:
    """Hash a request, to derive ids. Streamed and unstreamed requests have the same hash."""
    return blake2b(encode_request_for_hash(request), digest_size=12).hexdigest()


def make_completion(rule: ScriptRule, request: ChatCompletionRequest) -> ChatCompletion:
    """Make the completion with which a rule answers a request.

    Raises:
        Exception: Any error of the rule's own function.
        TypeError: The arguments of a call can't be encoded as JSON.
    """
    reply, key = rule.reply_to(request), hash_request(request)
    calls = tuple(
        ChatToolCall(f"call_{key}_{index}", ChatFunctionCall(call.tool, call.arguments_json))
        for index, call in enumerate(reply.calls)
    )
    message = make_assistant_message(reply.text, calls)
    return ChatCompletion(
        id=f"chatcmpl-{key}",
        created=0,
        model=request.model,
        choices=(ChatCompletionChoice(0, message, "tool_calls" if calls else "stop"),),
        usage=_usage(request, message),
    )


def _usage(request: ChatCompletionRequest, answer: ChatCompletionMessage) -> ChatCompletionUsage:
    offered = sum(_count(json.dumps(tool)) for tool in request.tools or ())
    read = offered + sum(_tokens(message) for message in request.messages)
    written = _tokens(answer)
    return ChatCompletionUsage(read, written, read + written)


def _tokens(message: ChatCompletionMessage) -> int:
    calls = sum(_count(f"{call.function.name} {call.function.arguments}") for call in message.calls)
    return _count(message.text) + calls


def _count(text: str) -> int:
    """Estimate the tokens of a text: the number of words and punctuation marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


@dataclass(frozen=True)
class ModelApi:
    """The codec of one HTTP API of models."""

    decode_request: Callable[[bytes], chat_completions.ChatCompletionRequest]
    """Decode a request's body. Raises a ValueError if the body is invalid."""
    encode_response: Callable[[chat_completions.ChatCompletion], bytes]
    """Encode an answer as one JSON body."""
    encode_events: Callable[
        [chat_completions.ChatCompletion, chat_completions.ChatCompletionRequest], Iterator[bytes]
    ]
    """Encode an answer as server-sent events, one `bytes` object per event."""
    encode_error: Callable[[int, chat_completions.ApiError], bytes]
    """Encode the body of an error response with an HTTP status."""


class _Streaming(msgspec.Struct):
    """The field of a request's body that other decoders drop."""

    stream: bool | None = False


_streaming = msgspec.json.Decoder(_Streaming)


def _reader(
    decode: Callable[[bytes], ModelRequest],
) -> Callable[[bytes], chat_completions.ChatCompletionRequest]:
    """Make a decoder that converts requests of another API to Chat Completions requests."""

    def read(body: bytes) -> chat_completions.ChatCompletionRequest:
        question = chat_completions.decode_request(
            chat_completions.encode_model_request(decode(body))
        )
        return msgspec.structs.replace(question, stream=_streaming.decode(body).stream)

    return read


def _chat_events(
    completion: chat_completions.ChatCompletion, request: chat_completions.ChatCompletionRequest
) -> Iterator[bytes]:
    for chunk in chat_completions.split_completion(completion, include_usage=request.include_usage):
        yield sse.encode_event(chat_completions.encode_json(chunk))
    yield sse.DONE


CHAT_COMPLETIONS: Final = ModelApi(
    decode_request=chat_completions.decode_request,
    encode_response=chat_completions.encode_json,
    encode_events=_chat_events,
    encode_error=lambda status, error: chat_completions.encode_error(error),
)

#: The APIs, by the path of their URL.
APIS: Final = {
    "/v1/chat/completions": CHAT_COMPLETIONS,
    "/v1/responses": ModelApi(
        decode_request=_reader(responses.decode_request),
        encode_response=responses_answers.encode_answer,
        encode_events=lambda completion, request: responses_answers.encode_events(completion),
        encode_error=CHAT_COMPLETIONS.encode_error,
    ),
    "/v1/messages": ModelApi(
        decode_request=_reader(messages.decode_request),
        encode_response=messages_answers.encode_answer,
        encode_events=lambda completion, request: messages_answers.encode_events(completion),
        encode_error=messages_answers.encode_error,
    ),
}


_log = logging.getLogger(__name__)

JSON_TYPE = "application/json"

#: The most exchanges that `ScriptedModel.exchanges` holds; older ones are dropped.
MAX_EXCHANGES = 200


@dataclass(frozen=True)
class ScriptedResponse:
    """An HTTP response of the scripted model."""

    status: int
    """The HTTP status."""
    pieces: Iterable[bytes]
    """The body. The iterator may block at a `PauseGate`, or raise `DisconnectFaultError`."""
    content_type: str = JSON_TYPE
    """The `content-type` header."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers."""


@dataclass(frozen=True)
class ScriptedExchange:
    """One request to a scripted server, with the status of the response."""

    body: bytes
    """The request's body, as the client sent it."""
    status: int
    """The HTTP status of the response."""
    path: str = "/v1/chat/completions"
    """The request's path."""

    @property
    def json(self) -> Any:
        """The request's body as decoded JSON, including fields that the server ignores."""
        return json.loads(self.body)


class ScriptedModel:
    """Answers requests by a script. Thread-safe."""

    def __init__(self, script: Script) -> None:
        self.script = script
        holds = (rule.fault for rule in script.rules)
        self.gates = {hold.name: PauseGate() for hold in holds if isinstance(hold, PauseFault)}
        self._lock = Lock()
        self._refused: Counter[str] = Counter()
        self._exchanges: deque[ScriptedExchange] = deque(maxlen=MAX_EXCHANGES)

    @property
    def exchanges(self) -> list[ScriptedExchange]:
        """The newest `MAX_EXCHANGES` exchanges, oldest first."""
        with self._lock:
            return list(self._exchanges)

    def list_models(self) -> ScriptedResponse:
        """Answer `GET /v1/models` with the script's name. Requests may use any other model name too."""
        model = chat_completions.ModelInfo(self.script.name, created=0, owned_by="agentstepper_nb")
        return ScriptedResponse(
            200, [chat_completions.encode_json(chat_completions.ModelList((model,)))]
        )

    def answer(self, path: str, body: bytes) -> ScriptedResponse:
        """Answer a `POST` request. An invalid request or a failed script gets an error response.

        Args:
            path: The request's path, a key of `APIS`.
            body: The request's body.
        """
        answer = self._answer(APIS[path], body)
        with self._lock:
            self._exchanges.append(ScriptedExchange(body, answer.status, path))
        return answer

    def _answer(self, api: ModelApi, body: bytes) -> ScriptedResponse:
        try:
            request = api.decode_request(body)
        except ValueError as error:
            text = f"The request can't be read: {error}."
            return make_error_response(400, text, code="invalid_request", api=api)
        try:
            rule = self.script.rule_for(request)
            completion = make_completion(rule, request)
        except NoRuleMatchesError as error:
            return make_error_response(
                400, str(error), param="messages", code="no_rule_matches", api=api
            )
        except Exception as error:
            _log.exception("the script %r failed", self.script.name)
            text = f"The script {self.script.name!r} failed: {type(error).__name__}: {error}"
            return make_error_response(500, text, code="script_failed", api=api)
        if isinstance(rule.fault, ErrorFault) and (
            refusal := self._refuse(rule.fault, api, request)
        ):
            return refusal
        if request.stream:
            pieces = api.encode_events(completion, request)
            return ScriptedResponse(
                200, apply_fault(pieces, rule.fault, self.gates), sse.CONTENT_TYPE
            )
        return ScriptedResponse(
            200, apply_fault(_halves(api.encode_response(completion)), rule.fault, self.gates)
        )

    def _refuse(
        self, fault: ErrorFault, api: ModelApi, request: chat_completions.ChatCompletionRequest
    ) -> ScriptedResponse | None:
        key = hash_request(request)
        with self._lock:
            if fault.times is not None and self._refused[key] >= fault.times:
                return None
            self._refused[key] += 1
        headers = {
            "retry-after": str(round(fault.retry_after)),
            "retry-after-ms": str(round(fault.retry_after * 1000)),
        }
        text = "Refused, as the script asks; try again."
        return make_error_response(
            fault.status, text, code="scripted_refusal", headers=headers, api=api
        )


def make_error_response(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
    api: ModelApi = CHAT_COMPLETIONS,
) -> ScriptedResponse:
    """Make an error response in the format of an API.

    Args:
        status: The HTTP status.
        message: The error and its remedy, for a person.
        param: The request's field that caused the error.
        code: The error's code, for programs.
        headers: Further headers. None: `x-should-retry: false`, so that clients don't retry.
        api: The API whose error format is used.
    """
    kind = "invalid_request_error" if status < 500 else "server_error"
    body = api.encode_error(status, chat_completions.ApiError(message, kind, param, code))
    return ScriptedResponse(status, [body], headers=headers or {"x-should-retry": "false"})


def _halves(body: bytes) -> tuple[bytes, bytes]:
    middle = len(body) // 2
    return body[:middle], body[middle:]
