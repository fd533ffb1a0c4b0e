"""Formats the events of a coding session as lines of a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..coding.orchestrator import TurnResult
from ..coding.session_list import StoredCodingSession
from ..coding.tool import ToolResult
from ..coding.tools.diffs import make_unified_diff
from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolResultMessage, UserMessage
from ..llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from .run_formatting import format_run_usage
from .screen import Screen
from .terminal_text import escape_controls


class CodeView:
    """Shows events as they happen.

    Args:
        screen: The screen.
        can_approve: Whether a person at this terminal is asked for approvals.
    """

    def __init__(self, screen: Screen, *, can_approve: bool) -> None:
        self._screen = screen
        self._can_approve = can_approve

    def show_event(self, event: AgentEvent) -> None:
        """Show an event."""
        match event:
            case TextDelta(text):
                self._screen.write_fragment(text)
            case ToolCallReady(name=name, args_json=args_json):
                self._screen.write_line(f"→ {format_raw_call(name, args_json)}", "cyan")
            case ToolResultEvent(result=ToolResult() as result):
                for line, style in format_result(result):
                    self._screen.write_line(line, style)
            case ResponseCompleted():
                self._screen.end_line()
            case TraceEvent(kind=kind, data=dict(data)):
                self._trace(kind, data)

    def _trace(self, kind: str, data: dict[str, Any]) -> None:
        write_line = self._screen.write_line
        match kind:
            case "error":
                write_line(f"Error: {data.get('message')}", "red")
            case "warning":
                write_line(f"Note: {data.get('message')}", "yellow")
            case "approval_required" if not self._can_approve:
                write_line(f"Asks for approval: {data.get('why')}", "yellow")
            case "approval" if data.get("decision") == "denied":
                write_line(f"  denied: {data.get('reason')}", "yellow")
            case "approval":
                write_line("  approved", "green")
            case "edited":
                write_line(_edited(data), "yellow")


def _edited(data: dict[str, Any]) -> str:
    match data.get("what"):
        case "call":
            return f"  edited: {format_call(str(data.get('name')), data.get('args'))}"
        case "answer":
            return "  The answer was edited in the debugger."
        case "prompt":
            return "  The prompt was edited in the debugger."
    return "  The result was edited in the debugger."


#: Messages that are shown, and lines of each text.
MAX_PAST_MESSAGES: Final = 20
_MAX_MESSAGE_LINES: Final = 20


def format_past_messages(messages: Sequence[ChatMessage]) -> Iterator[Line]:
    """Format the newest messages of a conversation, after the number of earlier ones.

    Args:
        messages: The conversation.
    """
    earlier = max(0, len(messages) - MAX_PAST_MESSAGES)
    if earlier:
        yield f"… {earlier} earlier {'message' if earlier == 1 else 'messages'}", "dim"
    for message in messages[earlier:]:
        yield from _lines(message)


def _lines(message: ChatMessage) -> Iterator[Line]:
    match message:
        case UserMessage(content=content):
            yield from _text(content, "> ", "bold")
        case AssistantMessage(content=content, tool_calls=calls):
            yield from _text(content, "", "")
            for call in calls:
                yield escape_controls(f"→ {format_raw_call(call.name, call.args_json)}"), "cyan"
        case ToolResultMessage(content=content, ok=ok):
            yield (
                escape_controls(f"  {'✓' if ok else '✗'} {to_short_line(content)}"),
                "dim" if ok else "red",
            )


def _text(text: str, begin: str, style: str) -> Iterator[Line]:
    lines = text.splitlines()
    for line in lines[:_MAX_MESSAGE_LINES]:
        yield escape_controls(f"{begin}{line}"), style
    if len(lines) > _MAX_MESSAGE_LINES:
        yield f"… {len(lines) - _MAX_MESSAGE_LINES} more lines", "dim"


#: Characters of a call or an error in a line.
MAX_LINE_CHARS: Final = 160
#: Lines of a diff, and of a command's output, that are shown.
MAX_DIFF_LINES: Final = 60
MAX_OUTPUT_LINES: Final = 8
_MAX_PROMPT_CHARS: Final = 60

Line = tuple[str, str]  # a text and its style
_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_END_TEXTS: Final = {
    "done": "Done",
    "max_iterations": "Stopped at the limit of iterations; write “go on” to continue",
    "cancelled": "Cancelled",
    "error": "Failed",
}


def format_call(name: str, args: Any) -> str:
    """A call as one line: its tool, and its arguments as far as they fit."""
    if isinstance(args, dict):
        shown = ", ".join(f"{key}={_short(value)}" for key, value in args.items())
    else:
        shown = _short(args)
    return to_short_line(f"{name}({shown})")


def format_raw_call(name: str, args_json: str) -> str:
    """`format_call` of arguments as a model wrote them."""
    try:
        return format_call(name, json.loads(args_json or "{}"))
    except (ValueError, RecursionError):
        return to_short_line(f"{name}({args_json})")


def format_result(result: ToolResult) -> Iterator[Line]:
    """Format a call's result: whether it succeeded, and its diff or the end of its output."""
    if result.ok:
        yield "  ✓", "green"
    else:
        yield f"  ✗ {to_short_line(result.error or 'The answer failed.')}", "red"
    if isinstance(result.data, dict):
        diff, output = result.data.get("diff"), result.data.get("output")
        if isinstance(diff, str):
            yield from _diff(diff)
        if isinstance(output, str):
            yield from _output(output)


