"""Tool calls that pass no seam of a tool: inferred from calls in answers and results in requests.

Whichever code executes the call, the agent sends its result in a later request. That request halts
before it is sent, so that the result can be edited. The agent's own history keeps the original, so
the edit is repeated in each later request that has the result.

In the agent's own process a call's event is recorded when its result comes: only then is it certain
that no adapter, discovered function or wrapped function recorded the call. The call's begin never
halts: a person edits the call at the end of the LLM query. Where the agent is another process (the
proxy), no other seam can record the call. There its begin is a halt point as any tool's, so that
breakpoints and denials work: an edit changes the call in the answer that the agent reads, and a call
that is denied, made to fail or given a result is removed from the answer, and replaced by a text that
the model reads in its own history.

A call without a result stays open until the run ends; in the agent's own process it is no event.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, Final

from ..errors import ToolDeniedError
from ..llm_wire.answer_events import JsonObject
from ..llm_wire.tool_calls import (
    WireToolCall,
    WireToolResult,
    copy_and_find,
    find_tool_calls,
    find_tool_results,
    remove_call,
)
from ..llm_wire.tool_names import find_offered_tools
from ..protocol.data_model import EventKind, EventSide
from ..protocol.seams import FoundBy
from ..sdk.base_stepper import BaseStepper
from ..sdk.flow_effects import Flow
from ..sdk.halt_flow import HaltFlow
from ..sdk.json_text import dump_json
from ..sdk.payload import read_tool_call
from ..sdk.raised_errors import describe_injected, is_injected
from ..sdk.run_events import OpenEvent, clock
from ..sdk.scopes import find_scope
from ..sdk.tool_begin_callbacks import unwatch_tools, watch_tools
from .current_run import is_agent_remote

_TOOL: Final = EventKind.TOOL_INVOCATION
#: Tool invocations that other seams began, the newest, among which a call is looked for.
_MAX_TRACED: Final = 10_000
#: Keys of calls that have ended, the newest, by which a result isn't taken for another agent's.
_MAX_ENDED: Final = 1_000
#: Keys of results that are kept for a call that is still to come.
_MAX_EARLY: Final = 100


@dataclass(frozen=True)
class _TracedCall:
    """A tool invocation that another seam began."""

    number: int
    name: str
    args: Any


@dataclass(eq=False)
class _PendingCall:
    """A call of the model whose result has yet to come.

    Args:
        name: The tool's name.
        args: The call's arguments, as JSON.
        number: The number of the run's tool invocations that had begun before.
        call_id: The id that the model gave the call.
        match_keys: The keys that match the call with its result.
        path: The scope of the query: agents that run in parallel may use the same key.
        event: The call's event, where the agent is another process.
    """

    name: str
    args: Any
    number: int
    call_id: str | None
    match_keys: tuple[str, ...]
    path: tuple[str, ...]
    event: OpenEvent | None = None
    at: float = field(default_factory=time.time)
    clock: float = field(default_factory=clock)


class InferredTools:
    """The tool calls of one run, as its requests and answers have them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[str, list[_PendingCall]] = {}  # by key
        self._ended_paths: dict[str, list[tuple[str, ...]]] = {}  # by key, of calls that have ended
        self._early: dict[str, WireToolResult] = {}  # by key, of calls that aren't known yet
        self._traced: deque[_TracedCall] = deque(maxlen=_MAX_TRACED)
        self._begun_count = 0
        self._edits: dict[str, tuple[Any, Any]] = {}  # a result's key: the original, the edited one
        self._announced: set[str] = set()

    def record_traced_call(self, name: str, call: Any) -> None:
        """Another seam began a tool invocation."""
        match call:
            case {"Argument": args}:
                pass
            case _:
                args = None
        with self._lock:
            self._begun_count += 1
            self._traced.append(_TracedCall(self._begun_count, name, args))

    # ---- answers ------------------------------------------------------------------------------------

    def begin_calls(
        self, flow: HaltFlow, body: JsonObject, answer: Any, waits: bool = True
    ) -> Flow[Any]:
        """Begin the calls of an answer.

        Args:
            flow: The run's flows.
            body: The request's body, as the agent sent it.
            answer: The whole answer, for the agent to read.
            waits: Whether the run may halt; False where the agent has read the answer already.

        Returns:
            The answer with the person's edits; the same object where nothing was edited.
        """
        if not is_agent_remote():
            for call in find_tool_calls(answer, body):
                self._expect(flow, call, None)
            return answer
        copied, calls = copy_and_find(answer, partial(find_tool_calls, body=body))
        offered = find_offered_tools(body)
        is_edited = False
        yield from self._announce(flow, [call.name for call in calls])
        for call in calls:
            if waits:
                is_edited |= yield from self._begin_call(flow, call, offered)
            else:
                event = yield from _record_call(flow, call.name, call.args, call.given_id)
                early = self._take_early(self._expect(flow, call, event))
                if early is not None:
                    yield from flow.end(_TOOL, early.content, event=event, waits=False)
        return copied if is_edited else answer

    def _begin_call(self, flow: HaltFlow, call: WireToolCall, offered: set[str]) -> Flow[bool]:
        """Halt at a call's begin; whether the answer was edited."""
        shown = {"Tool": call.name, "Argument": call.args}
        check = partial(_check_call, offered | {call.name})
        try:
            begun = yield from flow.begin(
                _TOOL,
                shown,
                call.name,
                convert_edit=check,
                call_id=call.given_id,
                found_by=FoundBy.WIRE,
            )
        except ToolDeniedError as denied:
            remove_call(call, f"{call.name} was not called: {denied}")
            return True
        except Exception as error:
            if not is_injected(error):
                raise
            remove_call(call, f"The call of {call.name} failed: {describe_injected(error)}")
            return True
        begun.event.detach()
        if begun.event.skipped:
            ended = yield from flow.end(_TOOL, None, event=begun.event)
            said = ended.value if isinstance(ended.value, str) else dump_json(ended.value)
            remove_call(call, f"{call.name} was not called. Take this as its result: {said}")
            return True
        if begun.is_edited:
            call.edit(begun.value["Tool"], begun.value["Argument"])
        self._expect(flow, call, begun.event)
        return begun.is_edited

    def _expect(self, flow: HaltFlow, call: WireToolCall, event: OpenEvent | None) -> _PendingCall:
        path = find_scope(flow.events.root).path
        with self._lock:
            number, call_id = self._begun_count, call.given_id
            pending = _PendingCall(
                call.name, call.args, number, call_id, call.match_keys, path, event
            )
            for key in call.match_keys:
                others = [each for each in self._pending.get(key, ()) if each.path != path]
                self._pending[key] = [pending, *others]
        return pending

    def _take_early(self, pending: _PendingCall) -> WireToolResult | None:
        """A result that came before its call: an agent reads the end of a live stream first."""
        with self._lock:
            found = [self._early.pop(key, None) for key in pending.match_keys]
            early = next((each for each in found if each is not None), None)
            if early is not None:
                self._end_keys(pending)
        return early

    # ---- results ------------------------------------------------------------------------------------

    def end_calls(self, flow: HaltFlow, body: JsonObject) -> Flow[JsonObject]:
        """End the calls whose results a request has.

        Args:
            flow: The run's flows.
            body: The request's body, as the agent sends it.

        Returns:
            The body with the person's edits, of now or of an earlier request; the same object where
            nothing was edited.
        """
        results = find_tool_results(body)
        path = find_scope(flow.events.root).path
        newest = {key: result for result in results for key in result.match_keys}
        edits: dict[int, Any] = {}
        for index, result in enumerate(results):
            pending = self._pop_pending_call(result, path) if result in newest.values() else None
            if pending is not None:
                yield from self._end_call(flow, pending, result)
            for key in result.match_keys:
                if key in self._edits and self._edits[key][0] == result.content:
                    edits[index] = self._edits[key][1]
        if not edits:
            return body
        copied, found = copy_and_find(body, find_tool_results)
        for index, content in edits.items():
            found[index].edit(content)
        return copied

    def _pop_pending_call(
        self, result: WireToolResult, path: tuple[str, ...]
    ) -> _PendingCall | None:
        """The call that a result ends, once; None where another seam has had it."""
        with self._lock:
            pending = self._find_pending(result.match_keys, path)
            if pending is None:
                self._keep_early(result)
                return None
            self._end_keys(pending)
            if pending.event is not None:
                return pending
            traced = _find_traced(self._traced, pending)
            if traced is not None:
                self._traced.remove(traced)
            return pending if traced is None else None

    def _keep_early(self, result: WireToolResult) -> None:
        keys = result.match_keys
        if not is_agent_remote() or not self._ended_paths.keys().isdisjoint(keys):
            return
        self._early.update(dict.fromkeys(keys, result))
        while len(self._early) > _MAX_EARLY:
            del self._early[next(iter(self._early))]

    def _find_pending(self, keys: tuple[str, ...], path: tuple[str, ...]) -> _PendingCall | None:
        """The call of the nearest scope; None where a nearer one has ended."""
        found = [each for key in keys for each in self._pending.get(key, ())]
        ended = [each for key in keys for each in self._ended_paths.get(key, ())]
        nearest = max(found, key=lambda each: _count_common(each.path, path), default=None)
        if nearest is None:
            return None
        nearest_ended = max((_count_common(each, path) for each in ended), default=-1)
        return None if nearest_ended > _count_common(nearest.path, path) else nearest

    def _end_keys(self, pending: _PendingCall) -> None:
        for key in pending.match_keys:
            left = [each for each in self._pending.pop(key, ()) if each is not pending]
            if left:
                self._pending[key] = left
            self._ended_paths.setdefault(key, []).append(pending.path)
        while len(self._ended_paths) > _MAX_ENDED:
            del self._ended_paths[next(iter(self._ended_paths))]

    def _end_call(
        self, flow: HaltFlow, pending: _PendingCall, result: WireToolResult
    ) -> Flow[None]:
        event = pending.event
        if event is None:
            yield from self._announce(flow, [pending.name])
            at = (pending.at, pending.clock)
            event = yield from _record_call(flow, pending.name, pending.args, pending.call_id, at)
        original = result.content
        try:
            ended = yield from flow.end(_TOOL, original, event=event, convert_edit=result.check)
        except Exception as error:
            if not isinstance(error, ToolDeniedError) and not is_injected(error):
                raise
            content = result.make_content(describe_injected(error))
            self._edits |= dict.fromkeys(result.match_keys, (original, content))
            return
        if ended.is_edited:
            self._edits |= dict.fromkeys(result.match_keys, (original, ended.value))

    def _announce(self, flow: HaltFlow, names: list[str]) -> Flow[None]:
        """Say once of each tool how its calls are found."""
        new = sorted(set(names) - self._announced)
        if new:
            self._announced.update(new)
            yield from flow.post_debug_message(
                f"Calls of these tools are inferred from requests and answers: {', '.join(new)}"
            )


