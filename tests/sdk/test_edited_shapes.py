"""Edits of values whose shape the agent's types or hooks change: made exactly, or refused."""

from __future__ import annotations

from collections import deque
from typing import Any

import pydantic
import pytest
from msgspec import Raw

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.sdk.edits import EditReader
from agentstepper_nb.sdk.payload import PayloadEncoder
from agentstepper_nb.sdk.value_hooks import ValueHooks
from tests.sdk.hostile import Pair
from tests.sdk.test_decoding import Child, edited, into
from tests.sdk.traced_values import FrameworkObject


class Count(int):
    pass


class Ratio(float):
    pass


class History(list[Any]):
    """A list with state of its own."""

    limit = 0


class Tags(pydantic.BaseModel):
    tags: list[str] = []
    children: list[Child] = []

    @pydantic.field_validator("tags")
    @classmethod
    def drop_repeated(cls, tags: list[str]) -> list[str]:
        return list(dict.fromkeys(tags))


@pytest.mark.parametrize(
    ("value", "edit", "expected"),
    [
        (Count(1), 2, Count(2)),
        (Count(1), 2.0, Count(2)),
        (Ratio(0.5), 2, Ratio(2)),
        (deque([1]), [1, 2], deque([1, 2])),
    ],
    ids=repr,
)
def test_a_subclass_of_a_json_type_comes_back_as_itself(
    value: Any, edit: Any, expected: Any
) -> None:
    (got,) = into([value], [edit])
    assert (type(got), got) == (type(expected), expected)


@pytest.mark.parametrize(
    ("value", "edit", "said"),
    [
        (Count(1), "2", r"\[0\]: .*must stay a number"),
        (Count(1), True, "must stay a number"),
        (Count(1), 1.5, "Count can't hold 1.5"),
    ],
)
def test_a_number_that_its_type_does_not_take_is_refused(value: Any, edit: Any, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        into([value], [edit])


def test_a_list_with_state_of_its_own_keeps_it() -> None:
    history, bounded = History([1, 2]), deque([1], maxlen=3)
    history.limit = 7
    got = into({"history": history, "bounded": bounded}, {"history": [2], "bounded": [1, 4]})
    assert (type(got["history"]), got["history"], got["history"].limit) == (History, [2], 7)
    assert (got["bounded"], got["bounded"].maxlen) == (deque([1, 4]), 3)
    assert (history, bounded) == ([1, 2], deque([1])), "the agent's own values aren't touched"


def test_more_items_than_a_queue_holds_are_refused() -> None:
    with pytest.raises(ProtocolError, match="its type keeps 2 of 3 items"):
        into([deque([1, 2], maxlen=2)], [[1, 2, 3]])


def test_fields_in_another_order_are_no_edit() -> None:
    pair = Pair(1, 2)
    assert edited(pair, lambda shown: dict(reversed(shown.items()))) is pair


def test_lists_beside_what_is_read_only_are_edited() -> None:
    thing = FrameworkObject()
    got = edited(
        {"thing": thing, "n": None}, lambda shown: shown | {"n": [1, [shown["thing"]], {"a": 2}]}
    )
    assert got == {"thing": thing, "n": [1, [thing], {"a": 2}]}


def test_a_field_that_only_to_json_shows_can_not_be_edited() -> None:
    def show_pair(value: Any) -> Any:
        return {"left": value.left, "sum": value.left + value.right}

    encoder = PayloadEncoder(hooks=ValueHooks(show_pair, None))
    packed = encoder.encode_for_display("tool_result", pair := Pair(1, 2))
    reader = EditReader(encoder, packed)
    with pytest.raises(ProtocolError, match="sum: the agent's to_json= adds this field"):
        reader.read(Raw(b'{"left":1,"sum":9}'))
    assert reader.read(Raw(b'{"left":5,"sum":3}')) == Pair(5, 2)
    assert reader.read(packed.raw) is pair


def test_a_list_of_which_redact_shows_another_is_edited_as_plain_json() -> None:
    encoder = PayloadEncoder(lambda word, value: value[:1])
    packed = encoder.encode_for_display("tool_result", [Pair(1, 2), Pair(3, 4)])
    got = EditReader(encoder, packed).read(Raw(b'[{"left":5,"right":2}]'))
    assert got == [{"left": 5, "right": 2}]


@pytest.mark.parametrize(
    ("tags", "children", "expected"),
    [
        # A child's field that isn't named has its default.
        (["a"], [{"age": 5}], Tags(tags=["a"], children=[Child(age=5)])),
        (["a", "b"], [], Tags(tags=["a", "b"])),
    ],
    ids=["default", "kept"],
)
def test_a_list_is_made_by_its_model(tags: Any, children: Any, expected: Tags) -> None:
    assert into(Tags(tags=["a"]), {"tags": tags, "children": children}) == expected


def test_a_list_that_a_validator_makes_shorter_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r'tags: Tags changes the value to \["a","b"\]'):
        into(Tags(tags=["a"]), {"tags": ["a", "b", "b"], "children": []})
