"""The model behind the server: a request's bytes in, an answer in the request's API out.

A script knows Chat Completions alone: what comes in another API goes through the one conversation into
that, so that a rule that holds in one holds in all.
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
    """A hash of the request, from which ids are made; a stream of the same answer has the same."""
    return blake2b(encode_request_for_hash(request), digest_size=12).hexdigest()


def make_completion(rule: ScriptRule, request: ChatCompletionRequest) -> ChatCompletion:
    """The completion that a rule gives to a request.

    Raises:
        Exception: Whatever the rule's own function raises.
        TypeError: Arguments of a call that JSON can't carry.
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
    """Words and signs: no tokenizer's count, but steady, and near enough to look at."""
    return len(re.findall(r"\w+|[^\w\s]", text))


@dataclass(frozen=True)
class ModelApi:
    """One way to ask a model over HTTP."""

    decode_request: Callable[[bytes], chat_completions.ChatCompletionRequest]
    """Raises a ValueError that says what is wrong."""
    encode_response: Callable[[chat_completions.ChatCompletion], bytes]
    encode_events: Callable[
        [chat_completions.ChatCompletion, chat_completions.ChatCompletionRequest], Iterator[bytes]
    ]
    """The events of a stream, each framed."""
    encode_error: Callable[[int, chat_completions.ApiError], bytes]
    """The body of an error answer of that status."""


class _Streaming(msgspec.Struct):
    """What of a request's body is no part of the question."""

    stream: bool | None = False


_streaming = msgspec.json.Decoder(_Streaming)


def _reader(
    decode: Callable[[bytes], ModelRequest],
) -> Callable[[bytes], chat_completions.ChatCompletionRequest]:
    """Read requests of another API as those of chat completions."""

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

#: By the path that is asked.
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

#: Exchanges that are kept for whoever asks.
MAX_EXCHANGES = 200


@dataclass(frozen=True)
class ScriptedResponse:
    """What to send back."""

    status: int
    pieces: Iterable[bytes]
    """The body; asking for the next piece may wait at a gate, or raise `DisconnectFaultError`."""
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScriptedExchange:
    """A question that came, and how it was answered."""

    body: bytes
    status: int
    path: str = "/v1/chat/completions"

    @property
    def json(self) -> Any:
        """The request's body, decoded; as the client sent it, unknown fields included."""
        return json.loads(self.body)


class ScriptedModel:
    """Answers requests by a script; may be asked from many threads."""

    def __init__(self, script: Script) -> None:
        self.script = script
        holds = (rule.fault for rule in script.rules)
        self.gates = {hold.name: PauseGate() for hold in holds if isinstance(hold, PauseFault)}
        self._lock = Lock()
        self._refused: Counter[str] = Counter()
        self._exchanges: deque[ScriptedExchange] = deque(maxlen=MAX_EXCHANGES)

    @property
    def exchanges(self) -> list[ScriptedExchange]:
        """What was asked so far, oldest first; the newest `MAX_EXCHANGES` of it."""
        with self._lock:
            return list(self._exchanges)

    def list_models(self) -> ScriptedResponse:
        """The answer to `GET /v1/models`; any other model's name is answered as well."""
        model = chat_completions.ModelInfo(self.script.name, created=0, owned_by="agentstepper_nb")
        return ScriptedResponse(
            200, [chat_completions.encode_json(chat_completions.ModelList((model,)))]
        )

    def answer(self, path: str, body: bytes) -> ScriptedResponse:
        """The answer to `POST` of one of the APIs' paths; what goes wrong is an answer too."""
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
    """An error in an API's own form.

    Args:
        status: The HTTP status.
        message: What is wrong and what to do, for a person.
        param: The field of the request that it is about.
        code: A word for programs.
        headers: By default clients are told that trying again is of no use.
        api: Whose form.
    """
    kind = "invalid_request_error" if status < 500 else "server_error"
    body = api.encode_error(status, chat_completions.ApiError(message, kind, param, code))
    return ScriptedResponse(status, [body], headers=headers or {"x-should-retry": "false"})


def _halves(body: bytes) -> tuple[bytes, bytes]:
    middle = len(body) // 2
    return body[:middle], body[middle:]
