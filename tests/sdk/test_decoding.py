"""An edit of any value, made anew by the type of the object that stood there; or refused."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.sdk.edits import EditReader
from agentstepper_nb.sdk.payload import PayloadEncoder
from tests.sdk.hostile import Pair
from tests.sdk.traced_values import FrameworkObject, make_opaque_mark

BERLIN = ZoneInfo("Europe/Berlin")


def edited(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value after an edit of what is shown of it."""
    packed = PayloadEncoder().encode_for_display("tool_result", value)
    text = json.dumps(change(json.loads(bytes(packed.raw))))
    return EditReader(PayloadEncoder(), packed).read(Raw(text.encode()))


def into(value: Any, edit: Any) -> Any:
    """A value after an edit of the whole of it."""
    return edited(value, lambda _: edit)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"
    ODD = (1, 2)
    EVEN = (2, 4)


Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    customer: str
    lines: list[Pair] = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(default=0, init=False)
    key: str = dataclasses.field(default="k", repr=False)

    def __post_init__(self) -> None:
        if not self.customer:
            raise ValueError("an order has a customer")
        object.__setattr__(self, "total", len(self.lines))


@attrs.define
class Attrs:
    given: int = attrs.field(validator=attrs.validators.instance_of(int))
    _private: str = "p"


class Child(pydantic.BaseModel):
    age: int = pydantic.Field(ge=0)
    note: str | None = None


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(alias="Name")
    when: date | None = None
    child: Child | None = None
    children: list[Child] = []
    _private: object = pydantic.PrivateAttr(default_factory=object)

    @pydantic.field_validator("name")
    @classmethod
    def strip(cls, name: str) -> str:
        return name.strip()


class Span(pydantic.BaseModel, extra="allow"):
    first: int
    last: int

    @pydantic.model_validator(mode="after")
    def check(self) -> Span:
        if self.first > self.last:
            raise ValueError("first comes after last")
        return self


class Frozen(pydantic.BaseModel, frozen=True):
    name: str = pydantic.Field(alias="Name")
    child: Child


class Text(str):
    __slots__ = ()


SCALARS: list[tuple[Any, Any, Any]] = [
    (Path("/a"), "/b", Path("/b")),
    (PurePosixPath("a"), "b", PurePosixPath("b")),
    (date(2024, 1, 2), "2024-02-29", date(2024, 2, 29)),
    (datetime(2024, 1, 2), "2024-01-02T03:04:05", datetime(2024, 1, 2, 3, 4, 5)),
    (Decimal("1.10"), "1.20", Decimal("1.20")),
    (Decimal("1.10"), 2, Decimal(2)),
    (UUID(int=1), str(UUID(int=2)), UUID(int=2)),
    (b"a", "b'\\xff'", b"\xff"),
    (bytearray(b"a"), "b'b'", bytearray(b"b")),
    (Colour.RED, "blue", Colour.BLUE),
    (Colour.ODD, "EVEN", Colour.EVEN),
    (Text("a"), "b", Text("b")),
    (Point(1, 2), {"x": 3, "y": 2}, Point(3, 2)),
    ((1, "a"), [2, "a", None], (2, "a", None)),
    ({1, 2}, [1, 3], {1, 3}),
    (frozenset("ab"), ["a"], frozenset("a")),
    (OrderedDict(a=1), {"b": 2}, OrderedDict(b=2)),
    (Path("/a"), None, None),
]


@pytest.mark.parametrize(
    ("value", "edit", "expected"),
    SCALARS,
    ids=[f"{type(one).__name__} {index}" for index, (one, *_) in enumerate(SCALARS)],
)
def test_each_type_comes_back_as_itself(value: Any, edit: Any, expected: Any) -> None:
    got = into({"value": value}, {"value": edit})["value"]
    assert got == expected
    assert type(got) is type(expected)


def test_a_datetime_keeps_its_time_zone() -> None:
    summer = datetime(2024, 7, 1, 12, tzinfo=BERLIN)
    assert into([summer], ["2024-07-02T12:00:00+02:00"])[0].tzinfo is BERLIN
    assert into([summer], ["2024-12-02T12:00:00+01:00"])[0].tzinfo is BERLIN
    other = into([summer], ["2024-07-02T12:00:00+05:00"])[0]
    assert other.utcoffset() == timedelta(hours=5)
    assert into([datetime(2024, 1, 1, tzinfo=UTC)], ["2024-01-01T00:00:00-01:00"])[0].tzinfo == (
        timezone(timedelta(hours=-1))
    )


