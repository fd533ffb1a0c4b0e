"""Tools of hand-written loops: plain functions with the names of the tools that a request offers.

A function is found by its name in the frames that made the request, and its code is replaced by code
that forwards each call, so that every reference to the function halts too. A call is an event only
where the model called the tool. At the run's end the functions get their own code back.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from ..llm_wire.tool_names import CalledTool, find_offered_tools
from ..protocol.data_model import EventKind
from ..protocol.seams import FoundBy
from ..sdk.arguments import CallArguments
from ..sdk.base_stepper import BaseStepper, find_current_stepper
from ..sdk.run_events import find_innermost_event
from .called_tools import pop_called_tool, restore_called_tools
from .options import discovers_tools
from .tool_call import TracedToolCall

#: Frames, and items of each list or dictionary, that are looked through.
_MAX_FRAMES: Final = 100
_MAX_ITEMS: Final = 200
#: Lists, dictionaries and objects in one another that are looked into.
_MAX_DEPTH: Final = 2
#: The variable of a replaced function that holds the handler; at first a constant with this text.
_HANDLE: Final = "_agentstepper_handle"
#: The arguments of a replaced function: names that no function closes over.
_ARGS: Final = "_agentstepper_args"
_KWARGS: Final = "_agentstepper_kwargs"
_RECEIVERS: Final = ("self", "cls")
_OWN_FOLDER: Final = str(Path(__file__).parents[1])
_LIBRARY_FOLDERS: Final = (
    _OWN_FOLDER,
    "site-packages",
    "dist-packages",
    str(Path(types.__file__).parent),
)


#: The functions whose code is replaced, with their own code and the run that found them.
_replaced: dict[FunctionType, tuple[_OwnCode, str]] = {}
#: Held while functions are replaced or put back: a finalizer may come here while this thread is here.
_lock: Final = threading.RLock()

# A child has none of its parent's threads: nobody would release a lock that one of them held.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def discover_tools(stepper: BaseStepper, body: dict[str, Any]) -> list[str]:
    """Let the functions that a request offers as tools halt. Call it in the request's own stack.

    Args:
        stepper: The stepper of the request's run.
        body: The request's body.

    Returns:
        The names of the functions that this request made known.
    """
    if not discovers_tools():
        return []
    offered = find_offered_tools(body) - {function.__name__ for function in list(_replaced)}
    if not offered:
        return []
    run = stepper.run_id
    found = _replace_all(_find_functions(offered), run)
    names = sorted({function.__name__ for function in found})
    if names:
        session = stepper._current_session()
        session.link.add_end_callback(lambda: restore_functions(run))
        for name in names:
            session.events.seams.add_tool(name, FoundBy.DISCOVERY)
    return names


def restore_functions(run: str | None = None) -> None:
    """Put functions' own code back.

    Args:
        run: The run that found them; all functions where None.
    """
    with _lock:
        for function, (own, finder) in list(_replaced.items()):
            if run in (None, finder):
                own.put_back(function)
                _replaced.pop(function, None)


# ---- finding -----------------------------------------------------------------------------------------


def _find_functions(names: set[str]) -> list[FunctionType]:
    found: dict[int, FunctionType] = {}
    seen: set[int] = set()
    for frame in _list_frames():
        for variables in (frame.f_locals, frame.f_globals):
            for value in list(variables.values()):
                for function in _find_functions_in(value, names, seen, 0):
                    found.setdefault(id(function), function)
    return list(found.values())


def _list_frames() -> Iterator[FrameType]:
    """The frames of the agent's own code, from the request outwards."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return
        if not _is_library(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _find_functions_in(
    value: Any, names: set[str], seen: set[int], depth: int
) -> Iterator[FunctionType]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, FunctionType):
        if value.__name__ in names:
            yield value
        return
    if depth < _MAX_DEPTH:
        for item in _list_items(value):
            yield from _find_functions_in(item, names, seen, depth + 1)


def _list_items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())[:_MAX_ITEMS]
    if isinstance(value, list | tuple):
        return list(value[:_MAX_ITEMS])
    kind = type(value)
    module = sys.modules.get(kind.__module__)
    if _is_library(getattr(module, "__file__", None) or ""):
        return []
    # An object of the agent's own: its attributes, and the methods of its class.
    return [*vars(kind).values(), *getattr(value, "__dict__", {}).values()][:_MAX_ITEMS]


def _is_library(file: str) -> bool:
    return any(folder in file for folder in _LIBRARY_FOLDERS)


def _is_replaceable(function: FunctionType) -> bool:
    return not (
        function in _replaced
        or _is_library(function.__code__.co_filename)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    )


