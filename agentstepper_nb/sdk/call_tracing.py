"""Decorators and `wrap`, which record each call of an agent's own functions as an event."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import aclosing
from functools import partial
from typing import Any, Literal, Protocol, TypeVar, overload

import wrapt
from msgspec import UNSET, Raw, UnsetType

from ..errors import ConnectionLostError, ProtocolError, ToolDeniedError
from ..own_queries import is_own_query
from ..protocol.data_model import EventKind
from .argument_checks import check_optional_text, check_text
from .arguments import CallArguments
from .drivers import is_loop_running, run_flow, run_flow_async
from .flow_effects import BegunEvent, CallEffect, CallResult, Flow
from .halt_flow import HaltFlow
from .payload import read_tool_call
from .run_events import OpenEvent
from .run_session import RunSession
from .sampled_calls import ask_again
from .signature_schema import make_schema
from .traced_streams import StreamEvent, find_stream_kind, list_items, trace_stream
from .value_hooks import format_error

F = TypeVar("F", bound=Callable[..., Any])
#: A tool's or model's name, or a function that makes it: called with the arguments of each traced call.
Name = str | Callable[..., str]


class OpenStepper(Protocol):
    """An AgentStepper, as traced calls need it."""

    _is_of_context: bool

    def _find_run_of_call(self) -> OpenStepper | None: ...

    def _current_session(self) -> RunSession: ...

    def _open_flow(self) -> HaltFlow: ...


class TracedFunction:
    """Turns the calls of one function into events.

    Args:
        stepper: The stepper whose run the events belong to, while the run is open.
        kind: The kind of the events.
        name: The tool's or model's name, or a function that makes the name from a call's arguments.
    """

    def __init__(self, stepper: OpenStepper, kind: EventKind, name: Name | None) -> None:
        if not callable(name):
            check_optional_text("model" if kind is EventKind.LLM_QUERY else "name", name)
        self.stepper = stepper
        self.undo: Callable[[], None] | None = None  # takes a wrap in its place back
        self._kind = kind
        self._name = name
        self._schema: Raw | UnsetType | None = None  # of a tool's arguments, once it was made

    def is_replaced_by(self, later: TracedFunction) -> bool:
        """Whether a later wrap of the function takes this one's place: that of another cell's run."""
        return self.stepper._is_of_context and self.stepper is not later.stepper

    def call(
        self,
        stepper: OpenStepper,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Flow[CallResult]:
        """Trace one call from its begin halt point to its end; a stream's end comes when it is read.

        Args:
            stepper: The AgentStepper in whose run the call halts.
            function: The called function, for its name and parameters.
            args: The call's positional arguments.
            kwargs: The call's keyword arguments.

        Returns:
            The call's outcome; an exception of the call's own is a value here.
        """
        flow = stepper._open_flow()
        call = CallArguments(function, args, kwargs)
        title = yield from self._make_title(flow, call)
        if title is None:
            title = self._default_title(function, call)
        if self._schema is None:
            is_tool = self._kind is EventKind.TOOL_INVOCATION
            self._schema = make_schema(function) if is_tool else UNSET
        begun = yield from self._begin(flow, call, title)
        event = begun.event
        result = CallResult(event.result)
        if not event.skipped:
            if begun.is_edited:
                call = begun.value
            result = yield CallEffect(function, call.args, call.kwargs)
        if result.error is not None:
            return (yield from self._fail(flow, event, result.error))
        if (stream_kind := find_stream_kind(result.value)) is not None:
            event.skipped = False  # a sample that is a stream is read as the call's
            link = stepper._current_session().link
            traced = StreamEvent(flow, link, self._kind, event)
            return CallResult(trace_stream(result.value, stream_kind, traced))
        ended = yield from flow.end(self._kind, result.value, None, event)
        return CallResult(ended.value)

    def _make_title(self, flow: HaltFlow, call: CallArguments) -> Flow[str | None]:
        """The name that was passed; None where none was, or the function for it failed."""
        if not callable(self._name):
            return self._name
        try:
            title = self._name(*call.args, **call.kwargs)
            check_text("The name of a call", title)
        except Exception as error:
            hook = getattr(self._name, "__name__", type(self._name).__name__)
            yield from flow.post_debug_message(
                f"A call is named as if name= were absent: name={hook} raised {format_error(error)}."
            )
            return None
        return title

    def _default_title(self, function: Callable[..., Any], call: CallArguments) -> str | None:
        if self._kind is EventKind.LLM_QUERY:
            model = call.named.get("model")
            return model if isinstance(model, str) else None
        return str(getattr(function, "__name__", type(function).__name__))

    def _begin(self, flow: HaltFlow, call: CallArguments, title: str | None) -> Flow[BegunEvent]:
        value: Any = call.named
        if self._kind is EventKind.TOOL_INVOCATION:
            value = {"Tool": title, "Argument": value}
        check = partial(self._accept, call, title)
        schema = UNSET if self._schema is None else self._schema
        ask = partial(ask_again, call) if self._kind is EventKind.LLM_QUERY else None
        return flow.begin(self._kind, value, title, convert_edit=check, schema=schema, ask=ask)

    def _accept(self, call: CallArguments, title: str | None, edit: Any) -> CallArguments:
        """The call with the person's edit.

        Raises:
            ProtocolError: `invalid_edit`: no object of arguments.
            ToolDeniedError: The edit names another tool, which this wrapper can't call.
            TypeError: The function doesn't take these arguments.
        """
        if self._kind is EventKind.TOOL_INVOCATION:
            tool, edit = read_tool_call(edit)
            if tool != title:
                raise ToolDeniedError(
                    f"The edit replaced the tool {title} by {tool}, but a traced function "
                    "can't call another tool. Edit the arguments only."
                )
        if not isinstance(edit, dict):
            raise ProtocolError(
                "invalid_edit",
                "The arguments of a traced call must stay a JSON object with one field "
                "for each argument.",
            )
        return call.with_named(edit)

    def _fail(self, flow: HaltFlow, event: OpenEvent, error: BaseException) -> Flow[CallResult]:
        try:
            mended = yield from flow.fail(event, error)
        except ConnectionLostError:
            return CallResult(error=error)  # the call's own error says more
        return CallResult(error=error) if mended is None else CallResult(mended.value)


class CallTracer(OpenStepper):
    """The methods of an AgentStepper that record the calls of functions as events."""

    @overload
    def traced_llm(self, function: F, /) -> F: ...

    @overload
    def traced_llm(
        self, function: None = None, /, *, model: Name | None = None
    ) -> Callable[[F], F]: ...

    def traced_llm(
        self, function: Callable[..., Any] | None = None, /, *, model: Name | None = None
    ) -> Any:
        """Decorate a function that queries a model: each call is recorded as an LLM query.

        The arguments are shown as `{"parameter": value}`. Each argument and the result can be
        edited. The function may be synchronous, async, or a method. After `close()` the function
        runs as if it were not decorated. A function that a notebook's cell decorated under `%%step`
        halts in the run of each later such cell that calls it.

        The function may also be a generator, synchronous or async, or return a stream: an iterator
        that is read only item by item, as a client's stream object. The call halts before; a
        generator's call begins when its first item is read. If no halt is possible at the end, the
        items are passed on as they come, and the event ends with the last item, or with the items
        read so far when the reader closes the stream. Otherwise the whole stream is read first, and
        then the event halts at its end; an endless stream never gets there. The chunks of an LLM
        API's stream are shown as the answer that they make up, and an edit of the answer is passed
        on as new chunks of the same types. Other items are shown as a list, and the items of the
        edited list are passed on. Items that were read before an error are still passed on.

        Args:
            function: The function, when the decorator is used without parentheses.
            model: The model's name, or a function that returns the name; it is called with the same
                arguments as the decorated function, and its exceptions are shown to the person.
                None: the call's own `model` argument.
        """
        trace = partial(trace_function, TracedFunction(self, EventKind.LLM_QUERY, model))
        return trace if function is None else trace(function)

    @overload
    def traced_tool(self, function: F, /) -> F: ...

    @overload
    def traced_tool(
        self, function: None = None, /, *, name: Name | None = None
    ) -> Callable[[F], F]: ...

    def traced_tool(
        self, function: Callable[..., Any] | None = None, /, *, name: Name | None = None
    ) -> Any:
        """Decorate a tool: each call is recorded as a tool call. Works as `traced_llm`.

        Args:
            function: The function, when the decorator is used without parentheses.
            name: The tool's name, or a function that returns the name, as for `traced_llm`. None:
                the function's name.
        """
        trace = partial(trace_function, TracedFunction(self, EventKind.TOOL_INVOCATION, name))
        return trace if function is None else trace(function)

    def wrap(
        self,
        obj: Any,
        method: str,
        kind: Literal["tool", "llm"] = "tool",
        name: Name | None = None,
    ) -> Callable[[], None]:
        """Trace a method of an object, class or module whose source you can't decorate.

        Tracing ends with the run and outlives a cell as `traced_llm` describes. A wrap of the same
        method in a later cell under `%%step` replaces this one, so that the cell can be executed
        again.

        Args:
            obj: The object.
            method: The method's name, or its path: `"chat.completions.create"`.
            kind: The kind of event that its calls are.
            name: The tool's or model's name, or a function that returns the name, as for
                `traced_llm`. None: for a tool, the method's name.

        Returns:
            A function that removes the wrapper.

        Raises:
            ValueError: `kind` is neither "tool" nor "llm".
        """
        kinds = {"tool": EventKind.TOOL_INVOCATION, "llm": EventKind.LLM_QUERY}
        if kind not in kinds:
            raise ValueError(f"kind={kind!r} isn't allowed. Use 'tool' or 'llm'.")
        return wrap_method(TracedFunction(self, kinds[kind], name), obj, method)


def trace_function(traced: TracedFunction, function: Any) -> Any:
    """Return the function with its calls traced."""
    earlier = _find_replaced(traced, function)
    return _make_wrapper(traced, function if earlier is None else function.__wrapped__)


def wrap_method(traced: TracedFunction, obj: Any, method: str) -> Callable[[], None]:
    """Trace a method in its place; gives the function that takes it back."""
    parent, name, original = wrapt.resolve_path(obj, method)
    while (earlier := _find_replaced(traced, original)) is not None and earlier.undo is not None:
        earlier.undo()
        original = wrapt.resolve_path(obj, method)[2]
    own = name in vars(parent) if hasattr(parent, "__dict__") else False
    setattr(parent, name, _make_wrapper(traced, original))

    def undo() -> None:
        if traced.undo is None:
            return
        traced.undo = None
        if own:
            setattr(parent, name, original)
        else:
            delattr(parent, name)

    traced.undo = undo
    return undo


def _make_wrapper(traced: TracedFunction, function: Any) -> Any:
    def around(
        wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return _call(traced, wrapped, args, kwargs)

    wrapper: Any = wrapt.FunctionWrapper(function, around)
    wrapper._self_traced = traced
    return wrapper


def _find_replaced(traced: TracedFunction, function: Any) -> TracedFunction | None:
    """The wrapper of an earlier cell around a function, which the new wrapper replaces."""
    if not isinstance(function, wrapt.FunctionWrapper):
        return None
    earlier = getattr(function, "_self_traced", None)
    is_replaced = isinstance(earlier, TracedFunction) and earlier.is_replaced_by(traced)
    return earlier if is_replaced else None


def _call(
    traced: TracedFunction,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Make one traced call, in the function's own manner."""
    stepper = traced.stepper._find_run_of_call()
    if stepper is None or is_own_query():
        return function(*args, **kwargs)
    if _is_of_kind(function, inspect.isasyncgenfunction):
        return _call_async_generator(stepper, traced, function, args, kwargs)
    if _is_of_kind(function, inspect.isgeneratorfunction):
        return _call_generator(stepper, traced, function, args, kwargs)
    if _is_of_kind(function, inspect.iscoroutinefunction):
        return _call_async(stepper, traced, function, args, kwargs)
    link = stepper._current_session().link
    return _unwrap(run_flow(link, traced.call(stepper, function, args, kwargs)))


