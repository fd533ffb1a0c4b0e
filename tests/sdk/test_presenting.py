from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.sdk.presenting import Arguments, Presenter, restore


class Broken:
    def __repr__(self) -> str:
        raise ValueError


def circle() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


def test_nothing_fails_to_be_shown() -> None:
    shown = Presenter(None).show([Broken(), float("nan"), {1: 2}, circle(), b"x" * 20_000])
    broken, nan, keys, looped, long = shown.value
    assert broken == {"$repr": "<Broken whose repr fails>", "$ref": 1}
    assert nan["$repr"] == "nan"
    assert keys["$repr"] == "{1: 2}"
    assert "$ref" in repr(looped)
    assert long["$repr"].endswith("…")


def test_an_error_of_the_hook_s_own_is_raised_on() -> None:
    def broken(value: Any) -> Any:
        raise LookupError("a bug in the hook")

    with pytest.raises(LookupError):
        Presenter(broken).show(object())


def test_marks_stand_for_their_objects_wherever_they_are_moved() -> None:
    one, two = object(), object()
    shown = Presenter(None).show([one, {"x": two}])
    first, second = shown.value[0], shown.value[1]["x"]
    moved = restore({"a": [second], "b": first, "c": {"$repr": "?", "$ref": 9}}, shown.objects)
    assert moved == {"a": [two], "b": one, "c": {"$repr": "?", "$ref": 9}}


def test_what_is_too_long_becomes_a_mark() -> None:
    shown = Presenter(None).show({"short": 1, "long": "x" * 100}, limit=50)
    assert shown.value["short"] == 1
    assert shown.value["long"]["$ref"] == 1
    assert Presenter(None).show("x" * 100, limit=50).objects == ["x" * 100]


def test_a_function_without_a_signature() -> None:
    call = Arguments(max, (1, 2), {"key": None})
    assert call.named == {"args": (1, 2), "kwargs": {"key": None}}
    sent = {"args": [1, 2], "kwargs": {"key": None}}
    edited = call.edited({**sent, "args": [3]}, sent, [])
    assert (edited.args, edited.kwargs) == ((3,), {"key": None})
