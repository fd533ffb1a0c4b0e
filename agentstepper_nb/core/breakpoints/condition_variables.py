"""The variables that conditions read of a halt point: JSON values by name, each made on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from ...protocol.data_model import PAIRED_EVENT_KINDS, EventKind, EventOutcome, EventSide
from .watches import ObservedPoint, UsageTotals


def read_answer(data: Any) -> dict[str, Any]:
    """An answer with all it has, its `text` and `tool_calls`, which have `name`, `args` and `id`."""
    parts = list(_parts(data))
    said = [part for part in parts if isinstance(part, str)]
    calls = [part for part in parts if not isinstance(part, str)]
    own = data if isinstance(data, dict) else {}
    return {**own, "text": "\n".join(said), "tool_calls": calls}


def read_messages(prompt: Any) -> list[Any]:
    """The messages of a prompt; none where it has another shape."""
    match prompt:
        case {"messages": list() as messages} | {"input": list() as messages}:
            return messages
        case list() as messages:
            return messages
    return []


def _parts(data: Any) -> Iterator[str | dict[str, Any]]:
    """The texts and the calls of an answer, in their order, in any of the known response shapes."""
    match data:
        case str():
            yield data
        case list():
            for item in data:
                yield from _part(item)
        case {"choices": [{"message": dict() as message}, *_]}:
            yield from _message(message)
        case {"output": list() as items}:
            for item in items:
                yield from _part(item)
        case dict():
            yield from _message(data)


def _message(message: dict[str, Any]) -> Iterator[str | dict[str, Any]]:
    """A message with its `content`, be it a text or a list of parts, and `tool_calls`."""
    match message.get("content"):
        case str() as text:
            yield text
        case list() as content:
            for part in content:
                yield from _part(part)
    match message.get("tool_calls"):
        case list() as calls:
            for call in calls:
                yield from _part(call)


def _part(part: Any) -> Iterator[str | dict[str, Any]]:
    match part:
        case str():
            yield part
        case {"function": {"name": str() as name, **function}}:
            yield _call(name, function.get("arguments"), part.get("id"))
        case {"type": "function_call", "name": str() as name}:
            yield _call(name, part.get("arguments"), part.get("call_id"))
        case {"type": "tool_use", "name": str() as name}:
            yield _call(name, part.get("input"), part.get("id"))
        case {"type": "message"} | {"role": str()}:
            yield from _message(part)
        case {"type": "text" | "output_text", "text": str() as text}:
            yield text


def _call(name: str, args: Any, id: Any) -> dict[str, Any]:
    if isinstance(args, str):  # JSON, as the model wrote it: it may be malformed
        args = parse_json(args)
    return {"name": name, "args": args, "id": id}


def parse_json(text: str | bytes) -> Any:
    """Decode a JSON text; a text that isn't strict JSON is the value itself."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text if isinstance(text, str) else text.decode("utf-8", "replace")


class ConditionVariables:
    """The variables of a halt point, by name.

    Args:
        point: The halt point.
        totals: The run's usage so far, this halt point included.
        program: The run's program.
        marks: The names of the effect checks that mark the halt point.
    """

    __slots__ = ("_known", "marks", "point", "program", "totals")

    def __init__(
        self, point: ObservedPoint, totals: UsageTotals, program: str, marks: tuple[str, ...] = ()
    ) -> None:
        self.marks = marks
        self.point = point
        self.totals = totals
        self.program = program
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The value of one of `VARIABLES`."""
        known = self._known
        if name not in known:
            known[name] = VARIABLES[name](self)
        return known[name]

    def matches(self, side: EventSide, *kinds: EventKind) -> bool:
        """Whether the halt point is on this side of an event of one of these kinds."""
        return self.point.side is side and self.point.kind in kinds


def list_texts(value: Any) -> Iterator[str]:
    """The texts in a value as JSON has them, in their order; keys aren't among them."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            left += reversed(item.values())
        elif isinstance(item, list):
            left += reversed(item)


