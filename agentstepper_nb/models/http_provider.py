"""The base class of providers that query models over HTTP, and their error messages.

The vendors' own clients handle connections, retries and proxies. The codecs of `llm_wire` decode the
responses.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ..llm_wire.answer_stream import AnswerStream, BufferedAnswer
from ..llm_wire.conversation import ModelRequest
from ..llm_wire.events import AgentEvent
from ..own_queries import mark_own_query

#: The most characters of a service's own error text in an error message.
MAX_SERVICE_MESSAGE_CHARS: Final = 1000

_OVERLOADED: Final = {408, 409, 429}
_CONTEXT_EXCEEDED: Final = (
    "The conversation is longer than the model's context. Begin a new conversation, or "
    "choose another model."
)
#: Texts in the errors of services by which a too long conversation is recognized.
_CONTEXT_EXCEEDED_SIGNS: Final = (
    "context length",
    "context_length",
    "context window",
    "context size",  # llama.cpp
    "prompt is too long",
)


@dataclass(frozen=True)
class ProviderErrorMessages:
    """Makes the error messages of a provider; each method returns data of a `TraceEvent("error", …)`.

    Args:
        model_description: The model and its address; the subject of the messages' sentences.
        key_variable: The environment variable with the API key.
        url_variable: The environment variable with the base URL.
    """

    model_description: str
    key_variable: str
    url_variable: str

    def timed_out(self) -> dict[str, Any]:
        """The model sent no data within the time-out."""
        text = f"{self.model_description} didn't answer in time. Try again, or check that it runs."
        return {"kind": "timeout", "message": text}

    def unreachable(self, why: object) -> dict[str, Any]:
        """The client couldn't connect to the service."""
        text = (
            f"{self.model_description} can't be reached: {why}. Check {self.url_variable} and the "
            "network."
        )
        return {"kind": "unreachable", "message": text}

    def connection_lost(self, why: object) -> dict[str, Any]:
        """The connection broke during an answer."""
        text = f"{self.model_description} broke off during its answer: {why}. Try again."
        return {"kind": "cut", "message": text}

    def request_failed(self, why: object) -> dict[str, Any]:
        """The client couldn't send the request."""
        return {
            "kind": "invalid",
            "message": f"The request to {self.model_description} can't be sent: {why}",
        }

    def not_a_model_response(self, content_type: str) -> dict[str, Any]:
        """The address returned a response that isn't a model's answer, such as a web page."""
        text = (
            f"{self.model_description} answered with {content_type}, which isn't a model's answer. "
            f"Check {self.url_variable}: most addresses of this kind end in /v1."
        )
        return {"kind": "invalid", "message": text}

    def refused(self, status: int, body: object) -> dict[str, Any]:
        """The service answered with an HTTP error."""
        busy = status in _OVERLOADED or status >= 500
        said = _extract_message(body)
        answered = f"{self.model_description} answered {status}{f': {said}' if said else ''}"
        text = f"{answered.rstrip('.')}. {self._advice(status, said)}".rstrip()
        return {"kind": "overloaded" if busy else "refused", "message": text, "status": status}

    def _advice(self, status: int, said: str) -> str:
        if status == 413 or any(sign in said.lower() for sign in _CONTEXT_EXCEEDED_SIGNS):
            return _CONTEXT_EXCEEDED
        match status:
            case 401:
                return f"Set {self.key_variable} to a valid key."
            case 403:
                return (
                    f"The key in {self.key_variable} doesn't allow this request. Use another key, or "
                    "another model."
                )
            case 404:
                return f"Choose a model that this service has, or correct {self.url_variable}."
            case 429:
                return (
                    "There were too many requests, or no credit is left. Wait, or check the "
                    "account."
                )
            case _ if status >= 500:
                return "The service is overloaded or fails. Try again later."
        return ""


def _extract_message(body: object) -> str:
    """Return the text in an error's body. The body's format differs from service to service."""
    while isinstance(body, Mapping):
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), None)
    said = str(body or "").strip()
    return (
        said if len(said) <= MAX_SERVICE_MESSAGE_CHARS else f"{said[:MAX_SERVICE_MESSAGE_CHARS]}…"
    )