async def _call_async(
    stepper: OpenStepper,
    traced: TracedFunction,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    link = stepper._current_session().link
    return _unwrap(await run_flow_async(link, traced.call(stepper, function, args, kwargs)))


def _call_generator(
    stepper: OpenStepper,
    traced: TracedFunction,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Generator[Any, Any, Any]:
    """A generator's items; the call begins with the first."""
    link = stepper._current_session().link
    stream = _unwrap(run_flow(link, traced.call(stepper, function, args, kwargs)))
    return (yield from stream if find_stream_kind(stream) else list_items(stream))


async def _call_async_generator(
    stepper: OpenStepper,
    traced: TracedFunction,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> AsyncIterator[Any]:
    """The asynchronous form of `_call_generator`."""
    link = stepper._current_session().link
    stream = _unwrap(await run_flow_async(link, traced.call(stepper, function, args, kwargs)))
    if find_stream_kind(stream) is None:
        for item in list_items(stream):
            yield item
        return
    async with aclosing(stream):
        async for item in stream:
            yield item


def _unwrap(result: CallResult) -> Any:
    if result.error is not None:
        raise result.error
    return result.value


def _is_of_kind(function: Callable[..., Any], kind: Callable[[Any], bool]) -> bool:
    """Whether a function is of a kind, also where `functools.wraps` hides it.

    A plain function around an async one may as well run it to its end; where no loop runs on this
    thread, it must.
    """
    if kind(function):
        return True
    inner = inspect.unwrap(function)
    return inner is not function and kind(inner) and is_loop_running()
