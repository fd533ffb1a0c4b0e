"""The items of a stream as one answer to show, and an edit of that as items again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..errors import ProtocolError
from ..llm_wire.answer_events import JsonObject
from ..llm_wire.llm_api import LlmApi, LlmRequest, recognize_events, split_into_events


class JoinedItems(NamedTuple):
    """The items of a stream, joined into one answer.

    Attributes:
        answer: The events of an LLM API's stream as the answer that the API would have given unstreamed;
            other items as their list.
        split_edit: Makes the items of an edited answer, or raises.
    """

    answer: Any
    split_edit: Callable[[Any], list[Any]]


def join_items(items: list[Any]) -> JoinedItems:
    """Join the items of a stream, up to the last item that was read.

    Args:
        items: The items: of an LLM API's stream as dicts, or as its client's pydantic models.
    """
    plain = JoinedItems(items, check_list)
    try:
        events = [_read_event(item) for item in items]
        api = recognize_events(events)
        if api is None:
            return plain
        joined = api.join_events(events)
        is_answer = joined.error is None and bool(joined.answer.get(api.answer_member))
    except Exception:  # of a client's models, or of a server that sends what the API doesn't
        return plain
    return JoinedItems(joined.answer, partial(_split, api, items, events)) if is_answer else plain


def check_list(edited: Any) -> list[Any]:
    """See that the edited items of a stream are some.

    Raises:
        ProtocolError: `invalid_edit`: they are no list.
    """
    if not isinstance(edited, list):
        raise ProtocolError("invalid_edit", "The items of a generator must stay a JSON list.")
    return edited


def _read_event(item: Any) -> JsonObject:
    """An item as JSON.

    Raises:
        TypeError: The item is neither a dict nor a pydantic model.
    """
    if isinstance(item, dict):
        return item
    if not hasattr(type(item), "model_dump"):
        raise TypeError
    event: JsonObject = item.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return event


def _split(
    api: LlmApi, items: Sequence[Any], events: Sequence[JsonObject], edited: Any
) -> list[Any]:
    """Make the items that an edited answer would have come in, each of the type that its event had."""
    LlmRequest(api, {}, None).check_answer(edited)
    asks_usage = any(event.get("usage") and not event.get("choices") for event in events)
    request = {"stream_options": {"include_usage": asks_usage}}
    kinds = {event.get("type"): type(item) for item, event in zip(items, events, strict=True)}
    return [_make_item(kinds, event) for event in split_into_events(api, edited, request)]


def _make_item(kinds: dict[Any, type], event: JsonObject) -> Any:
    name = event.get("type")
    kind: Any = kinds.get(name, dict if dict in kinds.values() else None)
    if kind is None:
        raise ProtocolError(
            "invalid_edit",
            f"This edit needs an event of the type {name}, and the stream had none to make it like.",
        )
    if issubclass(kind, dict):
        return event
    # The vendors' clients make their models by a method of their own, since servers leave fields out.
    construct = kind.model_construct
    is_own = construct.__func__ is not sys.modules["pydantic"].BaseModel.model_construct.__func__
    return construct(**event) if is_own else kind.model_validate(event)
