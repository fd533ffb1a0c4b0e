"""A model behind an endpoint as an agent, with functions as its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import msgspec

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
from ...models import registry
from ...protocol.chat import AgentName, AgentType, Message
from ...runtime.monikers.model_moniker import IDLE_TIMEOUT_S, query_model
from ...sdk.drivers import run_in_thread
from .. import outputs
from ..connector import Turn
from ..streams import AnswerChannel, StreamingAgent
from .function_tools import CallOutcome, FunctionCaller, FunctionTool
from .handoff_tool import HANDOFF_TOOL, HandoffTool
from .model_prompts import (
    FINAL_ACTION,
    ActionError,
    format_answer,
    format_observation,
    format_parse_error,
    make_model_messages,
    make_system_prompt,
    make_tool_instructions,
    parse_action,
)

if TYPE_CHECKING:
    from ...models.provider import ModelProvider

_EMPTY_ANSWER: Final = "The model's answer was empty. Try again, or ask something else."
_CUT_ANSWER: Final = (
    "The answer was cut at the model's limit of tokens. Say “go on”, or ask for less at once."
)
_TOO_MANY_ROUNDS: Final = (
    "The model was asked {rounds} times and hasn't come to an end. "
    "Say “go on”, or raise max_rounds."
)
#: Providers whose endpoint can be any that speaks the same API, and that API.
_URL_PROVIDERS: Final[dict[str, Literal["chat", "responses"]]] = {
    "openai": "chat",
    "openai-responses": "responses",
}


class EndpointAgent(StreamingAgent):
    """Answers in a chat by a model behind an endpoint, with functions as the model's tools.

    ::

        def weather(city: str) -> str:
            \"\"\"Say what the weather is like in a city.\"\"\"
            ...

        EndpointAgent("gpt-5-mini", tools=[weather])
        EndpointAgent(
            "qwen3", base_url="http://127.0.0.1:8080/v1", agent_type="STRUCTURED_CHAT"
        )

    The model's text is shown as it comes. Each query to the model and each tool call is an event in
    the debugger; an answer that is edited there replaces the text that was shown. An agent with the
    role SUPERVISOR or CREW has a tool by which it hands off to another agent of the session.

    Args:
        model: The model's name at the endpoint.
        name: The agent's name in its sessions.
        provider: The model's provider: a name as `--provider` takes it, or a provider object, which
            is closed with this agent.
        base_url: The endpoint of an OpenAI provider, with its `/v1`. None: the environment's.
        api_key: The endpoint's key; None: the environment's, unless `base_url` is given.
        system: The system prompt; None: the agent's name and its role's instructions.
        role: One of the roles of `chat.roles`.
        agent_type: TOOL_CALLING: tools are called by the API's own means. STRUCTURED_CHAT: by JSON
            in the text, for models without tool calls; each answer is then shown as a whole.
        tools: The functions that the model may call; see `FunctionTool`.
        confirm_tools: The names of the tools whose calls the person must confirm each time; True:
            all tools.
        max_rounds: The most queries to the model for one message.
        max_tokens: The most tokens of one answer.
        temperature: The temperature, as the model's API defines it.
        description: One line for people, and for agents that hand off.
        continuation_prompt: The message that AutoChat sends to the agent; None: AutoChat does not
            continue this agent.
        idle_timeout_s: The most seconds for which the model may send nothing.

    Raises:
        ValueError: The provider doesn't exist, a tool can't be described, or arguments contradict
            each other.
    """

    summary: ClassVar[str] = "a model behind an endpoint, with functions as its tools"

    def __init__(
        self,
        model: str,
        *,
        name: str = "assistant",
        provider: str | ModelProvider = "openai",
        base_url: str | None = None,
        api_key: str | None = None,
        system: str | None = None,
        role: str = AgentName.AGENT_EXECUTOR.value,
        agent_type: str | AgentType = AgentType.TOOL_CALLING,
        tools: Iterable[Callable[..., Any]] = (),
        confirm_tools: Collection[str] | bool = (),
        max_rounds: int = 10,
        max_tokens: int | None = None,
        temperature: float | None = None,
        description: str = "",
        continuation_prompt: str | None = "Continue.",
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        self.name = name
        self.role = role
        self.agent_type = AgentType(agent_type)
        self.description = description or f"the model {model}"
        self.continuation_prompt = continuation_prompt
        self.model = model
        self.structured = self.agent_type is AgentType.STRUCTURED_CHAT
        self.system = system
        self.tools = _make_tools(tools)
        self.confirm_tools = _check_confirm_tools(confirm_tools, self.tools)
        self.max_rounds = max_rounds
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.idle_timeout_s = idle_timeout_s
        self._open = _make_provider_factory(provider, model, base_url, api_key)
        self._opening = asyncio.Lock()
        self._provider: ModelProvider | None = None

    async def close(self) -> None:
        """Close the model's connections."""
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    async def answer(self, message: Message, turn: Turn, channel: AnswerChannel) -> None:
        """See `StreamingAgent.answer`."""
        async with self._opening:  # sessions may begin at once
            if self._provider is None:
                self._provider = await run_in_thread(self._open)  # it imports its client
        await _AnswerLoop(self, self._provider, turn, channel).run(message)


