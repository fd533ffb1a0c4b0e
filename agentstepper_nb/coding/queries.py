"""Asking the model, with the question and the answer in a person's hands where a debugger is there."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ..errors import ModelError
from ..llm_wire.answers import Answer, Gathering, Ids
from ..llm_wire.conversation import AssistantMessage, ModelRequest
from ..llm_wire.events import AgentEvent, ToolCallReady, TraceEvent
from ..llm_wire.shown import answer_as_json, answer_from_json, request_as_json, request_from_json
from .log_reader import complaint
from .session_log import EDITED
from .transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ..models.base import ModelProvider
    from ..sdk.aclient import AsyncAgentStepper


class Queries:
    """Asks a provider.

    Args:
        provider: Whom to ask.
        transcript: Whom to tell.
        dbg: The debugger that sees each query; None for none.
        silence: Seconds that the model may let pass between two events; None is without end.
    """

    def __init__(
        self,
        provider: ModelProvider,
        transcript: Transcript,
        dbg: AsyncAgentStepper | None,
        silence: float | None,
    ) -> None:
        self._provider = provider
        self._transcript = transcript
        self._dbg = dbg
        self._silence = silence

    async def ask(self, request: ModelRequest) -> Answer:
        """Ask once. What is in force after a person's edits is what is sent, told and given back.

        Args:
            request: The question, whose messages are the transcript's.

        Raises:
            ModelError: There is no answer, or the person's edit is none.
            ToolDeniedError: A person denied the query.
            InjectedError: A person let it fail.
        """
        if self._dbg is None:
            return await self._stream(request)
        shown = request_as_json(request)
        answer, mine = None, None
        async with self._dbg.llm(shown, model=request.model) as query:
            if not query.skipped:
                if query.prompt is not shown:
                    request = self._edited(request, query.prompt)
                answer = await self._stream(request)
                mine = answer_as_json(answer.message)
                query.response, query.usage = mine, answer.usage
        if answer is not None and query.response is mine:
            return answer
        return self._given(answer, query.response)

    async def _stream(self, request: ModelRequest) -> Answer:
        gathering = Gathering(request.messages)
        stream = cast("AsyncGenerator[AgentEvent, None]", self._provider.stream(request))
        async with aclosing(stream):
            while (event := await self._next(stream)) is not None:
                self._transcript.tell(gathering.take(event))
        try:
            return gathering.answer()
        except ModelError as error:
            if gathering.explained:
                raise
            raise self._failed(error.kind, str(error)) from None

    async def _next(self, stream: AsyncGenerator[AgentEvent, None]) -> AgentEvent | None:
        limit = asyncio.timeout(self._silence)
        try:
            async with limit:
                return await anext(stream, None)
        except TimeoutError:
            if not limit.expired():
                raise
            text = f"The model said nothing for {self._silence:g} s. Try again."
            raise self._failed("timeout", text) from None

    def _edited(self, request: ModelRequest, prompt: Any) -> ModelRequest:
        """The request as a person edited it; the conversation goes on from there."""
        try:
            edited = request_from_json(prompt, request)
        except ValueError as error:
            text = f"The edited prompt can't be sent: {error}."
            raise self._failed("invalid", text) from None
        wrong = complaint(edited.messages)
        if wrong is not None:
            raise self._failed("invalid", f"The edited prompt can't be sent: {wrong}")
        self._transcript.replace(edited.messages)
        return edited

    def _given(self, answer: Answer | None, response: Any) -> Answer:
        """The answer that a person gave, or made of the model's."""
        try:
            message = answer_from_json(response)
        except ValueError as error:
            text = f"The edited answer can't be used: {error}."
            raise self._failed("invalid", text) from None
        message = self._told_apart(message)
        data = {"what": "answer", "message": answer_as_json(message)}
        self._transcript.tell(TraceEvent(EDITED, data))
        known = () if answer is None else answer.message.tool_calls
        for call in message.tool_calls:
            if call not in known:
                self._transcript.tell(ToolCallReady(call.call_id, call.name, call.args_json))
        reason = "tool_calls" if message.tool_calls else "stop"
        return Answer(
            message=message, reason=reason, usage=None if answer is None else answer.usage
        )

    def _told_apart(self, message: AssistantMessage) -> AssistantMessage:
        """An answer whose calls have ids of their own: a person may have copied one."""
        ids = Ids(self._transcript.messages)
        calls = (replace(call, call_id=ids.free(call.call_id)) for call in message.tool_calls)
        return replace(message, tool_calls=tuple(calls))

    def _failed(self, kind: str, text: str) -> ModelError:
        """Tell why there is no answer, and give it as an error."""
        self._transcript.tell(TraceEvent("error", {"kind": kind, "message": text}))
        return ModelError(kind, text)
