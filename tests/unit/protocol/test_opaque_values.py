"""What may become of a mark in an edit."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.protocol.opaque_values import find_edited_opaque_value, is_opaque_value


def mark(number: int = 1, text: str = "<a thing>") -> dict[str, Any]:
    return {"$repr": text, "$ref": number, "$why": "its type, Thing, has no fields"}


ONE, TWO = mark(1), mark(2)

TAKEN: dict[str, tuple[Any, Any]] = {
    "left": ({"a": ONE, "b": 1}, {"a": ONE, "b": 2}),
    "its keys in another order": ([ONE], [dict(reversed(ONE.items()))]),
    "moved": ({"a": ONE, "b": 1}, {"b": [ONE]}),
    "exchanged": ([ONE, 5, TWO], [TWO, 5, ONE]),
    "put inside": (ONE, {"was": ONE}),
    "copied": ([ONE], [ONE, ONE]),
    "removed": ([ONE, TWO], [TWO]),
    "removed by name": ({"a": ONE, "b": 1}, {"b": 1}),
    "gone with what it stood in": ({"a": {"b": ONE}}, {"a": "new"}),
    "no mark": ({"a": {"$repr": 1}}, {"a": {"$repr": 2}}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_mark_may_be(name: str) -> None:
    assert find_edited_opaque_value(*TAKEN[name]) is None


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "its text": ({"a": ONE}, {"a": mark(text="<b>")}, "a"),
    "its number": ([ONE], [mark(2)], "[0]"),
    "its reason": ([ONE], [ONE | {"$why": "x"}], "[0]"),
    "its place": ({"a b": [ONE]}, {"a b": ["x"]}, '["a b"][0]'),
    "its place, for null": ({"x": {"a": ONE}}, {"x": {"a": None}}, "x.a"),
    "the whole": (ONE, "x", "The value"),
    "a part, for another": ([ONE, TWO], [ONE, "x"], "[1]"),
    "nothing, for one that is made up": ({"a": 1}, {"a": ONE}, "a"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_edit_may_not_change_of_a_mark(name: str) -> None:
    sent, edit, place = REFUSED[name]
    refusal = find_edited_opaque_value(sent, edit)
    assert refusal is not None
    assert refusal.startswith(f"{place} is read-only, since ")


def test_the_reason_is_the_mark_s_own() -> None:
    assert find_edited_opaque_value([ONE], [1]) == (
        "[0] is read-only, since its type, Thing, has no fields. Restore its original value."
    )
    older = {"$repr": "<a thing>", "$ref": 1}
    assert is_opaque_value(older)
    assert find_edited_opaque_value([older], [1]) == (
        "[0] is read-only, since JSON can't carry it. Restore its original value."
    )