def _make_provider_factory(
    provider: str | ModelProvider, model: str, base_url: str | None, api_key: str | None
) -> Callable[[], ModelProvider]:
    """What gives the provider, once it is needed: until then no key has to be there."""
    addressed = base_url is not None or api_key is not None
    if not isinstance(provider, str):
        if addressed:
            raise ValueError(
                "base_url and api_key can't be set beside a provider object: set them on the "
                "provider object."
            )
        return lambda: provider
    if provider not in registry.list_provider_names():
        known = ", ".join(registry.list_provider_names())
        raise ValueError(f"There is no provider {provider!r}; there are {known}.")
    if not addressed:
        return partial(registry.create_provider, provider, model)
    if provider not in _URL_PROVIDERS:
        known = " and ".join(_URL_PROVIDERS)
        raise ValueError(
            f"base_url and api_key aren't options of the provider {provider!r}: they belong to "
            f"{known}."
        )

    def open() -> ModelProvider:
        from ...models.openai import OpenAIProvider

        return OpenAIProvider(_URL_PROVIDERS[provider], base_url, api_key)

    return open


def _make_tools(functions: Iterable[Callable[..., Any]]) -> dict[str, FunctionTool]:
    tools: dict[str, FunctionTool] = {}
    for function in functions:
        tool = FunctionTool(function)
        if tool.spec.name in tools or tool.spec.name == HANDOFF_TOOL:
            raise ValueError(f"Two tools are called {tool.spec.name!r}: rename yours.")
        tools[tool.spec.name] = tool
    return tools


def _check_confirm_tools(
    names: Collection[str] | bool, tools: dict[str, FunctionTool]
) -> frozenset[str]:
    if isinstance(names, bool):
        return frozenset(tools) if names else frozenset()
    unknown = sorted(set(names) - set(tools))
    if unknown:
        raise ValueError(f"confirm_tools names unknown tools: {', '.join(unknown)}.")
    return frozenset(names)


