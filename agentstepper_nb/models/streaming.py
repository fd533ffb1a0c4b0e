"""What all providers that ask over HTTP have in common.

The vendors' own clients carry the bytes: connections, retries where the service asks for them, proxies.
The codecs of `llm_wire` read them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ..llm_wire.conversation import ModelRequest
from ..llm_wire.events import AgentEvent
from ..llm_wire.streaming import AnswerStream, WholeAnswer
from .problems import Problems

#: Sent as the key where there is none: servers on this machine ask for nothing, the clients insist.
NO_KEY: Final = "none"

#: Seconds for what follows a whole answer: mostly nothing, and then the connection can be used again.
_REST: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a service is waited for, and how often it is asked again."""

    connecting: float = 10.0
    """Seconds until there is a connection."""
    silence: float = 300.0
    """Seconds without a byte, before an answer and in the midst of one: some models think for long."""
    retries: int = 3
    """Attempts after the first, where the service is busy or the connection breaks before an answer."""


class Response(Protocol):
    """What of an HTTP client's response is used."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, found by lower case names."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body as it comes, decompressed."""

    async def aclose(self) -> None:
        """Break the connection, unless all was read."""


class Failures(Protocol):
    """The errors of a vendor's client; the vendors' clients name them alike."""

    APITimeoutError: type[Exception]
    APIConnectionError: type[Exception]
    APIStatusError: type[Exception]


class HTTPProvider(ABC):
    """A provider whose model is asked over HTTP; see `ModelProvider`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name, as `--provider` takes it."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Ask once; see `ModelProvider.stream`."""
        answer: AnswerStream | WholeAnswer = self._reader()
        problems = self._problems(request.model)
        try:
            response = await self._post(request)
        except Exception as error:
            for event in answer.close(self._unasked(error, problems)):
                yield event
            return
        problem: dict[str, Any] | None = None
        try:
            answer = self._reader_of(response)
            chunks = response.aiter_bytes()
            async for data in chunks:
                for event in answer.feed(data):
                    yield event
                if answer.over:
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
        """Close its connections."""

    @property
    @abstractmethod
    def _failures(self) -> Failures:
        """The client's errors."""

    @abstractmethod
    async def _post(self, request: ModelRequest) -> Response:
        """Send a request; gives the response as soon as its headers are there."""

    @abstractmethod
    def _reader(self) -> AnswerStream:
        """A codec of one answer."""

    @abstractmethod
    def _problems(self, model: str) -> Problems:
        """Words for what may go wrong."""

    def _reader_of(self, response: Response) -> AnswerStream | WholeAnswer:
        content_type = response.headers.get("content-type", "")
        if "html" in content_type:
            raise _NoModelError(content_type)
        reader = self._reader()
        return WholeAnswer(reader) if "json" in content_type else reader

    def _unasked(self, error: Exception, problems: Problems) -> dict[str, Any]:
        failures = self._failures
        if isinstance(error, failures.APITimeoutError):
            return problems.timed_out()
        if isinstance(error, failures.APIStatusError):
            return problems.refused(error.status_code, error.body)  # type: ignore[attr-defined]
        if isinstance(error, failures.APIConnectionError):
            return problems.unreachable(_why(error.__cause__ or error))
        return problems.failed(_why(error))


class _NoModelError(Exception):
    """What stands at the address is something else; says of which type."""


def _interrupted(error: Exception, problems: Problems) -> dict[str, Any]:
    if isinstance(error, _NoModelError):
        return problems.no_model(str(error))
    # The HTTP client's own errors aren't ours to import: vendors change the client.
    if isinstance(error, TimeoutError) or type(error).__name__.endswith("Timeout"):
        return problems.timed_out()
    return problems.broken(_why(error))


async def _read_rest(chunks: AsyncIterator[bytes]) -> None:
    with suppress(Exception):  # the answer is whole, whatever happens now
        async with asyncio.timeout(_REST):
            async for _ in chunks:
                pass


def _why(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__
