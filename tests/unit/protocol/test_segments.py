"""Contents in pieces: joined they are as they were, and what two have in common in front is the same."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.protocol.segments import MIN_PART_BYTES, MIN_SPLIT_BYTES, split_content

MESSAGES = [{"role": "user", "content": f"message {number} " * number} for number in range(4, 30)]


def prompt(count: int, **more: Any) -> bytes:
    tools = [{"name": "ls", "doc": "d" * 300}, {"name": "cat", "doc": "e" * 400}]
    body = {"model": "m", "tools": tools, "messages": MESSAGES[:count], "temperature": 1.0, **more}
    return json.dumps(body).encode()


def test_a_prompt_that_grew_has_only_what_is_new() -> None:
    before, after = split_content(prompt(10)), split_content(prompt(12))
    new = [piece for piece in after if piece not in before]
    assert [json.loads(piece.strip(b", ")) for piece in new] == MESSAGES[10:12]
    assert after[: len(before) - 1] == before[:-1]


def test_a_list_that_grew() -> None:
    before, after = (split_content(json.dumps(MESSAGES[:count]).encode()) for count in (20, 21))
    assert len(set(after) - set(before)) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[" * 5000,
        b'{"a": ' * 5000,
        b"\xff" * 1000,
        json.dumps("x" * 5000).encode(),
        json.dumps({"a": "b" * 5000}).encode(),
        b'{"a": [NaN, ' + b"1, " * 500 + b"2]}",
    ],
)
def test_what_has_no_long_array_is_one_piece(data: bytes) -> None:
    assert b"".join(split_content(data)) == data
    assert len(split_content(data)) <= 1


def test_short_contents_are_one_piece() -> None:
    data = json.dumps(MESSAGES[:2]).encode()
    assert len(data) <= MIN_SPLIT_BYTES
    assert split_content(data) == [data]


def test_short_items_stand_together() -> None:
    data = json.dumps([f"{number:020}" for number in range(1000)]).encode()
    first, *between, _, last = split_content(data)
    assert (first, last) == (b"[", b"]")
    assert all(
        MIN_PART_BYTES <= len(piece) < MIN_PART_BYTES + 24 + len(data) // 1024 for piece in between
    )


def test_a_list_of_numbers_is_one_piece() -> None:
    data = json.dumps(list(range(10_000))).encode()
    assert split_content(data) == [data]


def test_a_text_that_looks_like_the_array() -> None:
    array = "[" + ", ".join(["12345"] * 200) + "]"
    data = f'{{"a": "{array}", "b": {array}}}'.encode()
    assert b"".join(split_content(data)) == data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=40)
@given(JSON, st.integers(0, 3), st.booleans())
def test_joined_they_are_as_they_were(value: Any, indent: int, wrapped: bool) -> None:
    value = [value] * 30
    value = {"x": 1, "m": value, "y": value} if wrapped else value
    data = json.dumps(value, indent=indent or None, ensure_ascii=False).encode()
    assert b"".join(split_content(data)) == data


def test_any_bytes_at_all() -> None:
    chance = random.Random(1)
    whole = bytearray(prompt(20))
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(3):
            data[chance.randrange(len(data))] = chance.randrange(256)
        assert b"".join(split_content(bytes(data))) == bytes(data)
    assert msgspec.json.decode(whole)
