"""Any value as JSON: in its type's form, or as a mark."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import attrs
import pydantic
import pytest

from agentstepper_nb.sdk.edits import EditReader
from agentstepper_nb.sdk.payload import PayloadEncoder
from agentstepper_nb.sdk.value_encoder import encode_value
from agentstepper_nb.sdk.value_hooks import ValueHooks
from tests.sdk.hostile import HOSTILE, Pair, thicket
from tests.sdk.traced_values import FrameworkObject, make_opaque_mark


class Colour(Enum):
    RED = "red"
    ODD = (1, 2)


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    YES = "yes"


@attrs.define
class Attrs:
    given: int
    _private: str = attrs.field(default="p")
    secret: str = attrs.field(default="s", repr=False)


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    name: str = pydantic.Field(alias="Name")
    when: date | None = None
    key: str = pydantic.Field(default="k", repr=False)
    password: pydantic.SecretStr = pydantic.SecretStr("hunter2")


Point = namedtuple("Point", "x y")

SHOWN: list[tuple[Any, Any]] = [
    (Pair(1, Pair("a", None)), {"left": 1, "right": {"left": "a", "right": None}}),
    (Attrs(1), {"given": 1, "_private": "p"}),
    (Point(1, 2), {"x": 1, "y": 2}),
    ((1, (2,)), [1, [2]]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    (Path("/a/b"), "/a/b"),
    (PurePosixPath("c"), "c"),
    (date(2024, 2, 29), "2024-02-29"),
    (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00+00:00"),
    (time(1, 2), "01:02:00"),
    (Decimal("1.10"), "1.10"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (b"a\xff", "b'a\\xff'"),
    (bytearray(b"a"), "b'a'"),
    (Colour.RED, "red"),
    ([Colour.ODD], ["ODD"]),
    (Level.LOW, 1),
    (Word.YES, "yes"),
    (OrderedDict(a=Path("b")), {"a": "b"}),
]


@pytest.mark.parametrize(
    ("value", "expected"), SHOWN, ids=[type(value).__name__ for value, _ in SHOWN]
)
def test_the_form_of_each_type(value: Any, expected: Any) -> None:
    shown = encode_value({"value": value}).json["value"]
    assert json.dumps(shown) == json.dumps(expected)


def test_a_pydantic_model_is_shown_by_its_fields_but_those_it_hides() -> None:
    model = Model.model_validate({"Name": "n", "when": "2024-01-02", "more": [1]})
    shown = encode_value(model).json
    assert "hunter2" not in repr(shown)
    password = shown.pop("password")
    assert password["$repr"] == "SecretStr('**********')"
    assert shown == {"name": "n", "when": "2024-01-02", "more": [1]}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_a_value_does_keeps_it_from_being_shown(name: str) -> None:
    value = HOSTILE[name]
    packed = PayloadEncoder().encode_for_display("tool_result", {"short": 1, "value": value})
    assert len(bytes(packed.raw)) < 64 * 1024 * 1024
    assert json.loads(bytes(packed.raw))["short"] == 1
    assert EditReader(PayloadEncoder(), packed).read(packed.raw) is packed.encoded.value


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a repr that fails", "<FailingRepr whose repr fails>", "its type, FailingRepr, has no"),
        ("a field that was never set", "<Unset>", "its fields can't be read (AttributeError)"),
        ("a ring of fields", "<Pair>", "it contains itself"),
        ("a long integer", "<int whose repr fails>", "JSON has no such number"),
        ("numbers as keys", "{1: {'x': None}}", "not all of its keys are texts"),
        ("a large text", "'xxx", "it is too large to be shown"),
        ("large bytes", "b'xxx", "it is too large to be shown"),
        ("a mark", "{'$ref': 1, '$repr': '<a thing>'}", "it has the key “$repr”"),
    ],
)
def test_a_mark_says_why(name: str, text: str, why: str) -> None:
    shown = encode_value({"value": HOSTILE[name]}).json["value"]
    shown = shown["right"] if name == "a ring of fields" else shown
    assert shown["$repr"].startswith(text)
    assert shown["$why"].startswith(why)


def test_what_is_too_large_is_marked_by_itself() -> None:
    shown = encode_value({"Argument": {"a": 1, "b": thicket(Pair), "c": 2}}).json["Argument"]
    assert (shown["a"], shown["c"]) == (1, 2)
    assert shown["b"]["$repr"] == "<Pair>"


def test_the_same_object_twice_is_no_circle() -> None:
    shared = Pair(1, 2)
    assert encode_value([shared, shared]).json == [{"left": 1, "right": 2}] * 2


def test_a_mark_stands_for_its_object() -> None:
    one, two = FrameworkObject(), FrameworkObject()
    shown = encode_value([one, {"x": two}])
    assert shown.json == [make_opaque_mark("<a thing>", 1), {"x": make_opaque_mark("<a thing>", 2)}]
    assert list(shown.objects_by_mark.values()) == [one, two]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LookupError("a bug in the hook"), "LookupError: a bug in the hook"),
        (OverflowError("not this value's size"), "OverflowError: not this value's size"),
        (RecursionError("in the hook"), "RecursionError: in the hook"),
        (Unspeakable(), "Unspeakable"),
    ],
)
def test_a_hook_that_fails_leaves_a_mark_that_names_it(error: Exception, said: str) -> None:
    def show_thing(value: Any) -> Any:
        raise error

    shown = encode_value([FrameworkObject(), 1], ValueHooks(show_thing)).json
    assert shown == [make_opaque_mark("<a thing>", 1, f"to_json=show_thing raised {said}"), 1]


def test_a_hook_that_gives_what_it_got_comes_to_an_end() -> None:
    assert encode_value(
        FrameworkObject(), ValueHooks(lambda value: value)
    ).json == make_opaque_mark("<a thing>", 1)
    shown = encode_value(FrameworkObject(), ValueHooks(lambda value: Pair(value, value))).json
    assert "$repr" in json.dumps(shown)


def test_what_redact_gives_is_shown_too() -> None:
    seen: list[Any] = []

    def redact(word: str, value: Any) -> Any:
        seen.append(value)
        return {**value, "pair": {**value["pair"], "left": {1, 2}}}

    value = {"pair": Pair("secret", FrameworkObject())}
    packed = PayloadEncoder(redact).encode_for_display("prompt", value)
    assert seen == [{"pair": {"left": "secret", "right": make_opaque_mark("<a thing>", 1)}}]
    assert json.loads(bytes(packed.raw)) == {
        "pair": {"left": [1, 2], "right": make_opaque_mark("<a thing>", 1)}
    }


def test_plain_json_is_packed_as_it_is() -> None:
    value = {"a": [1, 1.5, "x", None, True]}
    packed = PayloadEncoder().encode_for_display("prompt", value)
    assert bytes(packed.raw) == b'{"a":[1,1.5,"x",null,true]}'
    assert packed.encoded.json is value


@dataclasses.dataclass
class Deep:
    inside: Any


def test_values_nested_too_deeply_end_as_a_mark() -> None:
    value: Any = 1
    for _ in range(1000):
        value = Deep(value)
    assert "it is nested too deeply" in json.dumps(encode_value(value).json)