#: The API key that is sent if none is set: local servers need no key, but the clients require one.
PLACEHOLDER_KEY: Final = "none"

#: Seconds to read the rest of a response after the answer's end, so that its connection can be reused.
_REST_TIMEOUT_S: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class TimeoutPolicy:
    """The time-outs and retries of requests to a model."""

    connect_s: float = 10.0
    """The most seconds to open a connection."""
    idle_timeout_s: float = 300.0
    """The most seconds without a byte, before and during an answer. Some models reason for minutes."""
    max_retries: int = 3
    """Attempts after the first, if the service is busy or the connection breaks before the answer."""


class HttpResponse(Protocol):
    """The interface of an HTTP client's streamed response."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by their lower-case names."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Iterate over the decompressed body as its bytes arrive."""

    async def aclose(self) -> None:
        """Close the response. A response that isn't read to its end loses its connection."""


class VendorErrors(Protocol):
    """The error types of a vendor's client. All supported clients use these names."""

    APITimeoutError: type[Exception]
    APIConnectionError: type[Exception]
    APIStatusError: type[Exception]


class HTTPProvider(ABC):
    """The base class of providers that query a model over HTTP. See `ModelProvider`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The provider's name, as `--provider` takes it."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Query the model once. See `ModelProvider.stream`."""
        answer: AnswerStream | BufferedAnswer = self._make_stream()
        problems = self._make_error_messages(request.model)
        try:
            with mark_own_query():
                response = await self._post(request)
        except Exception as error:
            for event in answer.close(self._make_request_error(error, problems)):
                yield event
            return
        problem: dict[str, Any] | None = None
        try:
            answer = self._find_stream(response)
            chunks = response.aiter_bytes()
            async for data in chunks:
                for event in answer.feed(data):
                    yield event
                if answer.is_over:
                    await _read_rest(chunks)
                    return
        except Exception as error:
            problem = _interrupted(error, problems)
        finally:
            await response.aclose()
        for event in answer.close(problem):
            yield event

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    @property
    @abstractmethod
    def _vendor_errors(self) -> VendorErrors:
        """The error types of the vendor's client."""

    @abstractmethod
    async def _post(self, request: ModelRequest) -> HttpResponse:
        """Send a request. Returns when the headers of the response have arrived."""

    @abstractmethod
    def _make_stream(self) -> AnswerStream:
        """Make the decoder of one answer."""

    @abstractmethod
    def _make_error_messages(self, model: str) -> ProviderErrorMessages:
        """Make the error messages of a request for a model."""

    def _find_stream(self, response: HttpResponse) -> AnswerStream | BufferedAnswer:
        content_type = response.headers.get("content-type", "")
        if "html" in content_type:
            raise _NoModelError(content_type)
        reader = self._make_stream()
        return BufferedAnswer(reader) if "json" in content_type else reader

    def _make_request_error(
        self, error: Exception, problems: ProviderErrorMessages
    ) -> dict[str, Any]:
        failures = self._vendor_errors
        if isinstance(error, failures.APITimeoutError):
            return problems.timed_out()
        if isinstance(error, failures.APIStatusError):
            return problems.refused(error.status_code, error.body)  # type: ignore[attr-defined]
        if isinstance(error, failures.APIConnectionError):
            return problems.unreachable(_describe_cause(error.__cause__ or error))
        return problems.request_failed(_describe_cause(error))


class _NoModelError(Exception):
    """The response isn't a model's answer; the message is its content type."""


def _interrupted(error: Exception, problems: ProviderErrorMessages) -> dict[str, Any]:
    if isinstance(error, _NoModelError):
        return problems.not_a_model_response(str(error))
    # The HTTP client's own errors aren't ours to import: vendors change the client.
    if isinstance(error, TimeoutError) or type(error).__name__.endswith("Timeout"):
        return problems.timed_out()
    return problems.connection_lost(_describe_cause(error))


async def _read_rest(chunks: AsyncIterator[bytes]) -> None:
    with suppress(Exception):  # the answer is whole, whatever happens now
        async with asyncio.timeout(_REST_TIMEOUT_S):
            async for _ in chunks:
                pass


def _describe_cause(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__
