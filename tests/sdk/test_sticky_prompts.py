"""Sticky edits of prompts of every shape; `tests/instrument` has those of chats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.sdk.sticky_edits import StickyEdits

A, B, NEW = ({"role": "user", "content": each} for each in ("a", "b", "new"))


def make(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def apply_later(prompt: Any, edited: Any, later: Any) -> Any:
    """A later prompt after an edit of this one that a person made sticky; UNSET: as it was."""
    edits = StickyEdits()
    answer = ResumeAnswer(data=make(edited), sticky=True)
    assert edits.accept(answer, make(prompt), UNSET) is answer
    again = edits.apply(make(later), lambda _: None)
    return UNSET if again is UNSET else json.loads(bytes(again))


@pytest.mark.parametrize(
    ("prompt", "edited", "later", "expected"),
    [
        ([A, B], [A, NEW], [B, A], [NEW, A]),
        ([A], [], [A], []),
        ("hello", "good day", "hello", "good day"),
        # A member that is gone has no edit; the others have theirs.
        (
            {"system": "s", "messages": [A]},
            {"messages": [NEW]},
            {"system": "s", "messages": [A, B]},
            {"system": "s", "messages": [NEW, B]},
        ),
        # An edit of a member alone holds for members of that name.
        (
            {"system": "s", "prompt": "s"},
            {"system": "t", "prompt": "s"},
            {"system": "s", "prompt": "s"},
            {"system": "t", "prompt": "s"},
        ),
    ],
    ids=["list", "emptied list", "text", "member gone", "member alone"],
)
def test_an_edit_is_repeated_in_a_prompt_of_the_same_shape(
    prompt: Any, edited: Any, later: Any, expected: Any
) -> None:
    assert apply_later(prompt, edited, later) == expected


@pytest.mark.parametrize(
    ("prompt", "edited"),
    [(5, 6), (None, None), ("hello", [NEW]), ([A], {"messages": [NEW]})],
    ids=["number", "null", "text to list", "list to object"],
)
def test_an_edit_without_messages_to_compare_holds_once(prompt: Any, edited: Any) -> None:
    assert apply_later(prompt, edited, prompt) is UNSET
