"""`dbg.llm(…)`, `dbg.tool(…)` and `dbg.event(…)`, for `with` and `async with`."""

from __future__ import annotations

import inspect
import sys
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from ..errors import ConnectionLostError, ProtocolError
from ..protocol.data_model import EventKind, Usage
from ..protocol.field_types import EVENT_NAME, EVENT_NAME_RULE
from .approvals import Approval
from .argument_checks import check_optional_text, check_text
from .drivers import is_loop_running, run_flow, run_flow_async
from .flow_effects import Flow
from .halt_flow import HaltFlow
from .run_events import OpenEvent

if TYPE_CHECKING:
    from .base_stepper import BaseStepper


_COROUTINE: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class EventBlock:
    """One event around the agent's own call: `with` halts the thread, `async with` the task.

    Both AgentStepper and AsyncAgentStepper accept both forms. `with` is refused where it would
    block an event loop and the other form would not: in an `async def`, and on an AsyncAgentStepper
    wherever a loop runs on the thread. `with` halts the thread together with its loop in a
    notebook's cell, also in one that awaits, and in synchronous code of an AgentStepper below a
    running loop.

    The subclasses define the event's kind.
    """

    _kind: ClassVar[EventKind]
    _method: ClassVar[str]  # the AgentStepper's, which makes it

    def __init__(self, stepper: BaseStepper) -> None:
        self._stepper = stepper
        self._event: OpenEvent | None = None  # once entered
        self._result: Any = None

    @property
    def skipped(self) -> bool:
        """Whether the person skipped the call and gave its result: then don't make the call.

        A result that is set in the block is then ignored.
        """
        return self._event is not None and self._event.skipped

    def _usage(self) -> Usage | None:
        return None

    def _begin(self) -> Flow[OpenEvent]:
        raise NotImplementedError

    def _enter(self) -> Flow[None]:
        event = yield from self._begin()
        self._event, self._result = event, event.result

    def _leave(self, event: OpenEvent, error: BaseException | None) -> Flow[bool]:
        """End the event; True where the person gave a result in an exception's place."""
        flow = self._stepper._flow()
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

    def _end(self, flow: HaltFlow, event: OpenEvent) -> Flow[None]:
        try:
            ended = yield from flow.end(self._kind, self._result, self._usage(), event)
        except ProtocolError as refused:
            if not event.ended:
                yield from flow.give_up(event, refused)
            raise
        self._result = ended.value

    def __enter__(self) -> Self:
        self._check_blocks_no_loop(sys._getframe(1))
        run_flow(self._stepper._current_session().link, self._enter())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        event = self._own_event()
        if event is None:
            return False
        return run_flow(self._stepper._current_session().link, self._leave(event, error))

    async def __aenter__(self) -> Self:
        await run_flow_async(self._stepper._current_session().link, self._enter())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        event = self._own_event()
        if event is None:
            return False
        return await run_flow_async(
            self._stepper._current_session().link, self._leave(event, error)
        )

    def _check_blocks_no_loop(self, caller: FrameType) -> None:
        """Refuse `with` where another form lets the event loop go on.

        Args:
            caller: The frame of the `with`.

        Raises:
            RuntimeError: `with` is refused here.
        """
        if not is_loop_running():
            return
        form = f"with dbg.{self._method}(…)"
        flags = caller.f_code.co_flags
        # No cell that awaits: an `async def`.
        if flags & _COROUTINE and flags & inspect.CO_OPTIMIZED:
            raise RuntimeError(
                f"`{form}` in a coroutine would block its event loop while the agent is halted. Write "
                f"`async {form}`."
            )
        if self._stepper._is_async:
            raise RuntimeError(
                f"`{form}` of an AsyncAgentStepper would block the event loop that runs on this thread. "
                f"Write `async {form}` in a coroutine, or call this function by `await "
                "asyncio.to_thread(…)`."
            )

    def _own_event(self) -> OpenEvent | None:
        """The event that ends with the block; none in a forked child, whose parent ends it."""
        event = self._event
        return event if event is not None and self._stepper._owns_run(event.run) else None


class LlmQuery(EventBlock):
    """The block of an LLM query.

    Args:
        stepper: The AgentStepper whose run has the event.
        prompt: The prompt: any JSON value.
        model: The model's name.
    """

    _kind = EventKind.LLM_QUERY
    _method = "llm"

    def __init__(self, stepper: BaseStepper, prompt: Any, model: str | None) -> None:
        super().__init__(stepper)
        check_optional_text("model", model)
        self.prompt = prompt  # inside the block: with the person's edit
        self.model = model
        self.usage: Usage | None = None  # what it cost; read from the response where it says so

    @property
    def response(self) -> Any:
        """The response. Set it in the block; after the block it includes the person's edit."""
        return self._result

    @response.setter
    def response(self, value: Any) -> None:
        self._result = value

    def _usage(self) -> Usage | None:
        return self.usage

    def _begin(self) -> Flow[OpenEvent]:
        begun = yield from self._stepper._open_flow().begin(self._kind, self.prompt, self.model)
        self.prompt = begun.value
        return begun.event


class ResultBlock(EventBlock):
    """A block whose event ends with a result."""

    @property
    def result(self) -> Any:
        """The result. Set it in the block; after the block it includes the person's edit."""
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        self._result = value


class ToolInvocation(ResultBlock):
    """The block of a tool call.

    Args:
        stepper: The AgentStepper whose run has the event.
        name: The tool's name.
        args: The tool's arguments: any JSON value.
        approval: The approval that the call needs; None: the call needs none.
    """

    _kind = EventKind.TOOL_INVOCATION
    _method = "tool"

    def __init__(
        self, stepper: BaseStepper, name: str, args: Any, approval: Approval | None = None
    ) -> None:
        super().__init__(stepper)
        self.name = name  # inside the block: with the person's edit
        self.args = args
        self.approval = approval

    def _begin(self) -> Flow[OpenEvent]:
        begun = yield from self._stepper._open_flow().begin_tool(
            self.name, self.args, self.approval
        )
        self.name, self.args = begun.tool, begun.args
        return begun.event


class CustomEvent(ResultBlock):
    """The block of a custom event, whose type the agent names.

    Args:
        stepper: The AgentStepper whose run has the event.
        name: The type's name: a lower-case word.
        data: The data that the event begins with: any JSON value.

    Raises:
        ValueError: The name can't be a type's name.
    """

    _kind = EventKind.CUSTOM
    _method = "event"

    def __init__(self, stepper: BaseStepper, name: str, data: Any) -> None:
        super().__init__(stepper)
        check_text("The event's type", name)
        if not EVENT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} isn't a valid event type: {EVENT_NAME_RULE}")
        self.name = name
        self.data = data  # inside the block: with the person's edit

    def _begin(self) -> Flow[OpenEvent]:
        begun = yield from self._stepper._open_flow().begin(self._kind, self.data, self.name)
        self.data = begun.value
        return begun.event