# ---- replacing ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OwnCode:
    """The parts of a function that the wrap replaces, as its author wrote them."""

    code: CodeType
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None

    def put_back(self, function: FunctionType) -> None:
        function.__code__, function.__defaults__ = self.code, self.defaults
        function.__kwdefaults__ = self.keyword_defaults
        vars(function).pop("__signature__", None)


def _replace_all(functions: list[FunctionType], run: str) -> list[FunctionType]:
    """Replace functions' code, and return those whose code no thread had replaced before."""
    with _lock:
        found = [function for function in functions if _is_replaceable(function)]
        for function in found:
            _replace(function, run)
    return found


def _replace(function: FunctionType, run: str) -> None:
    own = _OwnCode(function.__code__, function.__defaults__, function.__kwdefaults__)
    original = FunctionType(
        own.code, function.__globals__, function.__name__, own.defaults, function.__closure__
    )
    original.__kwdefaults__ = own.keyword_defaults
    signature = inspect.signature(function)
    is_async = inspect.iscoroutinefunction(function)

    def handle(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _call(original, signature, is_async, args, kwargs)

    function.__code__ = _make_code(own.code, is_async, handle)
    function.__defaults__ = function.__kwdefaults__ = None
    vars(function)["__signature__"] = signature
    _replaced[function] = own, run


def _make_code(own: CodeType, is_async: bool, handle: Callable[..., Any]) -> CodeType:
    """Code that passes each call on to `handle`, with the variables that the function closes over."""
    free = own.co_freevars
    source = [
        "def outer():",
        *(f"    {name} = None" for name in free),
        f"    {'async ' if is_async else ''}def inner(*{_ARGS}, **{_KWARGS}):",
        *([f"        if 0: {', '.join(free)}"] if free else ()),
        f"        {_HANDLE} = {_HANDLE!r}",
        f"        return {'await ' if is_async else ''}{_HANDLE}({_ARGS}, {_KWARGS})",
    ]
    module = compile("\n".join(source), own.co_filename, "exec")
    (outer,) = (each for each in module.co_consts if isinstance(each, CodeType))
    (inner,) = (each for each in outer.co_consts if isinstance(each, CodeType))
    constants = tuple(handle if each == _HANDLE else each for each in inner.co_consts)
    return inner.replace(
        co_consts=constants,
        co_firstlineno=own.co_firstlineno,
        co_name=own.co_name,
        co_qualname=own.co_qualname,
    )


def _call(
    original: FunctionType,
    signature: inspect.Signature,
    is_async: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function whose code was replaced; the call is an event where the model called the tool."""
    name = original.__name__
    stepper = find_current_stepper()
    if stepper is None:
        return original(*args, **kwargs)
    arguments = CallArguments(original, args, kwargs)
    hidden, shown = _split_receiver(arguments.named)
    called = _take_call(stepper, name, shown)
    if called is None:
        return original(*args, **kwargs)

    def call(edited: Any) -> Any:
        given = arguments if edited is shown else arguments.with_named({**hidden, **edited})
        return original(*given.args, **given.kwargs)

    def call_sync(edited: Any) -> Any:
        with restore_called_tools():  # the tool may ask a model of its own
            return call(edited)

    async def call_async(edited: Any) -> Any:
        with restore_called_tools():
            return await call(edited)

    return TracedToolCall(
        name=name,
        args=shown,
        call=call_async if is_async else call_sync,
        is_async=is_async,
        check_args=functools.partial(_check_args, name, arguments, hidden),
        found_by=FoundBy.DISCOVERY,
        call_id=called.id,
    ).run(stepper)


def _check_args(
    name: str, arguments: CallArguments, hidden: dict[str, Any], edited: Any
) -> dict[str, Any]:
    if not isinstance(edited, dict):
        raise ValueError(f"The arguments of {name} are a JSON object.")
    try:
        arguments.with_named({**hidden, **edited})
    except TypeError as problem:
        raise ValueError(f"{name} doesn't take these arguments: {problem}.") from None
    return edited


def _split_receiver(named: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split arguments into a method's receiver, and the arguments that the model writes."""
    hidden = {key: value for key, value in named.items() if key in _RECEIVERS}
    return hidden, {key: value for key, value in named.items() if key not in _RECEIVERS}


def _take_call(stepper: BaseStepper, name: str, args: dict[str, Any]) -> CalledTool | None:
    """The model's call that is executed now; None where it made none, or another seam has it."""
    return None if _is_inside(stepper, name) else pop_called_tool(stepper.run_id, name, args)


def _is_inside(stepper: BaseStepper, name: str) -> bool:
    """Whether the call is an event already, by a framework's adapter or the agent's own."""
    event = find_innermost_event(stepper.run_id)
    return event is not None and event.kind is EventKind.TOOL_INVOCATION and event.name == name
