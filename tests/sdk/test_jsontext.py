from __future__ import annotations

import json
import sys
from datetime import datetime
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb import NotJSONError
from agentstepper_nb.sdk.json_text import MAX_DEPTH, JsonDumper, is_same_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_a_value_comes_back_equal_and_of_equal_types(value: Any) -> None:
    assert repr(json.loads(JsonDumper().dump(value))) == repr(value)


def test_what_others_lose_is_kept() -> None:
    big = 10**400
    text = JsonDumper().dump({"z": 1.0, "a": big, "": "é"})
    assert text == f'{{"z":1.0,"a":{big},"":"é"}}'
    assert list(json.loads(text)) == ["z", "a", ""]


class Point(NamedTuple):
    x: int
    y: int


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


def test_what_json_takes_by_its_base_is_taken() -> None:
    assert JsonDumper().dump([Point(1, 2), Level.HIGH, Word.YES]) == '[[1,2],3,"yes"]'


def _circle() -> Any:
    inside: dict[str, Any] = {}
    inside["again"] = [inside]
    return {"a": inside}


def _tower(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


DEEP = ("$" + "[0]" * 33) + "…" + ("0]" + "[0]" * 33)[-100:]

REFUSED: dict[str, tuple[Any, str, str]] = {
    "set": ({"a": [0, 1, {"b": {1, 2}}]}, "$.a[2].b", "of the type set"),
    "bytes": (b"bytes", "$", "of the type bytes"),
    "nan": ({"x y": [float("nan")]}, '$["x y"][0]', "NaN"),
    "infinity": ([float("-inf")], "$[0]", "Infinity"),
    "number as key": ({"a": {1: "x"}}, "$.a", "an object with the key 1 (int)"),
    "none as key": ({"a": {None: "x"}}, "$.a", "an object with the key None (NoneType)"),
    "object": ((1, datetime.min), "$[1]", "of the type datetime.datetime"),
    "circle": (_circle(), "$.a.again[0]", "a value that contains itself"),
    "deep": (_tower(MAX_DEPTH + 1), DEEP, "nested more than 500 levels deep"),
    "very deep": (_tower(100_000), DEEP, "nested more than 500 levels deep"),
    "digits": ([10**5000], "$[0]", "an integer of more than 4300 digits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_json_cannot_carry_is_named(name: str) -> None:
    value, path, reason = REFUSED[name]
    assert sys.get_int_max_str_digits() == 4300
    with pytest.raises(NotJSONError) as caught:
        JsonDumper().dump(value)
    assert (caught.value.path, caught.value.reason) == (path, reason)
    assert isinstance(caught.value, TypeError)
    assert "to_json=" in str(caught.value)


def test_the_same_object_twice_is_no_circle() -> None:
    shared = {"x": 1}
    assert JsonDumper().dump([shared, shared]) == '[{"x":1},{"x":1}]'


def test_the_deepest_that_is_taken() -> None:
    assert json.loads(JsonDumper().dump(_tower(MAX_DEPTH))) == _tower(MAX_DEPTH)


# ---- to_json ----------------------------------------------------------------------------------------


def to_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, complex):
        return {"parts": [value.real, {1: value.imag}]}
    raise TypeError


def test_the_hook_converts_at_any_place() -> None:
    assert JsonDumper(to_json).dump({"a": [Path("x"), {Path("y")}]}) == '{"a":["x",["y"]]}'


def test_what_the_hook_refuses_or_bends_is_named() -> None:
    with pytest.raises(NotJSONError) as caught:
        JsonDumper(to_json).dump({"a": b""})
    assert caught.value.path == "$.a"
    with pytest.raises(NotJSONError) as caught:
        JsonDumper(to_json).dump([1j])
    assert caught.value.path == "$[0].parts[1]"


def test_an_error_of_the_hook_s_own_is_raised_on() -> None:
    def broken(value: Any) -> Any:
        raise ValueError("a bug in the hook")

    with pytest.raises(ValueError, match="a bug in the hook"):
        JsonDumper(broken).dump(object())


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [(1, 1.0, False), (1, True, False), (0, False, False), ([1], [1], True), ({}, {}, True)],
)
def test_same(one: Any, other: Any, alike: bool) -> None:
    assert is_same_json(one, other) is alike
    assert is_same_json(json.loads(json.dumps(one)), one)


@pytest.mark.slow
@given(VALUES)
def test_what_is_written_quickly_is_written_alike(value: Any) -> None:
    """Letter by letter as the standard library writes it."""
    slowly = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert JsonDumper().dump(value) == slowly


@pytest.mark.parametrize(
    "value",
    [0.0, -0.0, 1e-4, 9.9e-5, 1e15, 1e16, -1e22, 0.1, 123456.789, 5e-324, 2**64, -(2**70)],
    ids=repr,
)
def test_numbers_at_the_edges_are_written_alike(value: float) -> None:
    assert JsonDumper().dump([value]) == json.dumps([value])


def test_a_lone_surrogate_is_kept() -> None:
    assert JsonDumper().dump(["\ud800"]) == '["\ud800"]'


def test_a_circle_that_grows_is_refused() -> None:
    """Each of its levels has twice as many places."""
    circle: list[Any] = []
    circle += [circle, circle]
    with pytest.raises(NotJSONError, match="contains itself"):
        JsonDumper().dump(circle)
