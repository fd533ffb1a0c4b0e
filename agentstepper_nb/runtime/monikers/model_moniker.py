"""The base of monikers that query a model: configuration, provider, and queries that can be stepped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Protocol, TypeVar

from msgspec import Meta

from ... import typed_json
from ...errors import ModelError
from ...llm_wire.answer_builder import AnswerBuilder, ModelAnswer
from ...llm_wire.conversation import AssistantMessage, ModelRequest
from ...llm_wire.debugger_json import decode_answer, decode_request, encode_answer, encode_request
from ...llm_wire.events import AgentEvent
from ...models import registry
from ...models.provider import ModelProvider, stream_events
from ..moniker import Moniker, MonikerContext

if TYPE_CHECKING:
    from ...sdk.async_stepper import AsyncAgentStepper


Config = TypeVar("Config")

#: A text that says something.
NonEmptyText = Annotated[str, Meta(min_length=1, max_length=100_000)]
#: A wait between two steps, in seconds.
IntervalSeconds = Annotated[float, Meta(ge=0, le=366 * 86_400)]


def decode_config(config: Any, kind: type[Config]) -> Config:
    """A config, checked.

    Args:
        config: As a session is created with it; None is one that says nothing.
        kind: What it has to be.

    Raises:
        ValueError: What is wrong with it, for a person.
    """
    return typed_json.convert({} if config is None else config, kind)


class ModelConfig(Protocol):
    """The configuration of a moniker that queries a model."""

    @property
    def provider(self) -> str:
        """The name of the model's provider, as `--provider` takes it."""

    @property
    def model(self) -> str:
        """The model's name there."""

    @property
    def interval_s(self) -> float:
        """Seconds between two steps."""


C = TypeVar("C", bound=ModelConfig)


class ModelMoniker(Moniker, Generic[C]):
    """The base of monikers that ask a model; a subclass names the class of its config."""

    config_class: type[C]

    def __init__(self, task: MonikerContext) -> None:
        super().__init__(task)
        self._config = decode_config(task.config, self.config_class)
        self._provider: ModelProvider | None = None

    @classmethod
    def check(cls, config: Any) -> None:
        """See `Moniker.check`."""
        checked = decode_config(config, cls.config_class)
        check_provider(checked.provider, checked.model)

    def provider(self) -> ModelProvider:
        """The model's provider, made on the first query."""
        if self._provider is None:
            provider = open_provider(self._config.provider, self._config.model)
            self._provider = self.task.limit_calls(provider)
        return self._provider

    def step_interval_s(self) -> float:
        """The interval."""
        return self._config.interval_s

    async def close(self) -> None:
        """Close the model's connections."""
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()


def check_provider(name: str, model: str) -> None:
    """Refuse a provider that can't be named, or a model that a config may not name.

    Raises:
        ValueError: There is none of that name, and says which there are; or see
            `registry.refuse_script_path`.
    """
    if name not in registry.list_provider_names():
        text = (
            f"There is no provider {name!r}; there are {', '.join(registry.list_provider_names())}."
        )
        raise ValueError(text)
    try:
        registry.refuse_script_path(name, model)
    except ModelError as error:
        raise ValueError(str(error)) from None


def open_provider(name: str, model: str) -> ModelProvider:
    """A provider, for the first question.

    Raises:
        ModelError: It lacks what it needs: a key, a package; or see `registry.refuse_script_path`.
    """
    registry.refuse_script_path(name, model)
    try:
        return registry.create_provider(name, model)
    except ModelError:
        raise
    except Exception as error:  # whatever a client does without its key
        raise ModelError("invalid", f"The provider {name!r} can't be used: {error}") from error


#: Seconds that a model may let pass between two events.
IDLE_TIMEOUT_S: Final = 300.0


async def query_model(
    provider: ModelProvider,
    request: ModelRequest,
    dbg: AsyncAgentStepper | None,
    *,
    idle_timeout_s: float = IDLE_TIMEOUT_S,
    on_event: Callable[[AgentEvent], object] | None = None,
) -> AssistantMessage:
    """Query a model once. A person's edits of the request and the answer take effect.

    Args:
        provider: The model's provider.
        request: The request.
        dbg: The AgentStepper that traces the query; None: the query isn't traced.
        idle_timeout_s: The most seconds for which the model may send nothing.
        on_event: Called with each event of the model's answer, before a person may edit the answer.

    Raises:
        ModelError: There is no answer, or a person's edit isn't a valid answer.
        ToolDeniedError: A person denied the query.
        InjectedError: A person raised an exception in place of the query.
    """
    if dbg is None:
        return (await _stream_answer(provider, request, idle_timeout_s, on_event)).message
    shown, own_answer, message = encode_request(request), None, None
    async with dbg.llm(shown, model=request.model) as query:
        if not query.skipped:
            if query.prompt is not shown:
                request = _decode_edited_request(query.prompt, request)
            answer = await _stream_answer(provider, request, idle_timeout_s, on_event)
            message, own_answer = answer.message, encode_answer(answer.message)
            query.response, query.usage = own_answer, answer.usage
    if message is not None and query.response is own_answer:
        return message
    try:
        return decode_answer(query.response)
    except ValueError as error:
        raise ModelError("invalid", f"The edited answer can't be used: {error}.") from None


async def _stream_answer(
    provider: ModelProvider,
    request: ModelRequest,
    idle_timeout_s: float,
    on_event: Callable[[AgentEvent], object] | None,
) -> ModelAnswer:
    builder = AnswerBuilder(request.messages)
    async with aclosing(stream_events(provider, request, idle_timeout_s)) as events:
        async for event in events:
            event = builder.add(event)
            if on_event is not None:
                on_event(event)
    return builder.answer()


def _decode_edited_request(prompt: object, request: ModelRequest) -> ModelRequest:
    try:
        return decode_request(prompt, request)
    except ValueError as error:
        raise ModelError("invalid", f"The edited prompt can't be sent: {error}.") from None
