"""Models behind endpoints: what they say, the tools they have, and what they are told."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from msgspec import Meta

from agentstepper_nb.chat.connectors.endpoint_agent import EndpointAgent
from agentstepper_nb.llm_wire.conversation import ToolResultMessage
from agentstepper_nb.llm_wire.events import ResponseCompleted, TextDelta
from agentstepper_nb.llm_wire.sse import split_words
from tests.coding.scripted_parts import USAGE, Answer, FakeProvider


def make_text_answer(text: str) -> Answer:
    return [*map(TextDelta, split_words(text)), ResponseCompleted("stop", USAGE)]


def read_file(at: str, lines: int = 10) -> list[str]:
    """Look at a file."""
    return [at] * lines


async def greet(
    name: Annotated[str, Meta(description="Whom.")], how: Literal["a", "b"] = "a"
) -> str:
    await asyncio.sleep(0)
    return f"{how}:{name}"


def fail() -> None:
    raise OSError("no such file")


def make_endpoint(*answers: Any, **options: Any) -> tuple[EndpointAgent, FakeProvider]:
    model = FakeProvider(*answers)
    return EndpointAgent("m", provider=model, **options), model


def last_results(model: FakeProvider) -> list[tuple[str, bool]]:
    """What the model was told of its calls, last."""
    last = model.requests[-1].messages
    return [(each.content, each.ok) for each in last if isinstance(each, ToolResultMessage)]
