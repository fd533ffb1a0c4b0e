"""The seam for an author's own transport: queries that pass neither through httpx nor through httpx2.

Bedrock's botocore, requests and aiohttp are examples. The author of the agent, or of an adapter,
gives a request as JSON and a function that sends the request; the rest is as in `http_seam`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from ..llm_wire.answer_events import JsonObject
from ..llm_wire.llm_api import LlmApi, LlmRequest
from ..own_queries import is_own_query
from ..protocol.data_model import EventKind
from ..sdk.base_stepper import BaseStepper
from ..sdk.drivers import run_flow, run_flow_async
from ..sdk.edits import EditConverter
from ..sdk.flow_effects import CallEffect, CallResult, Flow
from ..sdk.halt_flow import HaltFlow
from ..sdk.run_events import OpenEvent, find_innermost_event
from .announcement import announce
from .called_tools import record_called_tools
from .current_run import find_run, is_run_expected, raise_if_stopped
from .discovery import discover_tools
from .endpoints import find_api
from .tool_inference import find_inferred_tools

_QUERY: Final = EventKind.LLM_QUERY


def trace_request(
    body: JsonObject,
    send: Callable[[JsonObject], Any],
    *,
    model: str | None = None,
    api: str | LlmApi | None = None,
) -> Any:
    """Send a request to a model, halting before and after where a run is open.

    ::

        answer = trace_request(body, lambda body: requests.post(url, json=body).json())

    Args:
        body: The request, as JSON, or of values that the debugger can show.
        send: Sends a request, and gives the whole answer. A repetition in it is the same event.
        model: The model's name; None where the request has it as "model".
        api: The API's form: "chat_completions", "responses", "messages", "gemini", or an `LlmApi` of
            your own. Edits are then checked by it. None: they are any JSON object.

    Returns:
        The answer, with a person's edits.

    Raises:
        ToolDeniedError: The person denied the query. Don't repeat it.
        InjectedError: The person lets the query fail.
        AgentStopped: The person pressed Stop.
        ValueError: No API has this name.
    """
    query = _find_query(body, send, model, api, is_async=False)
    if query is None:
        return send(body)
    return run_flow(query.stepper._current_session().link, query.make_flow())


def trace_request_async(
    body: JsonObject,
    send: Callable[[JsonObject], Awaitable[Any]],
    *,
    model: str | None = None,
    api: str | LlmApi | None = None,
) -> Awaitable[Any]:
    """The form of `trace_request` for a `send` that returns an awaitable; await the result at once."""
    query = _find_query(body, send, model, api, is_async=True)
    if query is None:
        return send(body)
    return run_flow_async(query.stepper._current_session().link, query.make_flow())


def _find_query(
    body: JsonObject,
    send: Callable[[JsonObject], Any],
    model: str | None,
    api: str | LlmApi | None,
    is_async: bool,
) -> _OwnQuery | None:
    """The query, where it is one of a run and no other event is it already."""
    known = None if api is None else LlmRequest(find_api(api), body, model)
    if is_own_query() or not is_run_expected():
        return None
    stepper = find_run()
    if stepper is None:
        return None
    event = find_innermost_event(stepper.run_id)
    if event is not None and event.kind is _QUERY:
        return None
    raise_if_stopped(stepper, is_async)
    # Here, where the agent's frames are the callers.
    notice = announce(stepper, discover_tools(stepper, body))
    return _OwnQuery(stepper, body, send, model, known, notice)


class _OwnQuery:
    """A query through an author's own transport."""

    def __init__(
        self,
        stepper: BaseStepper,
        body: JsonObject,
        send: Callable[[JsonObject], Any],
        model: str | None,
        known: LlmRequest | None,
        notice: str,
    ) -> None:
        self.stepper = stepper
        self._body = body
        self._send = send
        self._model = model
        self._notice = notice
        self._check_body: EditConverter = _check_object if known is None else known.check_body
        self._check_answer: EditConverter = _check_object if known is None else known.check_answer

    def make_flow(self) -> Flow[Any]:
        """The query, for either driver."""
        flow = self.stepper._open_flow()
        if self._notice:
            yield from flow.post_debug_message(self._notice)
        tools = find_inferred_tools(self.stepper)
        body = yield from tools.end_calls(flow, self._body)
        begun = yield from flow.begin(
            _QUERY,
            body,
            self._model,
            convert_edit=self._check_body,
            original=self._body,
            ask=self._send,
        )
        answer = yield from self._run_query(flow, begun.event, begun.value)
        if isinstance(answer, dict):
            answer = yield from tools.begin_calls(flow, self._body, answer)
            record_called_tools(self.stepper, answer)
        return answer

    def _run_query(self, flow: HaltFlow, event: OpenEvent, body: JsonObject) -> Flow[Any]:
        sent = CallResult()
        if not event.skipped:
            sent = yield CallEffect(self._send, (body,), {})
        if sent.error is None:
            check = self._check_answer
            ended = yield from flow.end(_QUERY, sent.value, event=event, convert_edit=check)
            return ended.value
        given = yield from flow.fail(event, sent.error, self._check_answer)
        if given is None:
            raise sent.error
        return given.value


def _check_object(edited: Any) -> Any:
    if not isinstance(edited, dict):
        raise ValueError("A request to a model and its answer are JSON objects.")
    return edited