_by_run: dict[str, InferredTools] = {}


def find_inferred_tools(stepper: BaseStepper) -> InferredTools:
    """The tool calls of a stepper's run, which are forgotten when it ends."""
    run = stepper.run_id
    tools = _by_run.get(run)
    if tools is None:
        tools = _by_run.setdefault(run, InferredTools())
        watch_tools(run, tools.record_traced_call)
        stepper._current_session().link.add_end_callback(partial(_forget, run))
    return tools


def may_halt_at_calls(stepper: BaseStepper, body: JsonObject) -> bool:
    """Whether the run may halt at the begin of a call that the answer to a request has.

    Args:
        stepper: The run's.
        body: The request's body.
    """
    link = stepper._current_session().link
    offered = find_offered_tools(body) if is_agent_remote() else ()
    return any(link.may_halt(_TOOL, EventSide.BEGIN, name) for name in offered)


def _forget(run: str) -> None:
    unwatch_tools(run)
    _by_run.pop(run, None)


def _record_call(
    flow: HaltFlow,
    name: str,
    args: Any,
    call_id: str | None,
    at: tuple[float, float] | None = None,
) -> Flow[OpenEvent]:
    return flow.record_tool_call(name, {"Tool": name, "Argument": args}, call_id, at)


def _check_call(offered: set[str], edited: Any) -> dict[str, Any]:
    name, args = read_tool_call(edited)
    if name not in offered:
        raise ValueError(f"The request offers no tool {name!r}: {', '.join(sorted(offered))}.")
    return {"Tool": name, "Argument": args}


def _count_common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The number of leading parts that two scopes have in common."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _find_traced(traced: deque[_TracedCall], pending: _PendingCall) -> _TracedCall | None:
    """The tool invocation of another seam that this call was: of the same name where there is one."""
    since = [each for each in traced if each.number > pending.number]
    for is_same in (_is_named_as, _is_similar):
        found = next((each for each in since if is_same(each, pending)), None)
        if found is not None:
            return found
    return None


def _is_named_as(traced: _TracedCall, pending: _PendingCall) -> bool:
    return traced.name == pending.name


def _is_similar(traced: _TracedCall, pending: _PendingCall) -> bool:
    """Whether a seam may know the tool by another name: a form of it, or with these arguments."""
    names = [_normalize(traced.name), _normalize(pending.name)]
    if names[0] and (names[0].endswith(names[1]) or names[1].endswith(names[0])):
        return True
    args, called = traced.args, pending.args
    if isinstance(args, Mapping) and isinstance(called, Mapping) and called:
        return all(name in args and args[name] == value for name, value in called.items())
    return bool(args == called)


def _normalize(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()
