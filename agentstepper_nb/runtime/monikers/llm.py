"""The moniker `llm`: a model gets the task and the step's input frame, and answers with a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

from ...errors import StepFrameError
from ...llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from ...models.provider import ModelProvider
from ...sdk.async_stepper import AsyncAgentStepper
from ..frame import FrameIn, FrameOut
from ..frame_codec import SCHEMA, parse_output
from .model_moniker import IntervalSeconds, ModelMoniker, NonEmptyText, query_model

#: The tool by which a model answers; models without tools write the same JSON as text.
STEP_FRAME_TOOL: Final = ToolSpec(
    name="step_frame", description="Give what this step came to.", input_schema=SCHEMA
)

_SYSTEM: Final = """\
You do one step of a task, and then another: a program runs you in a loop, and keeps what you give.

The task:
{task}

Each message is a frame, as JSON: `step` is the name of the step that you are at, `state` is what you \
gave as `state` in the step before (null at first), and `guidance`, where there is some, is what a \
person wants you to take into account from now on.

Do that one step, then answer by calling `step_frame` once (or, if you can't call tools, with its JSON \
alone):
- `step`: the frame's `step`, unchanged
- `next_step`: a name of your own for the step after this one, like "review/2"; only you read it
- `state`: everything that you need to know in the next step: you will see nothing else of this one
- `text`: what people are to read of this step
- `data`: results for programs, if there are any
- `done`: true if the task is finished, else false
- `notes`: remarks for whoever debugs this, if there are any"""

_REPAIR_PROMPT: Final = (
    "That can't be used: {why} Answer again, with the whole of it: call `step_frame` once, or write "
    "its JSON alone."
)


class LlmConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of the moniker `llm`.

    Args:
        task: The task, for the model.
        provider: The model's provider, as `--provider` takes it.
        model: The model's name at the provider.
        max_tokens: The most tokens of an answer.
        temperature: The temperature, as the model's API defines it.
        interval_s: Seconds between two steps.
        first_step: The first step's name.
    """

    task: NonEmptyText
    provider: str
    model: Annotated[str, Meta(min_length=1)]
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0)] | None = None
    interval_s: IntervalSeconds = 0.0
    first_step: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None


@dataclass(frozen=True)
class LlmStepContext:
    """The task of a step, and the model that executes it.

    Args:
        config: The task and the model.
        provider: The model's provider.
        dbg: The AgentStepper that traces each query; None: queries aren't traced.
    """

    config: LlmConfig
    provider: ModelProvider
    dbg: AsyncAgentStepper | None = None


async def run_moniker_step(frame: FrameIn, task: LlmStepContext) -> FrameOut:
    """Execute a step by querying a model. The model may repair an invalid frame once.

    Args:
        frame: The step's input frame.
        task: The task and the model.

    Raises:
        StepFrameError: The repaired answer isn't a valid frame either.
        ModelError: The model gave no answer.
    """
    messages: tuple[ChatMessage, ...] = (UserMessage(content=_as_text(frame)),)
    answer = await _query_step_model(messages, task)
    try:
        return _decode_answer(answer, frame)
    except StepFrameError as error:
        why = str(error)
    answer = await _query_step_model((*messages, answer, *_make_repair_request(answer, why)), task)
    try:
        return _decode_answer(answer, frame)
    except StepFrameError as error:
        raise StepFrameError(
            f"The model's answer is no frame, nor was its first: {error}"
        ) from None


class LlmMoniker(ModelMoniker[LlmConfig]):
    """Does what its config tells a model."""

    name: ClassVar[str] = "llm"
    cooperative: ClassVar[bool] = True  # it awaits a model, and nothing else takes time
    config_class = LlmConfig

    async def step(self, frame: FrameIn) -> FrameOut:
        """See `run_moniker_step`."""
        return await run_moniker_step(
            frame, LlmStepContext(self._config, self.provider(), self.task.dbg)
        )


async def _query_step_model(
    messages: tuple[ChatMessage, ...], task: LlmStepContext
) -> AssistantMessage:
    config = task.config
    request = ModelRequest(
        model=config.model,
        system=_SYSTEM.format(task=config.task),
        messages=messages,
        tools=(STEP_FRAME_TOOL,),
        max_tokens=config.max_tokens,
        temperature=config.temperature,
    )
    return await query_model(task.provider, request, task.dbg)


def _decode_answer(answer: AssistantMessage, frame: FrameIn) -> FrameOut:
    """The frame that a model gave: as a call, or as text."""
    calls = [call for call in answer.tool_calls if call.name == STEP_FRAME_TOOL.name]
    if len(calls) > 1 or len(answer.tool_calls) > len(calls):
        raise StepFrameError("there is one tool, `step_frame`, and it is called once.")
    return parse_output(calls[0].args_json if calls else _strip_fence(answer.content), frame)


def _make_repair_request(answer: AssistantMessage, why: str) -> tuple[ChatMessage, ...]:
    """What the model is told: an answer to each of its calls, where it called something."""
    text = _REPAIR_PROMPT.format(why=why)
    if not answer.tool_calls:
        return (UserMessage(content=text),)
    return tuple(
        ToolResultMessage(call_id=call.call_id, content=text, ok=False)
        for call in answer.tool_calls
    )


def _strip_fence(text: str) -> str:
    """JSON, as models like to write it: within a fence of Markdown."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text.partition("\n")[2].removesuffix("```")
    return text


def _as_text(frame: FrameIn) -> str:
    return msgspec.json.encode(frame).decode()
