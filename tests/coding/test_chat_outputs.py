"""What a session does as the pieces of a chat's answer, where a person or a model does odd things."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.coding.chat_outputs import MAX_VALUE_CHARS, ChatOutputWriter, limit_value
from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.llm_wire.events import (
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from agentstepper_nb.protocol.chat import AgentOutput


class RecordingOutputs(ChatOutputWriter):
    """Pieces, with what was said; a replaced text as a plain one.

    Attributes:
        said: What was said.
    """

    def __init__(self) -> None:
        super().__init__(self)
        self.outputs: list[AgentOutput | str] = []

    def send(self, piece: AgentOutput) -> None:
        self.outputs.append(piece)

    def replace_text(self, text: str) -> None:
        self.outputs.append(text)

    def text(self, text: str) -> None:
        self.on_event(TextDelta(text))
        self.on_event(ResponseCompleted("stop"))

    def calls(self, name: str, args_json: str = "{}", id: str = "1") -> None:
        self.on_event(ToolCallReady(id, name, args_json))

    def result(self, data: Any = None, *, id: str = "1", **given: Any) -> None:
        self.on_event(ToolResultEvent(id, ToolResult(**{"ok": True, "data": data} | given)))

    def edited(self, **data: Any) -> None:
        self.on_event(TraceEvent("edited", data))

    def answered(self, content: str | None) -> None:
        self.edited(what="answer", message={"role": "assistant", "content": content})

    @property
    def last(self) -> AgentOutput:
        assert isinstance(self.outputs[-1], AgentOutput)
        return self.outputs[-1]


@pytest.fixture
def recording() -> RecordingOutputs:
    return RecordingOutputs()


# ---- text --------------------------------------------------------------------------------------------


def test_an_answer_that_a_person_gives_unasked_is_just_said(recording: RecordingOutputs) -> None:
    recording.text("One.")
    recording.on_event(TextDelta("Two, "))  # and an edit of an answer that isn't complete can't be
    recording.on_event(TextDelta("all of it."))
    recording.on_event(ResponseCompleted("stop"))
    recording.answered("Mine.")
    recording.answered("Mine.")
    assert recording.outputs[-1] == "Mine."
    assert len(recording.outputs) == 4


def test_a_text_that_a_person_adds_to_calls_alone(recording: RecordingOutputs) -> None:
    recording.on_event(ResponseCompleted("tool_calls"))
    recording.answered("Look.")
    assert recording.outputs == [AgentOutput(content="Look.")]


def test_a_text_that_a_person_takes_away(recording: RecordingOutputs) -> None:
    recording.text("Rude.")
    recording.answered(None)
    assert recording.outputs == [AgentOutput(content="Rude."), ""]


def test_a_conversation_that_is_edited_in_a_question_says_nothing(
    recording: RecordingOutputs,
) -> None:
    recording.edited(kept=1, messages=[])
    recording.on_event(TraceEvent("reasoning", {"text": "Hm."}))
    recording.on_event(
        TraceEvent("error", {"kind": "refused", "message": "No."})
    )  # the result tells
    assert recording.outputs == []


def test_what_is_wrong_with_the_log_is_a_note(recording: RecordingOutputs) -> None:
    recording.on_event(TraceEvent("error", {"kind": "log", "message": "The disk is full."}))
    recording.on_event(TraceEvent("warning", {"message": "A rule can't be kept."}))
    assert [
        (each.role, each.content) for each in recording.outputs if isinstance(each, AgentOutput)
    ] == [
        ("system", "The disk is full."),
        ("system", "A rule can't be kept."),
    ]


# ---- calls -------------------------------------------------------------------------------------------


def test_a_call_whose_result_a_person_gives_is_said_with_it(recording: RecordingOutputs) -> None:
    recording.calls("run_command", '{"command": "rm -rf /"}')
    recording.edited(what="result", call_id="1", result={"ok": True, "data": "done"})
    recording.result("done")
    called, returned = recording.outputs
    assert isinstance(called, AgentOutput) and isinstance(returned, AgentOutput)
    assert (called.type, called.name, called.arguments) == (
        "FUNCTION",
        "run_command",
        {"command": "rm -rf /"},
    )
    assert (returned.call_id, returned.result, returned.ok) == ("1", "done", True)


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        ({"exit_code": 0, "output": "one\ntwo\n"}, None, "one\ntwo"),
        ("as a person wrote it", None, "as a person wrote it"),
        ([1, 2], None, "[1,2]"),
        (None, "It was ended.", "It was ended."),
        ({"output": "half"}, "It was ended.", "half\nIt was ended."),
        ({"exit_code": 0, "output": ""}, None, "It ended with exit code 0, and said nothing."),
    ],
)
def test_output_as_it_is_in_force(
    recording: RecordingOutputs, data: Any, error: str | None, said: str
) -> None:
    recording.calls("run_command", '{"command": "x"}')
    recording.on_tool_start("run_command", {"command": "x"})
    recording.result(data, ok=error is None, error=error)
    assert (recording.last.type, recording.last.role, recording.last.content) == (
        "CONSOLE",
        "computer",
        said,
    )


def test_a_command_that_isnt_one_is_a_call(recording: RecordingOutputs) -> None:
    recording.calls("run_command", '{"command": ["ls"]}')
    recording.on_tool_start("run_command", {"command": ["ls"]})
    recording.result(ok=False, error="Wrong arguments.")
    assert [each.type for each in recording.outputs if isinstance(each, AgentOutput)] == [
        "FUNCTION"
    ] * 2


def test_a_failure_with_more_to_say_says_it(recording: RecordingOutputs) -> None:
    recording.calls("search")
    recording.on_tool_start("search", {})
    recording.result({"found": 1}, ok=False, error="Cut off.")
    assert recording.last.result == {"ok": False, "data": {"found": 1}, "error": "Cut off."}


def test_a_picture_as_a_person_made_it(recording: RecordingOutputs) -> None:
    for data in ({"path": "b.png", "media_type": "text/html"}, {"path": ""}, {"path": 1}, "no"):
        recording.calls("show_image", '{"path": "a.png"}')
        recording.on_tool_start("show_image", {"path": "a.png"})
        recording.result(data)
    picture, *rest = recording.outputs
    assert picture == AgentOutput(type="IMAGE", path="b.png", content="b.png")
    assert {each.type for each in rest if isinstance(each, AgentOutput)} == {"FUNCTION"}


def test_a_result_that_nobody_called_for_is_nothing(recording: RecordingOutputs) -> None:
    recording.on_tool_start("list_files", {})
    recording.result("late")
    assert recording.outputs == []


# ---- sizes -------------------------------------------------------------------------------------------


def test_values_are_cut_where_they_are_too_large_or_too_deep() -> None:
    assert limit_value({"a": [1]}) == {"a": [1]}
    large = limit_value(["x" * MAX_VALUE_CHARS])
    assert large.startswith('["xxx')
    assert large.endswith("[… 200,004 characters in all]")
    deep: Any = []
    for _ in range(60):
        deep = [deep]
    assert limit_value(deep).startswith("[[[[")