def test_a_field_deep_inside_is_edited_and_all_else_stays_the_same_object() -> None:
    thing, other = FrameworkObject(), Pair("other", FrameworkObject())
    value = {"orders": (Order("bob", [Pair(thing, 1), other]),), "by": {"x": other}}

    def change(shown: Any) -> Any:
        shown["orders"][0]["lines"][0]["right"] = 2
        return shown

    got = edited(value, change)
    order = got["orders"][0]
    assert type(order) is Order
    assert order == Order("bob", [Pair(thing, 2), other])
    assert order.lines[0].left is thing
    assert order.lines[1] is other
    assert got["by"] is value["by"]
    assert value["orders"][0].lines[0].right == 1, "the agent's own value isn't touched"


def test_what_is_not_edited_is_the_same_object() -> None:
    value = {"b": [Order("x"), {1, 2}], "a": FrameworkObject()}
    assert edited(value, lambda shown: shown) is value
    assert edited(value, lambda shown: dict(reversed(shown.items())))["b"] is value["b"]


def test_a_pydantic_model_is_validated_and_keeps_what_is_not_shown() -> None:
    child = Child(age=3)
    model = Model(Name="bob", children=[child, Child(age=4)])

    def change(shown: Any) -> Any:
        return shown | {"when": "2024-02-29", "child": {"age": 1}, "name": "eve"}

    got = edited(model, change)
    assert type(got) is Model
    assert (got.name, got.when, got.child) == ("eve", date(2024, 2, 29), Child(age=1))
    assert got.children[0] is child
    assert got._private is model._private
    assert model.name == "bob"
    frozen = edited(Frozen(Name="a", child=child), lambda shown: shown | {"name": "b"})
    assert (type(frozen), frozen.name, frozen.child is child) == (Frozen, "b", True)


def test_fields_that_depend_on_each_other_are_edited_together() -> None:
    got = into(Span(first=1, last=5, note="a"), {"first": 10, "last": 20, "note": "b", "new": [1]})
    assert got == Span(first=10, last=20, note="b", new=[1])
    with pytest.raises(ProtocolError, match="first comes after last"):
        into(Span(first=1, last=5), {"first": 10, "last": 5})
    with pytest.raises(ProtocolError, match="first comes after last"):
        into(Span(first=1, last=5), {"first": 10, "last": 9})


def test_an_attrs_value_is_evolved() -> None:
    assert into(Attrs(1), {"given": 2, "_private": "q"}) == Attrs(2, "q")


def test_a_new_item_is_of_its_list_s_type() -> None:
    first, second = Pair(1, 2), Pair(3, 4)
    got = edited([first, second], lambda shown: [shown[1], {"left": 5, "right": 6}, shown[0]])
    assert got == [second, Pair(5, 6), first]
    assert (got[0] is second, got[2] is first) == (True, True)
    assert into({"a": Path("/a")}, {"a": "/a", "b": "/b"}) == {"a": Path("/a"), "b": Path("/b")}
    copied = edited([first], lambda shown: [*shown, *shown])
    assert copied == [first, first]
    assert copied[1] is not first, "what is added is a value of its own"
    counts = defaultdict(list, a=[1])
    assert edited(counts, lambda shown: shown | {"b": [2]})["new"] == []
    assert edited([{"a": 1}, first], lambda shown: [*shown, {"b": 1}])[2] == {"b": 1}


def test_what_redact_hides_is_kept() -> None:
    def redact(word: str, value: Any) -> Any:
        return {"user": value["user"], "pair": {"left": value["pair"]["left"]}}

    packer = PayloadEncoder(redact)
    packed = packer.encode_for_display(
        "tool_result", {"user": "bob", "password": "x", "pair": Pair(1, "y")}
    )
    got = EditReader(packer, packed).read(Raw(b'{"user":"eve","pair":{"left":2}}'))
    assert got == {"user": "eve", "password": "x", "pair": Pair(2, "y")}


