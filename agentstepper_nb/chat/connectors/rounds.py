"""One answer of a model's: it is asked, what it calls is carried out, until it has said all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Struct

from ...errors import ModelError
from ...llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from ...llm_wire.events import AgentEvent, ResponseCompleted, TextDelta
from ...models.base import ModelProvider
from ...protocol.chat import AgentInfo, Message
from ...runtime.monikers.asking import ask
from .. import pieces
from ..connector import HandOn, Replace, Turn
from ..roles import role
from ..streams import Saying
from .calling import Calling, FunctionTool, Outcome
from .prompting import conversation, system_prompt

#: The tool by which a model hands on.
HAND_ON: Final = "hand_on"

_EMPTY: Final = "The model said nothing. Try again, or ask it something else."
_LENGTH: Final = (
    "The answer was cut at the model's limit of tokens. Say “go on”, or ask for less at once."
)
_ROUNDS: Final = (
    "The model was asked {rounds} times and hasn't come to an end. "
    "Say “go on”, or raise max_rounds."
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a model is asked; see `Endpoint`."""

    model: str
    name: str
    role: str
    structured: bool
    system: str | None
    tools: Mapping[str, FunctionTool]
    confirm: frozenset[str]
    max_rounds: int
    max_tokens: int | None
    temperature: float | None
    silence_s: float


class Rounds:
    """Answers one message.

    Args:
        settings: How the model is asked.
        provider: Who is asked.
        turn: What there is beside the message.
        saying: Whom to tell.
    """

    def __init__(
        self, settings: Settings, provider: ModelProvider, turn: Turn, saying: Saying
    ) -> None:
        self._settings = settings
        self._provider = provider
        self._turn = turn
        self._saying = saying
        self._calling = Calling(settings.tools, settings.confirm, turn.dbg, saying, settings.name)
        self._others = _others(settings, turn)
        self._messages: list[ChatMessage] = []
        self._repaired = False

    async def run(self, message: Message) -> None:
        """Answer it.

        Raises:
            ModelError: The model gave no answer, or no end of it.
            ToolDeniedError: A person denied a question to it.
            InjectedError: A person let one fail.
            AgentStopped: A person pressed Stop.
        """
        self._messages = list(conversation(self._turn.window, message, self._settings.name))
        for _ in range(self._settings.max_rounds):
            goes_on = await (self._structured() if self._settings.structured else self._calls())
            if not goes_on:
                return
        raise ModelError("cut", _ROUNDS.format(rounds=self._settings.max_rounds))

    # ---- by the API's own means ---------------------------------------------------------------------

    async def _calls(self) -> bool:
        """Ask once, and carry out what is called; whether the model is to be asked again."""
        heard = _Heard(self._saying)
        answer = await self._ask(heard)
        if answer.content != heard.text:
            self._saying.say(Replace(answer.content))
        if not answer.tool_calls:
            heard.complain(answer)
            return False
        self._messages.append(answer)
        for call in answer.tool_calls:
            if (outcome := await self._carried_out(call)) is None:
                return False
            self._messages.append(
                ToolResultMessage(call_id=call.call_id, content=outcome.text, ok=outcome.ok)
            )
        return True

    # ---- by JSON in its text ------------------------------------------------------------------------

    async def _structured(self) -> bool:
        """As `_calls`, for a model that says what it wants in text."""
        heard = _Heard(None)
        answer = await self._ask(heard)
        self._messages.append(AssistantMessage(content=answer.content))
        try:
            action = action_of(answer.content)
        except ActionError as error:
            heard.complain(answer)
            if self._repaired:
                text = f"The model's answer names no action, nor did its first: {error}"
                raise ModelError("invalid", text) from None
            self._repaired = True
            self._messages.append(UserMessage(content=complaint(error)))
            return True
        self._repaired = False
        if action.action == FINAL:
            self._saying.say(answer_of(action))
            return False
        arguments = {} if action.action_input is None else action.action_input
        args_json = msgspec.json.encode(arguments).decode()
        call = ToolCall(call_id="", name=action.action, args_json=args_json)
        if (outcome := await self._carried_out(call)) is None:
            return False
        told = observation(call.name, outcome.ok, outcome.text)
        self._messages.append(UserMessage(content=told))
        return True

    # ---- parts --------------------------------------------------------------------------------------

    async def _ask(self, heard: _Heard) -> AssistantMessage:
        settings = self._settings
        specs = self._specs()
        system = settings.system or system_prompt(settings.name, settings.role)
        if settings.structured:
            system = f"{system}\n\n{instructions(specs)}"
        request = ModelRequest(
            model=settings.model,
            messages=tuple(self._messages),
            tools=() if settings.structured else specs,
            system=system,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
        )
        return await ask(
            self._provider,
            request,
            self._turn.dbg,
            silence_s=settings.silence_s,
            tell=heard.take,
        )

    def _specs(self) -> tuple[ToolSpec, ...]:
        own = tuple(tool.spec for tool in self._settings.tools.values())
        return (*own, _hand_on_spec(self._others)) if self._others else own

    async def _carried_out(self, call: ToolCall) -> Outcome | None:
        """What came of a call; None where another agent goes on."""
        hand_on = self._hand_on(call)
        if hand_on is None:
            return await self._calling.carry_out(call)
        if isinstance(hand_on, str):
            return self._calling.refuse(call, hand_on)
        told = {"agent_name": hand_on.agent_name, "text": hand_on.text}
        self._saying.say(pieces.call(HAND_ON, told, call_id=call.call_id or None))
        self._saying.say(pieces.result(call.call_id or None, "handed on"))
        self._saying.say(hand_on)
        return None

    def _hand_on(self, call: ToolCall) -> HandOn | str | None:
        """The hand-on that a call asks for, or why it is none; None where it is about something else."""
        if call.name != HAND_ON or not self._others:
            return None
        try:
            wanted = msgspec.json.decode(call.args_json, type=_HandOnArguments)
        except (ValueError, RecursionError) as error:
            return f"The arguments can't be used: {error}."
        names = [agent.name for agent in self._others]
        if wanted.agent_name not in names:
            return f"There is no such agent; there are: {', '.join(names)}."
        return HandOn(wanted.agent_name, wanted.text)


