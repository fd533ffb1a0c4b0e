"""A model behind an endpoint as an agent, with functions as its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...models import registry
from ...protocol.chat import AgentName, AgentType, Message
from ...runtime.monikers.asking import SILENCE_S
from ...sdk.pumps import in_thread
from ..connector import Answer, InterpreterABC, Turn
from ..streams import Saying
from .calling import FunctionTool
from .rounds import HAND_ON, Rounds, Settings

if TYPE_CHECKING:
    from ...models.base import ModelProvider

#: Providers whose endpoint can be any that speaks the same API, and that API.
_ADDRESSED: Final = {"openai": "chat", "openai-responses": "responses"}


class Endpoint(InterpreterABC):
    """Answers by a model, of OpenAI, of a server that speaks its API, or of another provider.

    ::

        def weather(city: str) -> str:
            \"\"\"Say what the weather is like in a city.\"\"\"
            ...

        Endpoint("gpt-5-mini", tools=[weather])
        Endpoint("qwen3", base_url="http://127.0.0.1:8080/v1", agent_type="STRUCTURED_CHAT")

    The model's text is told as it comes. Each question to it and each call of a tool is an event in the
    debugger; an answer that is edited there takes the place of what was told. A SUPERVISOR or CREW has a
    tool by which it hands on to another agent of the session.

    Args:
        model: The model's name there.
        name: What it is called in its sessions.
        provider: Who serves the model: a name, as `--provider` has it, or a provider, which is then
            closed with this.
        base_url: The endpoint, of an OpenAI provider: with its `/v1`. None: the environment's.
        api_key: Its key; None: the environment's, unless `base_url` is given.
        system: What the model is told first; None: its name, and its role's instructions.
        role: A word of `chat.roles`.
        agent_type: TOOL_CALLING: by the API's own means. STRUCTURED_CHAT: by JSON in its text, for
            models that know no tools; what it says is then told whole.
        tools: Functions that it may call; see `FunctionTool`.
        confirm_tools: The names of those that the person is asked about, each time; True: of all.
        max_rounds: Questions to the model that one message may take.
        max_tokens: The longest answer.
        temperature: As the model's API has it.
        description: A line for people, and for agents that hand on.
        continuation_prompt: What AutoChat says to it; None: there is nothing to continue.
        silence_s: Seconds that the model may say nothing.

    Raises:
        ValueError: There is no such provider, a tool can't be described, or something doesn't fit.
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
        silence_s: float = SILENCE_S,
    ) -> None:
        self.name = name
        self.role = role
        self.agent_type = AgentType(agent_type)
        self.description = description or f"the model {model}"
        self.continuation_prompt = continuation_prompt
        made = _by_name(tools)
        self._settings = Settings(
            model=model,
            name=name,
            role=role,
            structured=self.agent_type is AgentType.STRUCTURED_CHAT,
            system=system,
            tools=made,
            confirm=_confirmed(confirm_tools, made),
            max_rounds=max_rounds,
            max_tokens=max_tokens,
            temperature=temperature,
            silence_s=silence_s,
        )
        self._open = _opener(provider, model, base_url, api_key)
        self._opening = asyncio.Lock()
        self._provider: ModelProvider | None = None

    def chat(self, message: Message, turn: Turn) -> Answer:
        """See `InterpreterABC.chat`."""
        saying = Saying(turn.confirm)
        return saying.read(partial(self._answer, message, turn, saying))

    async def close(self) -> None:
        """Close the model's connections."""
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    async def _answer(self, message: Message, turn: Turn, saying: Saying) -> None:
        async with self._opening:  # sessions may begin at once
            if self._provider is None:
                self._provider = await in_thread(self._open)  # it imports its client
        await Rounds(self._settings, self._provider, turn, saying).run(message)


def _opener(
    provider: str | ModelProvider, model: str, base_url: str | None, api_key: str | None
) -> Callable[[], ModelProvider]:
    """What gives the provider, once it is needed: until then no key has to be there."""
    addressed = base_url is not None or api_key is not None
    if not isinstance(provider, str):
        if addressed:
            raise ValueError("A provider that is made already has its own base_url and api_key.")
        return lambda: provider
    if provider not in registry.names():
        known = ", ".join(registry.names())
        raise ValueError(f"There is no provider {provider!r}; there are {known}.")
    if not addressed:
        return partial(registry.create, provider, model)
    if provider not in _ADDRESSED:
        known = " and ".join(_ADDRESSED)
        raise ValueError(f"base_url and api_key are for the providers {known}, not {provider!r}.")
    return partial(_addressed, provider, base_url, api_key)


def _addressed(provider: str, base_url: str | None, api_key: str | None) -> ModelProvider:
    from ...models.openai import OpenAIProvider

    return OpenAIProvider("chat" if provider == "openai" else "responses", base_url, api_key)


def _by_name(functions: Iterable[Callable[..., Any]]) -> dict[str, FunctionTool]:
    tools: dict[str, FunctionTool] = {}
    for function in functions:
        tool = FunctionTool(function)
        if tool.spec.name in tools or tool.spec.name == HAND_ON:
            raise ValueError(f"There is more than one tool {tool.spec.name!r}: rename yours.")
        tools[tool.spec.name] = tool
    return tools


def _confirmed(names: Collection[str] | bool, tools: dict[str, FunctionTool]) -> frozenset[str]:
    if isinstance(names, bool):
        return frozenset(tools) if names else frozenset()
    unknown = sorted(set(names) - set(tools))
    if unknown:
        raise ValueError(f"confirm_tools names tools that there aren't: {', '.join(unknown)}.")
    return frozenset(names)