class _AnswerLoop:
    """Answers one message.

    Args:
        agent: The agent, which says how the model is asked.
        provider: Who is asked.
        turn: What there is beside the message.
        channel: Whom to tell.
    """

    def __init__(
        self, agent: EndpointAgent, provider: ModelProvider, turn: Turn, channel: AnswerChannel
    ) -> None:
        self._agent = agent
        self._provider = provider
        self._turn = turn
        self._channel = channel
        self._caller = FunctionCaller(
            agent.tools, agent.confirm_tools, turn.dbg, channel, agent.name
        )
        self._handoff = HandoffTool(agent, turn.agents)
        self._messages: list[ChatMessage] = []
        self._has_retried = False

    async def run(self, message: Message) -> None:
        """Answer it.

        Raises:
            ModelError: The model gave no answer, or no end of it.
            ToolDeniedError: A person denied a question to it.
            InjectedError: A person let one fail.
            AgentStopped: A person pressed Stop.
        """
        self._messages = list(make_model_messages(self._turn.window, message, self._agent.name))
        for _ in range(self._agent.max_rounds):
            should_continue = await (
                self._query_structured() if self._agent.structured else self._query_with_tools()
            )
            if not should_continue:
                return
        raise ModelError("cut", _TOO_MANY_ROUNDS.format(rounds=self._agent.max_rounds))

    # ---- by the API's own means ---------------------------------------------------------------------

    async def _query_with_tools(self) -> bool:
        """Ask once, and carry out what is called; whether the model is to be asked again."""
        reader = _AnswerReader(self._channel)
        answer = await self._query_model(reader)
        if answer.content != reader.text:
            self._channel.replace_text(answer.content)
        if not answer.tool_calls:
            reader.raise_for_reason(answer)
            return False
        self._messages.append(answer)
        for call in answer.tool_calls:
            if (outcome := await self._execute(call)) is None:
                return False
            self._messages.append(
                ToolResultMessage(call_id=call.call_id, content=outcome.text, ok=outcome.ok)
            )
        return True

    # ---- by JSON in its text ------------------------------------------------------------------------

    async def _query_structured(self) -> bool:
        """As `_query_with_tools`, for a model that says what it wants in text."""
        reader = _AnswerReader(None)
        answer = await self._query_model(reader)
        self._messages.append(AssistantMessage(content=answer.content))
        try:
            action = parse_action(answer.content)
        except ActionError as error:
            reader.raise_for_reason(answer)
            if self._has_retried:
                text = f"The model answered twice without naming an action: {error}"
                raise ModelError("invalid", text) from None
            self._has_retried = True
            self._messages.append(UserMessage(content=format_parse_error(error)))
            return True
        self._has_retried = False
        if action.action == FINAL_ACTION:
            self._channel.send(format_answer(action))
            return False
        arguments = {} if action.action_input is None else action.action_input
        args_json = msgspec.json.encode(arguments).decode()
        call = ToolCall(call_id="", name=action.action, args_json=args_json)
        if (outcome := await self._execute(call)) is None:
            return False
        told = format_observation(call.name, outcome.ok, outcome.text)
        self._messages.append(UserMessage(content=told))
        return True

    # ---- parts --------------------------------------------------------------------------------------

    async def _query_model(self, reader: _AnswerReader) -> AssistantMessage:
        agent = self._agent
        specs = self._specs()
        system = agent.system or make_system_prompt(agent.name, agent.role)
        if agent.structured:
            system = f"{system}\n\n{make_tool_instructions(specs)}"
        request = ModelRequest(
            model=agent.model,
            messages=tuple(self._messages),
            tools=() if agent.structured else specs,
            system=system,
            max_tokens=agent.max_tokens,
            temperature=agent.temperature,
        )
        return await query_model(
            self._provider,
            request,
            self._turn.dbg,
            idle_timeout_s=agent.idle_timeout_s,
            on_event=reader.add,
        )

    def _specs(self) -> tuple[ToolSpec, ...]:
        own = tuple(tool.spec for tool in self._agent.tools.values())
        return (*own, *self._handoff.specs())

    async def _execute(self, call: ToolCall) -> CallOutcome | None:
        """What came of a call; None where another agent goes on."""
        handoff = self._handoff.find_handoff(call)
        if handoff is None:
            return await self._caller.execute(call)
        if isinstance(handoff, str):
            return self._caller.refuse(call, handoff)
        told = {"agent_name": handoff.agent_name, "text": handoff.text}
        self._channel.send(outputs.call(HANDOFF_TOOL, told, call_id=call.call_id or None))
        self._channel.send(outputs.result(call.call_id or None, "handed on"))
        self._channel.send(handoff)
        return None


class _AnswerReader:
    """What a model says, as it says it.

    Args:
        channel: Whom to tell its text; None: nobody yet.
    """

    def __init__(self, channel: AnswerChannel | None) -> None:
        self._channel = channel
        self._parts: list[str] = []
        self._reason = ""

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return "".join(self._parts)

    def add(self, event: AgentEvent) -> None:
        """Add an event of the answer."""
        if isinstance(event, TextDelta):
            self._parts.append(event.text)
            if self._channel is not None:
                self._channel.send(event.text)
        elif isinstance(event, ResponseCompleted):
            self._reason = event.reason

    def raise_for_reason(self, answer: AssistantMessage) -> None:
        """Check an answer that has no tool calls.

        Raises:
            ModelError: The answer is empty, or was cut off.
        """
        if not answer.content.strip() and not self.text.strip():
            raise ModelError("empty", _EMPTY_ANSWER)
        if self._reason == "length" and answer.content == self.text:
            raise ModelError("cut", _CUT_ANSWER)
