"""Which field is wrong, of a value that hasn't the form it should have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from agentstepper_nb.protocol.field_errors import find_field, make_field_error


class Inner(Struct, forbid_unknown_fields=True):
    n: int


class Outer(Struct):
    one: Inner
    many: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (7, None),
        ({}, "one"),
        ({"one": 7}, "one"),
        ({"one": {}}, "one.n"),
        ({"one": {"n": "x"}}, "one.n"),
        ({"one": {"n": 1, "m": 2}}, "one.m"),
        ({"one": {"n": 1}, "many": [{"n": 1}, {"n": None}]}, "many[1].n"),
        ({"one": {"n": 1}, "named": {"a": {"n": "`"}}}, "named[...].n"),
    ],
)
def test_the_field_is_named(value: Any, field: str | None) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(msgspec.json.encode(value), type=Outer)
    error = make_field_error(caught.value)
    assert (error.code, error.field) == ("invalid_message", field)
    assert error.message.startswith(f"{field}: " if field else "Expected")
    assert " - at " not in error.message
    under = make_field_error(caught.value, "payload")
    assert under.field == (f"payload.{field}" if field else "payload")


def test_what_names_no_field() -> None:
    assert find_field("unexpected end of data") is None
    assert make_field_error(RecursionError("too deep"), "payload").message == "payload: too deep."
