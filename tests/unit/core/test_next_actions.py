"""What an agent does next by an answer: the same for answers that differ by ids alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.core.next_actions import find_next_action
from agentstepper_nb.core.summaries import MAX_READ_CHARS, MAX_SUMMARY_CHARS


def chat(id: str, content: str | None = None, *calls: tuple[str, str]) -> dict[str, Any]:
    """An answer of Chat Completions."""
    tool_calls = [
        {"id": f"{id}-{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content}
    if tool_calls:
        message["tool_calls"] = tool_calls
    return {"id": id, "object": "chat.completion", "choices": [{"message": message}]}


def messages(id: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    """An answer of Anthropic's API."""
    return {"id": id, "type": "message", "role": "assistant", "content": list(blocks)}


def tool_use(id: str, path: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "ls", "input": {"path": path}}


LS = '{"path": "src", "all": true}'
SAME = [
    (chat("1", "There are three."), chat("2", " There are three.\n")),
    (chat("1", None, ("ls", LS)), chat("2", "I look.", ("ls", '{"all":true,"path":"src"}'))),
    (messages("1", tool_use("a", "src")), messages("2", tool_use("b", "src"))),
    ("a plain text", "a plain text"),
    ({"answer": 1, "of": 2}, {"of": 2, "answer": 1}),
]
OTHER = [
    (chat("1", "There are three."), chat("1", "There are four.")),
    (chat("1", None, ("ls", LS)), chat("1", None, ("rm", LS))),
    (chat("1", None, ("ls", LS)), chat("1", None, ("ls", "{}"))),
    (chat("1", None, ("ls", LS)), chat("1", None, ("ls", LS), ("ls", LS))),
    (chat("1", None, ("ls", "no JSON")), chat("1", None, ("ls", "none either"))),
    (messages("1", tool_use("a", "src")), messages("1", tool_use("a", "lib"))),
    ({"answer": 1}, {"answer": 2}),
    (None, ""),
]


def key(answer: Any) -> str:
    return find_next_action(json.dumps(answer)).key


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_by_ids_is_the_same(one: Any, other: Any) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_action_is_another(one: Any, other: Any) -> None:
    assert key(one) != key(other)


def test_a_label_says_what_a_row_says() -> None:
    assert find_next_action(json.dumps(chat("1", None, ("ls", LS)))).label == (
        "Calls ls(path=src, all=true)"
    )
    assert find_next_action(json.dumps(chat("1", "Done."))).label == "Done."
    assert find_next_action("no JSON").label == "no JSON"


def test_huge_answers_are_the_same_action_if_they_are_the_same_text() -> None:
    huge = chat("1", "x" * MAX_READ_CHARS)
    assert key(huge) == key(huge)
    assert key(huge) != key({**huge, "id": "2"})
    assert len(find_next_action(json.dumps(huge)).label) <= MAX_SUMMARY_CHARS
