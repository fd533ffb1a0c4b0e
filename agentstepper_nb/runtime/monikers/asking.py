"""Asking a model within a step, with question and answer in a person's hands where a debugger is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, cast

from ...errors import ModelError
from ...llm_wire.answers import Answer, Gathering
from ...llm_wire.conversation import AssistantMessage, ModelRequest
from ...llm_wire.events import AgentEvent
from ...llm_wire.shown import (
    answer_as_json,
    answer_from_json,
    request_as_json,
    request_from_json,
)
from ...models.base import ModelProvider

if TYPE_CHECKING:
    from ...sdk.aclient import AsyncAgentStepper

#: Seconds that a model may let pass between two events.
SILENCE_S: Final = 300.0


async def ask(
    provider: ModelProvider,
    request: ModelRequest,
    dbg: AsyncAgentStepper | None,
    *,
    silence_s: float = SILENCE_S,
    tell: Callable[[AgentEvent], object] | None = None,
) -> AssistantMessage:
    """Ask once. What is in force after a person's edits is what is sent and given back.

    Args:
        provider: Whom to ask.
        request: The question.
        dbg: The debugger that sees it; None for none.
        silence_s: Seconds that the model may say nothing.
        tell: Called with each event of the model's answer as it comes, before a person may edit it.

    Raises:
        ModelError: There is no answer, or a person's edit is none.
        ToolDeniedError: A person denied the query.
        InjectedError: A person let it fail.
    """
    if dbg is None:
        return (await _answer(provider, request, silence_s, tell)).message
    shown, mine, message = request_as_json(request), None, None
    async with dbg.llm(shown, model=request.model) as query:
        if not query.skipped:
            if query.prompt is not shown:
                request = _edited(query.prompt, request)
            answer = await _answer(provider, request, silence_s, tell)
            message, mine = answer.message, answer_as_json(answer.message)
            query.response, query.usage = mine, answer.usage
    if message is not None and query.response is mine:
        return message
    try:
        return answer_from_json(query.response)
    except ValueError as error:
        raise ModelError("invalid", f"The edited answer can't be used: {error}.") from None


async def _answer(
    provider: ModelProvider,
    request: ModelRequest,
    silence_s: float,
    tell: Callable[[AgentEvent], object] | None,
) -> Answer:
    gathering = Gathering(request.messages)
    stream = cast("AsyncGenerator[AgentEvent, None]", provider.stream(request))
    async with aclosing(stream):
        while (event := await _next(stream, silence_s)) is not None:
            event = gathering.take(event)
            if tell is not None:
                tell(event)
    return gathering.answer()


async def _next(stream: AsyncGenerator[AgentEvent, None], silence_s: float) -> AgentEvent | None:
    limit = asyncio.timeout(silence_s)
    try:
        async with limit:
            return await anext(stream, None)
    except TimeoutError:
        if not limit.expired():
            raise
        text = f"The model said nothing for {silence_s:g} s. Try again."
        raise ModelError("timeout", text) from None


def _edited(prompt: object, request: ModelRequest) -> ModelRequest:
    try:
        return request_from_json(prompt, request)
    except ValueError as error:
        raise ModelError("invalid", f"The edited prompt can't be sent: {error}.") from None
