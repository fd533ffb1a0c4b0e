"""The model behind the server: a request's bytes in, an answer out; HTTP is somebody else's job."""

from __future__ import annotations

import json
import logging
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from agentstepper_nb.llm_wire import chat, sse

from .apis import API, APIS, CHAT
from .completion import complete, fingerprint
from .faults import Gate, Hold, Refuse, with_fault
from .script import NoRuleMatchesError, Script

_log = logging.getLogger(__name__)

JSON = "application/json"

#: Exchanges that are kept for whoever asks.
KEPT = 200


@dataclass(frozen=True)
class Answer:
    """What to send back."""

    status: int
    pieces: Iterable[bytes]
    """The body; asking for the next piece may wait at a gate, or raise `BrokenOffError`."""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
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
        self.gates = {hold.name: Gate() for hold in holds if isinstance(hold, Hold)}
        self._lock = Lock()
        self._refused: Counter[str] = Counter()
        self._exchanges: deque[Exchange] = deque(maxlen=KEPT)

    @property
    def exchanges(self) -> list[Exchange]:
        """What was asked so far, oldest first; the newest `KEPT` of it."""
        with self._lock:
            return list(self._exchanges)

    def list_models(self) -> Answer:
        """The answer to `GET /v1/models`; any other model's name is answered as well."""
        model = chat.Model(self.script.name, created=0, owned_by="agentstepper_nb")
        return Answer(200, [chat.encode(chat.ModelList((model,)))])

    def answer(self, path: str, body: bytes) -> Answer:
        """The answer to `POST` of one of the APIs' paths; what goes wrong is an answer too."""
        answer = self._answer(APIS[path], body)
        with self._lock:
            self._exchanges.append(Exchange(body, answer.status, path))
        return answer

    def _answer(self, api: API, body: bytes) -> Answer:
        try:
            request = api.read(body)
        except ValueError as error:
            text = f"The request can't be read: {error}."
            return error_answer(400, text, code="invalid_request", api=api)
        try:
            rule = self.script.rule_for(request)
            completion = complete(rule, request)
        except NoRuleMatchesError as error:
            return error_answer(400, str(error), param="messages", code="no_rule_matches", api=api)
        except Exception as error:
            _log.exception("the script %r failed", self.script.name)
            text = f"The script {self.script.name!r} failed: {type(error).__name__}: {error}"
            return error_answer(500, text, code="script_failed", api=api)
        if isinstance(rule.fault, Refuse) and (refusal := self._refuse(rule.fault, api, request)):
            return refusal
        if request.stream:
            pieces = api.events(completion, request)
            return Answer(200, with_fault(pieces, rule.fault, self.gates), sse.CONTENT_TYPE)
        return Answer(200, with_fault(_halves(api.whole(completion)), rule.fault, self.gates))

    def _refuse(self, fault: Refuse, api: API, request: chat.Request) -> Answer | None:
        key = fingerprint(request)
        with self._lock:
            if fault.times is not None and self._refused[key] >= fault.times:
                return None
            self._refused[key] += 1
        headers = {
            "retry-after": str(round(fault.retry_after)),
            "retry-after-ms": str(round(fault.retry_after * 1000)),
        }
        text = "Refused, as the script asks; try again."
        return error_answer(fault.status, text, code="scripted_refusal", headers=headers, api=api)


def error_answer(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
    api: API = CHAT,
) -> Answer:
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
    body = api.error(status, chat.Error(message, kind, param, code))
    return Answer(status, [body], headers=headers or {"x-should-retry": "false"})


def _halves(body: bytes) -> tuple[bytes, bytes]:
    middle = len(body) // 2
    return body[:middle], body[middle:]
