"""One tool call of a framework: halt, call, halt, and the result in the framework's own type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import ToolDeniedError
from ..protocol.data_model import EventKind
from ..protocol.seams import FoundBy
from ..sdk.base_stepper import BaseStepper
from ..sdk.drivers import run_flow, run_flow_async
from ..sdk.flow_effects import CallEffect, CallResult, Flow
from ..sdk.payload import read_tool_call
from .announcement import announce
from .called_tools import find_call_id
from .current_run import raise_if_stopped
from .open_calls import record_open_call


def _identity(value: Any) -> Any:
    return value


def _choose_edited(original: Any, edited: Any) -> Any:
    return edited


@dataclass(frozen=True, kw_only=True)
class TracedToolCall:
    """A tool call that a framework is about to make.

    Args:
        name: The tool's name.
        args: The tool's arguments, in the form that a person edits.
        call: Makes the call with these arguments; a coroutine function if `is_async`.
        is_async: Whether the call runs in an event loop.
        check_args: Gives edited arguments as the tool takes them, or raises ValueError.
        show_result: Converts a result to the form that a person sees.
        make_result: Makes the framework's result from the original (None without one) and the edit.
        check_result: Gives an edited result as `make_result` takes it, or raises ValueError.
        make_denial: Makes the result that the model reads where a person denies the call.
        call_id: The id by which the framework knows the call, where it has one.
        found_by: The method that found the tool.
    """

    name: str
    args: Any
    call: Callable[[Any], Any]
    is_async: bool
    check_args: Callable[[Any], Any] = _identity
    show_result: Callable[[Any], Any] = _identity
    make_result: Callable[[Any, Any], Any] = _choose_edited
    check_result: Callable[[Any], Any] = _identity
    make_denial: Callable[[str], Any] = _identity
    call_id: str | None = None
    found_by: FoundBy = FoundBy.ADAPTER

    def run(self, stepper: BaseStepper) -> Any:
        """Make the call as an event of a run, halting before and after.

        Args:
            stepper: The run's.

        Returns:
            The result; a coroutine that gives it if `is_async`.
        """
        raise_if_stopped(stepper, self.is_async)
        link = stepper._current_session().link
        steps = self._steps(stepper)
        return run_flow_async(link, steps) if self.is_async else run_flow(link, steps)

    def _steps(self, stepper: BaseStepper) -> Flow[Any]:
        flow = stepper._open_flow()
        if line := announce(stepper):
            yield from flow.post_debug_message(line)
        call_id = find_call_id(flow.run, self.name, self.args, self.call_id)
        kind, value = EventKind.TOOL_INVOCATION, {"Tool": self.name, "Argument": self.args}
        try:
            begun = yield from flow.begin(
                kind,
                value,
                self.name,
                convert_edit=self._accept,
                call_id=call_id,
                found_by=self.found_by,
            )
        except ToolDeniedError as denied:
            return self.make_denial(str(denied))
        event = begun.event
        if event.skipped:
            ended = yield from flow.end(kind, None, event=event, convert_edit=self.check_result)
            return self.make_result(None, ended.value)
        args = begun.value["Argument"] if begun.is_edited else self.args
        record_open_call(event, self.name, args)
        made: CallResult = yield CallEffect(self.call, (args,), {})
        if made.error is None:
            shown = self.show_result(made.value)
            ended = yield from flow.end(kind, shown, event=event, convert_edit=self.check_result)
            return self.make_result(made.value, ended.value) if ended.is_edited else made.value
        given = yield from flow.fail(event, made.error, self.check_result)
        if given is None:
            raise made.error
        return self.make_result(None, given.value)

    def _accept(self, edit: Any) -> dict[str, Any]:
        name, args = read_tool_call(edit)
        if name != self.name:
            raise ValueError(
                f'The framework has chosen the tool already: leave "Tool": "{self.name}".'
            )
        return {"Tool": name, "Argument": self.check_args(args)}