_KINDS: Final = {EventKind.LLM_QUERY: "llm", EventKind.TOOL_INVOCATION: "tool"}


def _kind(variables: ConditionVariables) -> Any:
    point = variables.point
    return (
        point.name if point.kind is EventKind.CUSTOM else _KINDS.get(point.kind, point.kind.value)
    )


def _side(variables: ConditionVariables) -> Any:
    return "before" if variables.point.side is EventSide.BEGIN else "after"


def _tool(variables: ConditionVariables) -> Any:
    return variables.point.name if variables.point.kind is EventKind.TOOL_INVOCATION else None


def _model(variables: ConditionVariables) -> Any:
    return variables.point.name if variables.point.kind is EventKind.LLM_QUERY else None


def _data(variables: ConditionVariables) -> Any:
    return parse_json(variables.point.data)


def _args(variables: ConditionVariables) -> Any:
    if variables.matches(EventSide.BEGIN, EventKind.TOOL_INVOCATION):
        match variables["data"]:
            case {"Argument": args}:
                return args
    return variables["data"] if variables.matches(EventSide.BEGIN, EventKind.CUSTOM) else None


def _prompt(variables: ConditionVariables) -> Any:
    return variables["data"] if variables.matches(EventSide.BEGIN, EventKind.LLM_QUERY) else None


def _messages(variables: ConditionVariables) -> Any:
    return read_messages(variables["prompt"])


def _answer(variables: ConditionVariables) -> Any:
    return (
        read_answer(variables["data"])
        if variables.matches(EventSide.END, EventKind.LLM_QUERY)
        else None
    )


def _result(variables: ConditionVariables) -> Any:
    at_end = variables.matches(EventSide.END, EventKind.TOOL_INVOCATION, EventKind.CUSTOM)
    return variables["data"] if at_end else None


def _text(variables: ConditionVariables) -> Any:
    return "\n".join(list_texts(variables["data"]))


def _outcome(variables: ConditionVariables) -> Any:
    point = variables.point
    if point.side is EventSide.BEGIN or point.kind not in PAIRED_EVENT_KINDS:
        return None
    return (point.outcome or EventOutcome.OK).value


def _error(variables: ConditionVariables) -> Any:
    failure = variables.point.failure
    return None if failure is None else failure.message


def _error_type(variables: ConditionVariables) -> Any:
    failure = variables.point.failure
    return None if failure is None else failure.type


def _tokens(variables: ConditionVariables) -> Any:
    usage = variables.point.usage
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _cost(variables: ConditionVariables) -> Any:
    return None if variables.point.usage is None else variables.point.usage.cost


def _agent(variables: ConditionVariables) -> Any:
    label = variables.point.label
    return None if label is None else label.name


def _node(variables: ConditionVariables) -> Any:
    label = variables.point.label
    return None if label is None else label.node


def _run(variables: ConditionVariables) -> Any:
    totals = variables.totals
    return {
        "tokens": totals.tokens,
        "cost": totals.cost,
        "events": totals.events,
        "program": variables.program,
    }


#: The variables of conditions; docs/guide/breakpoints.md describes each of them.
VARIABLES: Final[dict[str, Callable[[ConditionVariables], Any]]] = {
    "agent": _agent,
    "answer": _answer,
    "args": _args,
    "cost": _cost,
    "data": _data,
    "depth": lambda variables: variables.point.depth,
    "effect": lambda variables: list(variables.marks),
    "error": _error,
    "error_type": _error_type,
    "kind": _kind,
    "messages": _messages,
    "model": _model,
    "name": lambda variables: variables.point.name,
    "node": _node,
    "outcome": _outcome,
    "prompt": _prompt,
    "result": _result,
    "run": _run,
    "side": _side,
    "text": _text,
    "tokens": _tokens,
    "tool": _tool,
}