def format_proposal(name: str, args: Any) -> Iterator[Line]:
    """Format a proposed change as a diff; nothing for other tools, or for invalid arguments."""
    match name, args:
        case "apply_patch", {"patch": str() as patch}:
            yield from _diff(patch)
        case "edit_file", {"path": str() as path, "old": str() as old, "new": str() as new}:
            # Where they stand in the file, and whether at its end, isn't known here.
            lines = make_unified_diff(path, old, new).splitlines()
            known = (line for line in lines if not line.startswith(("@@ ", "\\")))
            yield from _diff("\n".join(known))
        case "write_file", {"path": str() as path, "content": str() as content}:
            yield from _diff(make_unified_diff(path, None, content))


def format_turn_end(result: TurnResult) -> str:
    """Format how a prompt was answered, and its usage."""
    queries = "1 query" if result.iterations == 1 else f"{result.iterations} queries"
    figures = [_END_TEXTS[result.reason], queries, format_run_usage(result.usage)]
    return " · ".join(figure for figure in figures if figure)


def format_session(stored: StoredCodingSession) -> str:
    """Format a session as one line: the time of its last use, its id, whether it is open or can't be
    resumed, its first prompt, its workspace, and its model.
    """
    session = stored.summary
    when = session.updated_at[:16].replace("T", " ")
    prompt = _one_line(session.first_prompt)
    prompt = prompt if len(prompt) <= _MAX_PROMPT_CHARS else f"{prompt[: _MAX_PROMPT_CHARS - 1]}…"
    model = f"{session.provider} {session.model}"
    state = "open" if stored.is_open else "kept"
    problem = f"  {stored.problem}" if stored.problem and not stored.is_open else ""
    return f"{when}  {session.id}  {state}  {prompt}  ({session.workspace}, {model}){problem}"


def to_short_line(text: str) -> str:
    """A text as one line that isn't too long."""
    text = _one_line(text)
    return text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _short(value: Any) -> str:
    if isinstance(value, str):
        return (
            to_short_line(value)
            if value == _one_line(value)
            else json.dumps(value, ensure_ascii=False)
        )
    return json.dumps(value, ensure_ascii=False)


def _diff(diff: str) -> Iterator[Line]:
    lines = diff.splitlines()
    for line in lines[:MAX_DIFF_LINES]:
        yield f"  {line}", _DIFF_STYLES.get(line[:1], "")
    if len(lines) > MAX_DIFF_LINES:
        yield f"  … {len(lines) - MAX_DIFF_LINES} more lines", "dim"


def _output(output: str) -> Iterator[Line]:
    lines = output.rstrip().splitlines()
    if len(lines) > MAX_OUTPUT_LINES:
        yield f"  … {len(lines) - MAX_OUTPUT_LINES} lines before", "dim"
    for line in lines[-MAX_OUTPUT_LINES:]:
        yield f"  {line[:MAX_LINE_CHARS]}", "dim"