REFUSED: list[tuple[str, Any, Any, str]] = [
    (
        "repr",
        {"a": FrameworkObject()},
        {"a": make_opaque_mark("<no thing>", 1)},
        "a is read-only, since its type, FrameworkObject",
    ),
    ("replaced", {"a": [FrameworkObject()]}, {"a": ["x"]}, r"a\[0\] is read-only"),
    ("no mark", {"a": 1}, {"a": make_opaque_mark("<a thing>", 1)}, "a is read-only"),
    (
        "no object",
        [Pair(1, 2)],
        ["x"],
        r"\[0\]: the value must stay an object with the fields of Pair",
    ),
    ("left out", Pair(1, 2), {"left": 1}, "right: Pair requires this field"),
    ("no field", Pair(1, 2), {"left": 1, "right": 2, "top": 3}, "top: Pair has no such field"),
    ("hidden", Order("a"), {"customer": "a", "lines": [], "total": 0, "key": "x"}, "key: Order"),
    ("validator", Order("a"), {"customer": "", "lines": [], "total": 0}, "an order has a customer"),
    ("computed", Order("a"), {"customer": "a", "lines": [], "total": 9}, "total"),
    ("attrs", Attrs(1), {"given": "x", "_private": "p"}, "must be <class 'int'>"),
    ("pydantic", Child(age=1), {"age": -1, "note": None}, "age: Input should be greater than or"),
    (
        "changed",
        Model(Name="a"),
        {"name": " b ", "when": None, "child": None, "children": []},
        'name: Model changes the value to "b"',
    ),
    ("date", [date(2024, 1, 1)], ["2024-02-30"], "day is out of range"),
    ("decimal", [Decimal(1)], ["one"], "InvalidOperation"),
    ("uuid", [UUID(int=1)], ["1"], "badly formed"),
    ("bytes", [b"a"], ["b'a' + b'c'"], "malformed"),
    ("text", [b"a"], ["'a'"], "must stay bytes"),
    ("no literal", [b"a"], ["(" * 10_000], "must stay bytes"),
    ("enum", [Colour.RED], ["green"], "'green' is not a valid Colour"),
    ("number", [Path("/a")], [1], "must stay a text"),
    ("twice", [{1, 2}], [[1, 1]], "holds each value once"),
    ("unhashable", [{1}], [[{}]], "unhashable"),
    ("no list", [{1}], [{}], "must stay a list"),
    ("which", [Path("/a"), Pair(1, 2), "x"], ["/b"], "can't be matched with the original"),
]


@pytest.mark.parametrize(
    ("value", "edit", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_a_type_does_not_take_is_refused(value: Any, edit: Any, said: str) -> None:
    with pytest.raises(ProtocolError, match=said) as caught:
        into(value, edit)
    assert caught.value.code == "invalid_edit"


def test_no_name_in_the_json_says_what_is_made() -> None:
    edit = {"$type": "subprocess.Popen", "__class__": "os.system", "args": ["true"]}
    assert into({"value": 1}, {"value": edit})["value"] == edit


# ---- every value --------------------------------------------------------------------------------------

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
scalars = plain | st.one_of(
    st.dates(),
    st.datetimes(),
    st.times(),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.binary(),
    st.sampled_from(Colour),
    st.text(alphabet="ab/").map(PurePosixPath),
    st.builds(FrameworkObject),
    st.frozensets(st.text() | st.integers()),
)
values = st.recursive(
    scalars,
    lambda inside: st.one_of(
        st.lists(inside),
        st.tuples(inside, inside),
        st.dictionaries(st.text(), inside),
        st.builds(Pair, inside, inside),
        st.builds(Point, inside, inside),
        st.builds(Order, st.text(min_size=1), st.lists(st.builds(Pair, inside, inside))),
    ),
    max_leaves=15,
)


@pytest.mark.slow
@given(values)
def test_an_edit_that_changes_nothing_gives_the_same_object(value: Any) -> None:
    assert edited(value, lambda shown: shown) is value


@given(values, values)
def test_an_edit_of_one_field_changes_that_field_alone(left: Any, right: Any) -> None:
    pair = Pair({"x": "before", "y": left}, right)

    def change(shown: Any) -> Any:
        shown["left"]["x"] = "after"
        return shown

    got = edited(pair, change)
    assert type(got) is Pair
    assert got.left["x"] == "after"
    assert got.left["y"] is left
    assert got.right is right


@given(scalars, scalars)
def test_an_edit_gives_the_type_that_stood_there_or_is_refused(before: Any, after: Any) -> None:
    """Only null, and what stands where JSON's own stood, is plain JSON."""
    packer = PayloadEncoder()
    wanted = json.loads(bytes(packer.encode_for_display("tool_result", [after]).raw))
    try:
        got = into(Pair([before], 1), {"left": wanted, "right": 1})
    except ProtocolError:
        return
    kind = type(got.left[0])
    assert (
        kind is type(before)
        or got.left == [None]
        or type(before) in (str, int, float, bool, type(None))
    )
    if type(after) is kind:
        assert json.loads(bytes(packer.encode_for_display("tool_result", got.left).raw)) == wanted
