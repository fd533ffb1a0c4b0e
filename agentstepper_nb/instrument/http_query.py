"""One LLM query on its way through an HTTP client: halt, send, halt, and the response the client reads.

Written once, as a flow for both drivers of the SDK. An unedited response is the client's own object;
an edited response is made anew, so that the client parses it into its own types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ..errors import ModelError, ToolDeniedError
from ..llm_wire.answer_events import JsonObject
from ..llm_wire.llm_api import LlmRequest
from ..protocol.data_model import EventKind, EventSide
from ..sdk.base_stepper import BaseStepper
from ..sdk.drivers import run_flow, run_flow_async
from ..sdk.flow_effects import CallEffect, CallResult, EndedEvent, Flow
from ..sdk.halt_flow import HaltFlow
from ..sdk.raised_errors import describe_injected, is_injected
from ..sdk.run_events import OpenEvent
from ..sdk.scopes import suspend_numbering
from .called_tools import record_called_tools
from .current_run import is_agent_remote
from .http_messages import DENIED_STATUS, FAILED_STATUS, HttpMessages
from .retries import (
    FailedAttempt,
    can_be_retried,
    is_retry,
    pop_failed_attempt,
    pop_remote_attempt,
    record_failed_attempt,
    record_remote_attempt,
    will_be_retried,
)
from .teed_stream import AsyncTeedStream, TeedStream
from .tool_inference import find_inferred_tools, may_halt_at_calls

_QUERY: Final = EventKind.LLM_QUERY
#: Characters of an error's body that are recorded.
_MAX_ERROR_CHARS: Final = 2000
#: Packages whose exceptions a client expects from its transport.
_TRANSPORTS: Final = frozenset({"httpx", "httpcore", "requests", "urllib3", "aiohttp"})


@dataclass(frozen=True)
class HttpQuery:
    """A query that its client is about to send.

    Args:
        library: The module `httpx` or `httpx2`.
        stepper: The stepper of the query's run.
        request: The client's request.
        llm_request: The request as an LLM API's.
        send: Sends a request, with the client's own options.
        is_async: Whether `send` is a coroutine function.
        reads_stream: Whether the client reads the response's body as it comes.
        notice: A message to show before the query; "": none.
    """

    library: Any
    stepper: BaseStepper
    request: Any
    llm_request: LlmRequest
    send: Callable[[Any], Any]
    is_async: bool
    reads_stream: bool
    notice: str = ""

    def run(self) -> Any:
        """Send it, halting before and after; a coroutine where the client is asynchronous."""
        link = self.stepper._current_session().link
        return run_flow_async(link, self._flow()) if self.is_async else run_flow(link, self._flow())

    @cached_property
    def _messages(self) -> HttpMessages:
        return HttpMessages(self.library, self.request, self.llm_request, self.reads_stream)

    # ---- the flow -----------------------------------------------------------------------------------

    def _flow(self) -> Flow[Any]:
        flow = self.stepper._open_flow()
        if self.notice:
            yield from flow.post_debug_message(self.notice)
        try:
            attempt = yield from self._begin(flow)
            if attempt.event.skipped:
                return (yield from self._skip(flow, attempt.event))
            return (yield from self._send(flow, attempt))
        except ToolDeniedError as denied:
            return self._messages.make_refusal(DENIED_STATUS, "denied", str(denied))
        except Exception as error:
            if not is_injected(error) or _is_of_transport(error):
                raise
            told = describe_injected(error)
            return self._messages.make_refusal(FAILED_STATUS, "injected_error", told)

    def _begin(self, flow: HaltFlow) -> Flow[FailedAttempt | _Attempt]:
        """Begin the event, or go on with that of an attempt before."""
        failed = self._take_failed(flow.run)
        is_same = failed is not None and self._repeats(failed)
        if failed is not None and not failed.event.ended:
            if is_same:
                return failed
            yield from flow.give_up(failed.event, failed.error)
        tools = find_inferred_tools(self.stepper)
        asked = self.llm_request
        body = yield from tools.end_calls(flow, asked.body)
        if failed is not None and is_same:
            body = failed.body  # as the person has edited it
        begun = yield from flow.begin(
            _QUERY,
            body,
            asked.model,
            convert_edit=asked.check_body,
            original=asked.body,
            ask=self._ask_again,
        )
        return _Attempt(begun.event, begun.value)

    def _take_failed(self, run: str) -> FailedAttempt | None:
        if is_agent_remote():
            return pop_remote_attempt(run, self.llm_request.body)
        return pop_failed_attempt()

    def _repeats(self, failed: FailedAttempt) -> bool:
        return is_retry(self.request) and failed.original == self.llm_request.body

    def _skip(self, flow: HaltFlow, event: OpenEvent) -> Flow[Any]:
        """The person gave an answer in place of the query."""
        ended = yield from self._end(flow, event, None)
        try:
            answer = self.llm_request.check_answer(ended.value)
            answer = yield from self._begin_calls(flow, answer)
            return self._messages.make_response(answer)
        except ValueError as problem:
            return self._messages.make_refusal(FAILED_STATUS, "invalid_answer", str(problem))

    def _send(self, flow: HaltFlow, attempt: FailedAttempt | _Attempt) -> Flow[Any]:
        event, body = attempt.event, attempt.body
        request = self._find_request(body)
        send = self._send_request_async if self.is_async else self._send_request
        sent: CallResult = yield CallEffect(send, (request,), {})
        if sent.error is not None:
            return (yield from self._fail(flow, event, body, None, sent.error))
        response = sent.value
        if response.status_code >= 400:
            yield from self._read(response)
            error = self._make_error(response)
            return (yield from self._fail(flow, event, body, response, error))
        if self._messages.is_read_live(response) and not self._may_halt():
            return self._tee(flow, event, response)
        read = yield from self._read(response)
        if read.error is not None:
            return (yield from self._fail(flow, event, body, None, read.error))
        return (yield from self._receive(flow, event, body, response))

    def _find_request(self, body: JsonObject) -> Any:
        """The client's request with a body: the client's own request where the body wasn't edited."""
        is_same = body == self.llm_request.body
        return self.request if is_same else self._messages.make_request(body)

    def _send_request(self, request: Any) -> Any:
        with suspend_numbering():  # a client's own threads and tasks aren't the agent's
            return self.send(request)

    async def _send_request_async(self, request: Any) -> Any:
        with suspend_numbering():
            return await self.send(request)

    def _receive(
        self, flow: HaltFlow, event: OpenEvent, body: JsonObject, response: Any
    ) -> Flow[Any]:
        """Halt at an answer that was read."""
        copy = self._messages.copy(response)
        joined = self._messages.decode(copy)
        if joined is None:
            yield from flow.end(_QUERY, copy.text, event=event, convert_edit=_refuse_edit)
            return response
        if joined.error is not None:
            return (
                yield from self._fail(flow, event, body, response, ModelError("cut", joined.error))
            )
        ended = yield from self._end(flow, event, joined.answer)
        answer = yield from self._begin_calls(flow, ended.value)
        is_edited = ended.is_edited or answer is not ended.value
        return self._messages.make_response(answer, response) if is_edited else response

    def _begin_calls(self, flow: HaltFlow, answer: Any, waits: bool = True) -> Flow[Any]:
        """Begin the tool calls of an answer; returns the answer with the person's edits of the calls."""
        tools = find_inferred_tools(self.stepper)
        answer = yield from tools.begin_calls(flow, self.llm_request.body, answer, waits)
        record_called_tools(self.stepper, answer)
        return answer

    def _fail(
        self,
        flow: HaltFlow,
        event: OpenEvent,
        body: JsonObject,
        response: Any | None,
        error: BaseException,
    ) -> Flow[Any]:
        """End a failed query: halt there, unless the client retries.

        The client reads the response, if there is one; else the exception is raised again.
        """
        if is_agent_remote() and can_be_retried(self.request, response):
            return (yield from self._fail_remotely(flow, event, body, response, error))
        # Another exception of `send` than the connection's own is repeated by no client that we know.
        is_answered = response is not None or isinstance(error, self.library.RequestError)
        if is_answered and isinstance(error, Exception) and will_be_retried(self.request, response):
            yield from flow.post_debug_message(
                f"An attempt failed, and the client repeats the query: {error}"
            )
            record_failed_attempt(FailedAttempt(event, self.llm_request.body, body, error))
        else:
            ended = yield from flow.fail(event, error, self.llm_request.check_answer)
            if ended is not None:
                return self._messages.make_response(ended.value, response)
        if response is None:
            raise error
        return response

    def _fail_remotely(
        self,
        flow: HaltFlow,
        event: OpenEvent,
        body: JsonObject,
        response: Any,
        error: BaseException,
    ) -> Flow[Any]:
        """An attempt of another process failed, which may be repeated: halt there if the run may."""
        assert isinstance(error, Exception)
        if self.stepper._current_session().link.may_halt(
            _QUERY, EventSide.END, self.llm_request.model
        ):
            ended = yield from flow.fail(event, error, self.llm_request.check_answer)
            if ended is not None:
                return self._messages.make_response(ended.value, response)
        else:
            event.detach()
            yield from flow.post_debug_message(
                f"An attempt failed, and the program may repeat the query: {error}"
            )
        record_remote_attempt(flow.run, FailedAttempt(event, self.llm_request.body, body, error))
        return response

    def _end(self, flow: HaltFlow, event: OpenEvent, answer: Any) -> Flow[EndedEvent]:
        return flow.end(_QUERY, answer, event=event, convert_edit=self.llm_request.check_answer)

    def _may_halt(self) -> bool:
        """Whether the run may halt at the answer, or at a tool call that the answer has."""
        link = self.stepper._current_session().link
        if link.may_halt(_QUERY, EventSide.END, self.llm_request.model):
            return True
        return may_halt_at_calls(self.stepper, self.llm_request.body)

    # ---- live streams -------------------------------------------------------------------------------

    def _tee(self, flow: HaltFlow, event: OpenEvent, response: Any) -> Any:
        """Let the client read a stream live; the event ends with the stream, and never halts."""
        event.detach()
        link = self.stepper._current_session().link
        library: Any = self.library

        def finish(data: bytes, error: BaseException | None) -> Any:
            steps = self._finish_stream(flow, event, response, data, error)
            return run_flow_async(link, steps) if self.is_async else run_flow(link, steps)

        kind = AsyncTeedStream if self.is_async else TeedStream
        base = library.AsyncByteStream if self.is_async else library.SyncByteStream
        response.stream = type(kind.__name__, (kind, base), {})(response.stream, finish)
        return response

    def _finish_stream(
        self,
        flow: HaltFlow,
        event: OpenEvent,
        response: Any,
        data: bytes,
        error: BaseException | None,
    ) -> Flow[None]:
        copy = self._messages.copy(response, data)
        joined = self._messages.decode(copy)
        if error is None and joined is not None and joined.error is not None:
            error = ModelError("cut", joined.error)
        if error is not None:
            yield from flow.give_up(event, error)
            return
        answer = copy.text if joined is None else joined.answer
        yield from flow.end(_QUERY, answer, event=event, waits=False)
        if joined is not None:
            yield from self._begin_calls(flow, joined.answer, waits=False)

    # ---- asking once more ---------------------------------------------------------------------------

    def _ask_again(self, body: JsonObject) -> Any:
        """Send the query once more, outside of the run; the answer, or an awaitable of it."""
        if self.is_async:
            return self._ask_again_async(body)
        response = self._send_request(self._find_request(body))
        self._drain(response)
        return self._find_answer(response)

    async def _ask_again_async(self, body: JsonObject) -> Any:
        response = await self._send_request_async(self._find_request(body))
        await self._drain_async(response)
        return self._find_answer(response)

    def _find_answer(self, response: Any) -> Any:
        """The answer of a response that was read.

        Raises:
            ModelError: The response has no answer.
        """
        if response.status_code >= 400:
            raise self._make_error(response)
        copy = self._messages.copy(response)
        joined = self._messages.decode(copy)
        if joined is not None and joined.error is not None:
            raise ModelError("cut", joined.error)
        return copy.text if joined is None else joined.answer

    def _make_error(self, response: Any) -> ModelError:
        text = self._messages.copy(response).text[:_MAX_ERROR_CHARS]
        return ModelError("refused", f"The model's service answered {response.status_code}: {text}")

    # ---- reading a response -------------------------------------------------------------------------

    def _read(self, response: Any) -> Flow[CallResult]:
        """Read a response whole; the client may still read it in each of its ways."""
        drain = self._drain_async if self.is_async else self._drain
        read: CallResult = yield CallEffect(drain, (response,), {})
        if isinstance(read.error, self.library.RequestError):
            read.error.request = self.request
        return read

    def _drain(self, response: Any) -> None:
        if self.reads_stream:  # else the client has read it
            data = b"".join(response.stream)
            response.stream.close()
            response.stream = self.library.ByteStream(data)

    async def _drain_async(self, response: Any) -> None:
        if self.reads_stream:
            data = b"".join([chunk async for chunk in response.stream])
            await response.stream.aclose()
            response.stream = self.library.ByteStream(data)


@dataclass(frozen=True)
class _Attempt:
    """The first attempt."""

    event: OpenEvent
    body: JsonObject


def _refuse_edit(_: Any) -> Any:
    raise ValueError("This response is no answer that can be read here: it can't be edited.")


def _is_of_transport(error: Exception) -> bool:
    """Whether the client expects an exception from its transport; it retries after any other, too."""
    return type(error).__module__.partition(".")[0] in _TRANSPORTS
