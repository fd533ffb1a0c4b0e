"""What `agentstepper code` shows, as lines."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from agentstepper_nb.cli.code_conversation import EventPrinter
from agentstepper_nb.cli.code_view import (
    CodeView,
    format_call,
    format_proposal,
    format_raw_call,
    format_result,
    format_turn_end,
)
from agentstepper_nb.cli.screen import Screen
from agentstepper_nb.coding.orchestrator import TurnResult
from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from agentstepper_nb.protocol.data_model import Usage


def shown(*events: Any, asks: bool = True) -> str:
    out = io.StringIO()
    view = CodeView(Screen(out, is_coloured=False, terminal=False), can_approve=asks)
    for event in events:
        view.show_event(event)
    return out.getvalue()


def test_text_flows_and_lines_begin_anew() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    result = ToolResult.success({"path": "x", "diff": diff})
    assert shown(
        TextDelta("I ed"),
        TextDelta("it.\x1b[2J\r"),
        TextDelta("\n"),
        TextDelta("Now."),
        ToolCallReady("1", "edit_file", '{"path": "x", "new": "a\\nb"}'),
        ToolResultEvent("1", result),
        ResponseCompleted("stop"),
    ) == (
        "I edit.\\x1b[2J\nNow.\n"
        '→ edit_file(path=x, new="a\\nb")\n'
        "  ✓\n  --- a/x\n  +++ b/x\n  @@ -1 +1 @@\n  -a\n  +b\n"
    )


def test_traces_that_a_person_should_see() -> None:
    edit = {"what": "call", "name": "t", "args": {"a": 1}}
    assert shown(
        TraceEvent("error", {"message": "No key."}),
        TraceEvent("warning", {"message": "Line 3."}),
        TraceEvent("approval_required", {"why": "It deletes."}),
        TraceEvent("approval", {"decision": "denied", "reason": "no"}),
        TraceEvent("edited", edit),
        *(TraceEvent("edited", {"what": what}) for what in ("prompt", "answer", "result")),
        TraceEvent("unknown", {"message": "?"}),
        TraceEvent("parse_error", "x"),
        asks=False,
    ).splitlines() == [
        "Error: No key.",
        "Note: Line 3.",
        "Asks for approval: It deletes.",
        "  denied: no",
        "  edited: t(a=1)",
        "  The prompt was edited in the debugger.",
        "  The answer was edited in the debugger.",
        "  The result was edited in the debugger.",
    ]


def test_long_things_are_cut() -> None:
    output = "\n".join(f"line {n}" for n in range(20))
    failed = ToolResult(ok=False, error="Exit code 1.", data={"output": output})
    lines = [text for text, _ in format_result(failed)]
    assert lines[:2] == ["  ✗ Exit code 1.", "  … 12 lines before"]
    assert lines[-1] == "  line 19"
    diff = "\n".join(["+x"] * 100)
    assert len(list(format_result(ToolResult.success({"diff": diff})))) == 62
    assert len(format_call("t", {"a": "x" * 1000})) == 160
    assert format_raw_call("t", '{"half') == 't({"half)'
    assert format_raw_call("t", json.dumps([1])) == "t([1])"


def test_how_it_ended() -> None:
    usage = Usage(input_tokens=1200, output_tokens=30)
    result = TurnResult(reason="done", messages=(), usage=usage, iterations=2)
    assert format_turn_end(result) == "Done · 2 queries · 1,200 → 30 tokens"


def test_once_the_reader_has_gone_the_work_ends() -> None:
    shown: list[AgentEvent] = []

    def show(event: AgentEvent) -> None:
        shown.append(event)
        raise BrokenPipeError

    async def work() -> None:
        reader = EventPrinter(show)
        with reader.cancel_on_closed_output():
            reader.show_event(TextDelta("a"))
            reader.show_event(TextDelta("b"))
            await asyncio.Event().wait()

    with pytest.raises(BrokenPipeError):
        asyncio.run(work())
    assert shown == [TextDelta("a")]


@pytest.mark.parametrize(
    ("tool", "args", "lines"),
    [
        (
            "apply_patch",
            {"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"},
            ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b"],
        ),
        (
            "edit_file",
            {"path": "x", "old": "a\nb", "new": "a\nc"},
            ["--- a/x", "+++ b/x", " a", "-b", "+c"],
        ),
        (
            "write_file",
            {"path": "x", "content": "a\n"},
            ["--- /dev/null", "+++ b/x", "@@ -0,0 +1 @@", "+a"],
        ),
        ("write_file", {"path": "x"}, []),
        ("apply_patch", "no object", []),
        ("run_command", {"command": "ls"}, []),
    ],
)
def test_what_is_asked_about_is_shown_as_a_diff(tool: str, args: Any, lines: list[str]) -> None:
    assert [line.removeprefix("  ") for line, _ in format_proposal(tool, args)] == lines
