"""What was said in a session that is resumed."""

from __future__ import annotations

from agentstepper_nb.cli.code_view import MAX_PAST_MESSAGES, format_past_messages
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)


def test_each_kind_of_message() -> None:
    call = ToolCall(call_id="1", name="list_files", args_json='{"path": "src"}')
    messages: list[ChatMessage] = [
        UserMessage(content="Look.\nWell."),
        AssistantMessage(content="I look.", tool_calls=(call,)),
        ToolResultMessage(call_id="1", content='{"ok": false}', ok=False),
        AssistantMessage(content="Not\x1b[2Jthere."),
    ]
    assert list(format_past_messages(messages)) == [
        ("> Look.", "bold"),
        ("> Well.", "bold"),
        ("I look.", ""),
        ("→ list_files(path=src)", "cyan"),
        ('  ✗ {"ok": false}', "red"),
        ("Not\\x1b[2Jthere.", ""),
    ]


def test_only_the_newest_are_shown_and_only_the_beginning_of_long_ones() -> None:
    many: list[ChatMessage] = [
        UserMessage(content=str(number)) for number in range(MAX_PAST_MESSAGES + 40)
    ]
    first, second, *_, last = format_past_messages(many)
    assert first == ("… 40 earlier messages", "dim")
    assert (second[0], last[0]) == ("> 40", f"> {MAX_PAST_MESSAGES + 39}")
    assert next(format_past_messages(many[: MAX_PAST_MESSAGES + 1])) == (
        "… 1 earlier message",
        "dim",
    )
    (*shown, cut) = format_past_messages([AssistantMessage(content="line\n" * 50)])
    assert (len(shown), cut) == (20, ("… 30 more lines", "dim"))
    assert list(format_past_messages([])) == []
