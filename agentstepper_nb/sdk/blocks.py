"""`with dbg.llm(…)`, `with dbg.tool(…)` and `with dbg.event(…)`, sync and async."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import ConnectionLostError, ProtocolError
from ..protocol.values import EVENT_NAME, EVENT_NAME_RULE, EventKind, Usage
from .approvals import Approval
from .argument_checks import check_optional_text, check_text
from .flow import Flow
from .pumps import apump, pump
from .steps import OpenEvent, Steps

if TYPE_CHECKING:
    from .door import Door


class Block:
    """One event around the agent's own call. The subclasses say which, and how it is driven."""

    _kind: EventKind

    def __init__(self, door: Door) -> None:
        self._door = door
        self._event: OpenEvent | None = None  # once entered
        self._result: Any = None

    @property
    def skipped(self) -> bool:
        """Whether the person gave the result: don't make the call. What is set here is then ignored."""
        return self._event is not None and self._event.skipped

    def _usage(self) -> Usage | None:
        return None

    def _begin(self) -> Steps[OpenEvent]:
        raise NotImplementedError

    def _enter(self) -> Steps[None]:
        event = yield from self._begin()
        self._event, self._result = event, event.result

    def _leave(self, event: OpenEvent, error: BaseException | None) -> Steps[bool]:
        """End the event; True where the person gave a result in an exception's place."""
        flow = self._door._flow()
        if error is None:
            yield from self._end(flow, event)
            return False
        try:
            mended = yield from flow.fail(event, error)
        except ConnectionLostError:
            return False  # the block's own exception says more
        if mended is None:
            return False
        self._result = mended.value
        return True

    def _end(self, flow: Flow, event: OpenEvent) -> Steps[None]:
        try:
            ended = yield from flow.end(self._kind, self._result, self._usage(), event)
        except ProtocolError as refused:
            if not event.ended:
                yield from flow.give_up(event, refused)
            raise
        self._result = ended.value

    def _left(self) -> OpenEvent | None:
        """The event that ends with the block; none in a forked child, whose parent ends it."""
        event = self._event
        return event if event is not None and self._door._owns(event.run) else None


class SyncBlock(Block):
    """A block for `with`."""

    def __enter__(self) -> Self:
        pump(self._door._live().link, self._enter())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        event = self._left()
        if event is None:
            return False
        return pump(self._door._live().link, self._leave(event, error))


class AsyncBlock(Block):
    """A block for `async with`."""

    async def __aenter__(self) -> Self:
        await apump(self._door._live().link, self._enter())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        event = self._left()
        if event is None:
            return False
        return await apump(self._door._live().link, self._leave(event, error))


class Query(Block):
    """An LLM query.

    Args:
        door: Whose run it belongs to.
        prompt: The prompt: any JSON value.
        model: The model's name.
    """

    _kind = EventKind.LLM_QUERY

    def __init__(self, door: Door, prompt: Any, model: str | None) -> None:
        super().__init__(door)
        check_optional_text("model", model)
        self.prompt = prompt  # inside the block: with the person's edit
        self.model = model
        self.usage: Usage | None = None  # what it cost; read from the response where it says so

    @property
    def response(self) -> Any:
        """Set it to the answer; after the block it is the answer with the person's edit."""
        return self._result

    @response.setter
    def response(self, value: Any) -> None:
        self._result = value

    def _usage(self) -> Usage | None:
        return self.usage

    def _begin(self) -> Steps[OpenEvent]:
        begun = yield from self._door._open_flow().begin(self._kind, self.prompt, self.model)
        self.prompt = begun.value
        return begun.event


class Resulting(Block):
    """A block whose event ends with a result."""

    @property
    def result(self) -> Any:
        """Set it to the result; after the block it is the result with the person's edit."""
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        self._result = value


class Invocation(Resulting):
    """A tool invocation.

    Args:
        door: Whose run it belongs to.
        name: The tool's name.
        args: Its arguments: any JSON value.
        approval: What a person is to approve first.
    """

    _kind = EventKind.TOOL_INVOCATION

    def __init__(self, door: Door, name: str, args: Any, approval: Approval | None = None) -> None:
        super().__init__(door)
        self.name = name  # inside the block: with the person's edit
        self.args = args
        self.approval = approval

    def _begin(self) -> Steps[OpenEvent]:
        begun = yield from self._door._open_flow().begin_tool(self.name, self.args, self.approval)
        self.name, self.args = begun.tool, begun.args
        return begun.event


class Custom(Resulting):
    """An event of a type that the agent names itself.

    Args:
        door: Whose run it belongs to.
        name: The type's name: a lower-case word.
        data: What it begins with: any JSON value.

    Raises:
        ValueError: No type can have this name.
    """

    _kind = EventKind.CUSTOM

    def __init__(self, door: Door, name: str, data: Any) -> None:
        super().__init__(door)
        check_text("The event's type", name)
        if not EVENT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no type of events: {EVENT_NAME_RULE}")
        self.name = name
        self.data = data  # inside the block: with the person's edit

    def _begin(self) -> Steps[OpenEvent]:
        begun = yield from self._door._open_flow().begin(self._kind, self.data, self.name)
        self.data = begun.value
        return begun.event


class LlmQuery(Query, SyncBlock):
    """An LLM query for `with`."""


class ToolInvocation(Invocation, SyncBlock):
    """A tool invocation for `with`."""


class CustomEvent(Custom, SyncBlock):
    """A custom event for `with`."""


class AsyncLlmQuery(Query, AsyncBlock):
    """An LLM query for `async with`."""


class AsyncToolInvocation(Invocation, AsyncBlock):
    """A tool invocation for `async with`."""


class AsyncCustomEvent(Custom, AsyncBlock):
    """A custom event for `async with`."""
