"""What a session does, as it is shown in a terminal."""

from __future__ import annotations

from typing import Any

from ..coding.tool import ToolResult
from ..llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from .code_lines import call_line, result_lines, written_call_line
from .code_screen import FlowScreen


class CodeView:
    """Shows events as they happen.

    Args:
        screen: Where.
        asks: Whether somebody in this terminal is asked for approvals.
    """

    def __init__(self, screen: FlowScreen, *, asks: bool) -> None:
        self._screen = screen
        self._asks = asks

    def hear(self, event: AgentEvent) -> None:
        """Show an event."""
        match event:
            case TextDelta(text):
                self._screen.flow(text)
            case ToolCallReady(name=name, args_json=args_json):
                self._screen.say(f"→ {written_call_line(name, args_json)}", "cyan")
            case ToolResultEvent(result=ToolResult() as result):
                for line, style in result_lines(result):
                    self._screen.say(line, style)
            case ResponseCompleted():
                self._screen.end_flow()
            case TraceEvent(kind=kind, data=dict(data)):
                self._trace(kind, data)

    def _trace(self, kind: str, data: dict[str, Any]) -> None:
        say = self._screen.say
        match kind:
            case "error":
                say(f"Error: {data.get('message')}", "red")
            case "warning":
                say(f"Note: {data.get('message')}", "yellow")
            case "approval_required" if not self._asks:
                say(f"Asks for approval: {data.get('why')}", "yellow")
            case "approval" if data.get("decision") == "denied":
                say(f"  denied: {data.get('reason')}", "yellow")
            case "approval":
                say("  approved", "green")
            case "edited":
                say(_edited(data), "yellow")


def _edited(data: dict[str, Any]) -> str:
    match data.get("what"):
        case "call":
            return f"  edited: {call_line(str(data.get('name')), data.get('args'))}"
        case "answer":
            return "  The answer was edited in the debugger."
        case "prompt":
            return "  The prompt was edited in the debugger."
    return "  The result was edited in the debugger."
