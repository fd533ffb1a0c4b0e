"""Recorded answers in each API's form, and what they say whoever serves them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentstepper_nb.llm_wire import chat_completions, messages, responses
from agentstepper_nb.llm_wire.answer_stream import AnswerStream
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)
from agentstepper_nb.protocol.data_model import Usage

FOLDER: Final = Path(__file__).parent / "streams"

READERS: Final[dict[str, Callable[[], AnswerStream]]] = {
    "chat": chat_completions.ChatCompletionStream,
    "responses": responses.ResponsesStream,
    "messages": messages.MessagesStream,
}
APIS: Final = tuple(READERS)


def recorded(api: str, name: str) -> bytes:
    return (FOLDER / api / f"{name}.sse").read_bytes()


@dataclass
class ExpectedOutput:
    """What an answer comes to."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    """Of the calls that became ready: id without its prefix, name and arguments."""
    begun: int = 0
    traces: list[str] = field(default_factory=list)
    reason: str = ""
    usage: Usage | None = None


def add_call(
    sum_: ExpectedOutput,
    written: dict[str, str],
    event: ToolCallStarted | ToolCallArgsDelta | ToolCallReady,
) -> None:
    """Add what an event tells of a call to the sum.

    Args:
        sum_: The sum.
        written: The arguments of open calls so far, by the calls' ids.
        event: What is told.
    """
    match event:
        case ToolCallStarted(call_id=call_id):
            assert call_id not in written
            written[call_id] = ""
            sum_.begun += 1
        case ToolCallArgsDelta(call_id=call_id, fragment=fragment):
            assert fragment
            written[call_id] += fragment
        case ToolCallReady(call_id=call_id, name=name, args_json=args):
            assert args == (written.pop(call_id) or "{}")
            sum_.calls.append((call_id.partition("_")[2], name, args))


def collect_output(events: Iterable[AgentEvent]) -> ExpectedOutput:
    """Sum up; the order that every stream keeps is checked on the way."""
    sum_, written = ExpectedOutput(), dict[str, str]()
    for event in events:
        assert not sum_.reason, "something came after the end"
        match event:
            case TextDelta(text=text):
                assert text
                sum_.text += text
            case ToolCallStarted() | ToolCallArgsDelta() | ToolCallReady():
                add_call(sum_, written, event)
            case TraceEvent(kind="reasoning", data=text):
                sum_.reasoning += text
            case TraceEvent(kind=kind):
                sum_.traces.append(kind)
            case ResponseCompleted(reason=reason, usage=usage):
                sum_.reason, sum_.usage = reason, usage
    return sum_


def usage_of(read: int, written: int) -> Usage:
    return Usage(input_tokens=read, output_tokens=written)


#: What each recording says.
EXPECTED: Final = {
    "text": ExpectedOutput(text="Grüße 🙂\nAll is well.", reason="stop", usage=usage_of(12, 7)),
    "calls": ExpectedOutput(
        text="I look at both.",
        calls=[
            ("a1", "read_file", '{"path": "src/größe.py", "lines": [1, 20]}'),
            ("b2", "search", '{"pattern": "def \\"main\\"", "note": "🙂"}'),
        ],
        begun=2,
        reason="tool_calls",
        usage=usage_of(50, 31),
    ),
    "reasoning": ExpectedOutput(
        text="Done.",
        reasoning="First, the tests. Then the fix.",
        reason="stop",
        usage=usage_of(20, 9),
    ),
    "refusal": ExpectedOutput(text="I can't help with that.", reason="stop", usage=usage_of(15, 6)),
    "length": ExpectedOutput(text="I write it.", begun=1, reason="length", usage=usage_of(30, 16)),
    "no_arguments": ExpectedOutput(
        calls=[("d4", "list_files", "{}")], begun=1, reason="tool_calls", usage=usage_of(11, 3)
    ),
    "failure": ExpectedOutput(text="Half an answ", traces=["error"], reason="error"),
    "surprises": ExpectedOutput(
        text="So far, so good.",
        traces=["parse_error", "parse_error", "unknown", "parse_error"],
        reason="stop",
        usage=usage_of(8, 5),
    ),
}
NAMES: Final = tuple(EXPECTED)


def expected(api: str, name: str) -> ExpectedOutput:
    """What a recording says; Anthropic alone tells a refusal by its reason."""
    collect_output = EXPECTED[name]
    if (api, name) == ("messages", "refusal"):
        return ExpectedOutput(
            text=collect_output.text, reason="content_filter", usage=collect_output.usage
        )
    return collect_output