class _Heard:
    """What a model says, as it says it.

    Args:
        saying: Whom to tell its text; None: nobody yet.
    """

    def __init__(self, saying: Saying | None) -> None:
        self._saying = saying
        self._parts: list[str] = []
        self._reason = ""

    @property
    def text(self) -> str:
        """Its text so far."""
        return "".join(self._parts)

    def take(self, event: AgentEvent) -> None:
        """Take an event of its answer in."""
        if isinstance(event, TextDelta):
            self._parts.append(event.text)
            if self._saying is not None:
                self._saying.say(event.text)
        elif isinstance(event, ResponseCompleted):
            self._reason = event.reason

    def complain(self, answer: AssistantMessage) -> None:
        """Raise what is wrong with an answer that calls nothing, if something is.

        Raises:
            ModelError: It is empty, or was cut.
        """
        if not answer.content.strip() and not self.text.strip():
            raise ModelError("empty", _EMPTY)
        if self._reason == "length" and answer.content == self.text:
            raise ModelError("cut", _LENGTH)


class _HandOnArguments(msgspec.Struct):
    agent_name: str
    text: str | None = None


def _others(settings: Settings, turn: Turn) -> tuple[AgentInfo, ...]:
    """Whom it may hand on to."""
    if not role(settings.role).may_hand_on:
        return ()
    return tuple(agent for agent in turn.agents if agent.name != settings.name)


def _hand_on_spec(others: tuple[AgentInfo, ...]) -> ToolSpec:
    listed = "".join(f"\n- {each.name} ({each.role}): {each.description}" for each in others)
    text = {"type": "string", "description": "What the agent is told: all that it needs to know."}
    names = [each.name for each in others]
    return ToolSpec(
        name=HAND_ON,
        description=f"Let another agent go on in your place. Your own answer ends here.{listed}",
        input_schema={
            "type": "object",
            "properties": {"agent_name": {"enum": names}, "text": text},
            "required": ["agent_name", "text"],
            "additionalProperties": False,
        },
    )


#: The action that is no tool: its input is what the person reads.
FINAL: Final = "answer"

_INSTRUCTIONS: Final = """\
Answer with one JSON object and nothing beside it:

{"action": "NAME", "action_input": INPUT}

It names the next action. To say something to the person, and end with that, NAME is "answer" and \
INPUT a text. To use a tool, NAME is the tool's and INPUT an object by its schema; you are then told \
what came of it, and choose the next action."""
_WRONG: Final = (
    "That can't be used: {why} Answer again, with one JSON object and nothing beside it: "
    '{{"action": "NAME", "action_input": INPUT}}.'
)
_FENCE: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)


class Action(Struct, frozen=True):
    """What a model wants to be done."""

    action: str
    action_input: Any = None


class ActionError(ValueError):
    """What a model said names no action; says to it what is wrong."""


def instructions(tools: Sequence[ToolSpec]) -> str:
    """What a model is told beside its other instructions.

    Args:
        tools: What it may use.
    """
    if not tools:
        return f"{_INSTRUCTIONS}\n\nThere are no tools."
    listed = "\n".join(
        f"- {tool.name}: {tool.description or 'says nothing of itself'}\n"
        f"  schema: {msgspec.json.encode(tool.input_schema).decode()}"
        for tool in tools
    )
    return f"{_INSTRUCTIONS}\n\nThe tools:\n{listed}"


def action_of(text: str) -> Action:
    """What a model wants, of all that it said: it may think aloud around its JSON, or fence it.

    Args:
        text: Its answer.

    Raises:
        ActionError: It names no action, or no single one.
    """
    text = text.strip()
    between = text[text.find("{") : text.rfind("}") + 1]
    candidates = [text, *reversed([found.strip() for found in _FENCE.findall(text)]), between]
    why = "there is no JSON object in it."
    for candidate in candidates:
        if not candidate.startswith("{"):
            continue
        try:
            return msgspec.json.decode(candidate, type=Action)
        except (ValueError, RecursionError) as error:
            why = f"{error}."
    raise ActionError(why)


def answer_of(action: Action) -> str:
    """What the person reads of a final action."""
    value = action.action_input
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def complaint(why: object) -> str:
    """What a model is told whose answer names no action."""
    return _WRONG.format(why=why)


def observation(name: str, ok: bool, result: str) -> str:
    """What a model is told of an action's result."""
    return f"[{name} {'gave' if ok else 'failed'}] {result}"
