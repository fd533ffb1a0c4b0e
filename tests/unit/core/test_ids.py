"""Ids in eight bytes each."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.core.run_state import CompactIdSet


@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_it_is_a_set(some: list[str], others: list[str]) -> None:
    ids = CompactIdSet(some)
    assert [id in ids for id in (*some, *others)] == [id in set(some) for id in (*some, *others)]
    assert len(ids) == len(set(some))
    assert (ids == CompactIdSet(others)) == (set(some) == set(others))
    assert ids != set(some)


def test_a_long_run_s_take_a_megabyte() -> None:
    ids = CompactIdSet(f"0196f5c4-0000-7000-8000-{number:012}" for number in range(20_000))
    assert len(ids) == 20_000
    size = sum(sys.getsizeof(part) for part in ids._parts.values())
    assert size < 20_000 * 12
    assert repr(ids) == "<20000 ids>"
