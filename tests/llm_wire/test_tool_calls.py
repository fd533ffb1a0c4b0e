"""The tool calls in answers, and their results in requests, as servers and people write them."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.llm_wire.tool_calls import find_tool_calls, find_tool_results, remove_call


def test_a_call_is_removed_alone_where_calls_have_no_type() -> None:
    """As some servers of Chat Completions write them."""
    calls = [{"id": id, "function": {"name": id, "arguments": "{}"}} for id in ("add", "search")]
    choice = {"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": calls}}
    remove_call(find_tool_calls({"choices": [choice]}, {})[0], "no")
    assert [call.name for call in find_tool_calls({"choices": [choice]}, {})] == ["search"]
    assert choice["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"message": "hello"}]},
        {"choices": ["hello"]},
        {"candidates": [{"content": "hello"}]},
        {"output": {"message": "hello"}},
    ],
)
def test_an_answer_of_another_form_has_no_calls(answer: Any) -> None:
    assert find_tool_calls(answer, {}) == []


def test_a_part_of_a_gemini_request_with_a_null_for_a_call_is_none() -> None:
    part = {"text": "hello", "functionCall": None}
    assert find_tool_results({"contents": [{"role": "model", "parts": [part]}]}) == []
