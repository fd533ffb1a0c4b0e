"""Version 1's messages of the web UI."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    ChangeKind,
    Commit,
    Event,
    EventKind,
    EventSide,
    Failure,
    FileBody,
    FileChange,
    HaltPoint,
    Run,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.v1 import ui as v1

# ---- commands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "content", "command"),
    [
        ("step", {"run": "r"}, v1.V1Step("r")),
        ("continue", {"run": "r"}, v1.V1Continue("r")),
        ("halt", {"run": "r"}, v1.V1Halt("r")),
        ("rename_run", {"run": "r", "name": "n"}, v1.V1Rename("r", "n")),
        ("download_run_request", {"run": "r"}, v1.V1Download("r")),
        ("import_run", {"data": "d", "run": "r"}, v1.V1Import("d")),
        ("delete_run", {"run": "r"}, v1.V1Delete("r")),
        (
            "update_msg_content",
            {"run": "r", "message": "m", "content": {"a": 1}},
            v1.V1Update("r", "m", Raw(b'{"a": 1}')),
        ),
    ],
)
def test_commands(event: str, content: dict[str, Any], command: v1.V1Command) -> None:
    assert v1.decode_command(json.dumps({"event": event, "content": content})) == command


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "malformed", "Failed to parse the UI's message"),
        ("[]", "malformed", "Expected `object`, got `array`"),
        ("{}", "malformed", "missing required field `event`"),
        ("[" * 100_000, "malformed", "Failed to parse"),
        ('{"event": "step", "content": NaN}', "malformed", "invalid character"),
        (
            '{"event": "jump", "content": {}}',
            "unknown_command",
            "“jump” is no command; known are: step",
        ),
        ('{"event": "step"}', "invalid_message", "step: .* required field `run`"),
        ('{"event": "step", "content": null}', "invalid_message", "step: .* got `null`"),
        ('{"event": "step", "content": {"run": 7}}', "invalid_message", r"at `\$.run`"),
        (
            '{"event": "update_msg_content", "content": {"run": "r", "message": "m"}}',
            "invalid_message",
            "field `content`",
        ),
    ],
    ids=range(10),
)
def test_what_is_no_command(text: str, code: str, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as refused:
        v1.decode_command(text)
    assert refused.value.code == code


# ---- what UIs are told ------------------------------------------------------------------------------


def content(text: str, event: str) -> Any:
    message = json.loads(text)
    assert message["event"] == event
    return message["content"]


def point(data: str = '"x"', **fields: Any) -> HaltPoint:
    values: dict[str, Any] = {"kind": EventKind.LLM_QUERY, "side": EventSide.BEGIN}
    return HaltPoint(
        id="b", run="r", event="e", seq=1, at=1795295422.9, data=data, **(values | fields)
    )


RUN = Run(id="r", name="N", program="P", started_at=1795295422.0)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ('{"a": 1.0}', "json"),
        (' \n{"a":1}', "json"),
        ("[1]", "text"),
        ('"{"', "text"),
        ("null", "text"),
        ("12345678901234567890123", "text"),
    ],
)
def test_contents_stay_as_they_are_and_only_objects_are_json(data: str, kind: str) -> None:
    text = v1.encode_new_message(point(data))
    assert f'"content":{data},' in text
    assert content(text, "new_message")["message"]["contentType"] == kind


def test_contents_that_browsers_cannot_read_go_as_text() -> None:
    message = content(
        v1.encode_new_message(point('{"a": NaN}', is_strict_json=False)), "new_message"
    )["message"]
    assert (message["content"], message["contentType"]) == ('{"a": NaN}', "text")


def test_the_edit_is_never_shown() -> None:
    shown = content(v1.encode_new_message(point(edit='"edited"')), "new_message")
    assert shown["message"]["content"] == "x"


@pytest.mark.parametrize(
    ("kind", "side", "source", "target"),
    [
        (EventKind.LLM_QUERY, EventSide.BEGIN, "Core", "LLM"),
        (EventKind.LLM_QUERY, EventSide.END, "LLM", "Core"),
        (EventKind.TOOL_INVOCATION, EventSide.BEGIN, "Core", "Tools"),
        (EventKind.TOOL_INVOCATION, EventSide.END, "Tools", "Core"),
        (EventKind.PROGRAM_STARTED, EventSide.BEGIN, "System", "System"),
        (EventKind.PROGRAM_FINISHED, EventSide.BEGIN, "System", "System"),
    ],
)
def test_a_message(kind: EventKind, side: EventSide, source: str, target: str) -> None:
    shown = content(v1.encode_new_message(point(kind=kind, side=side, summary="S")), "new_message")
    assert shown == {
        "run": "r",
        "message": {
            "uuid": "b",
            "from": source,
            "to": target,
            "content": "x",
            "contentType": "text",
            "summary": "S",
            "sentAt": "2026-11-21T21:10:22+0000",
        },
    }


def test_an_exception_is_a_summary() -> None:
    failed = point(
        kind=EventKind.TOOL_INVOCATION,
        side=EventSide.END,
        failure=Failure(type="ValueError", message="no"),
        model_summary="It failed",
    )
    shown = content(v1.encode_new_message(failed), "new_message")["message"]
    assert shown["summary"] == "ValueError: no"


@pytest.mark.parametrize(
    ("data", "summary"),
    [('"hi ✓"', "hi ✓"), ('{"a": 1}', '{"a": 1}'), (None, ""), ('"\\ud800"', '"\\ud800"')],
)
def test_a_debug_message_is_its_summary(data: str | None, summary: str) -> None:
    event = Event(id="e", run="r", kind=EventKind.DEBUG_MESSAGE, at=0.0, data=data)
    shown = content(v1.encode_new_debug_message(event), "new_message")["message"]
    assert (shown["content"], shown["contentType"], shown["summary"]) == (None, "text", summary)
    assert (shown["from"], shown["sentAt"]) == ("System", "1970-01-01T00:00:00+0000")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (AgentActivity.RUNNING, "Agent running..."),
        (AgentActivity.LLM_THINKING, "LLM thinking..."),
        (AgentActivity.TOOL_EXECUTING, "Tool executing..."),
        (AgentActivity.HALTED, "Halted at breakpoint..."),
        (AgentActivity.HALTING, "Halting at breakpoint..."),
        (AgentActivity.FINISHED, "Agent finished..."),
    ],
)
def test_the_agents_state_in_words(state: AgentActivity, words: str) -> None:
    run = Run(id="r", name="N", program="P", started_at=0.0, agent_state=state)
    assert content(v1.encode_run_state(run), "update_run_state") == {
        "run": "r",
        "state": "step",
        "agentState": words,
        "haltedAt": None,
    }


def test_a_commit_without_diffs() -> None:
    body = FileBody(diff="d", content="c", previous_content="p")
    change = FileChange(path="new", kind=ChangeKind.RENAMED, previous_path="old", body=body)
    commit = Commit(id="k", run="r", at=1795295422.0, title="t", changes=(change,))
    assert content(v1.encode_new_commit(commit), "new_commit") == {
        "run": "r",
        "commit": {
            "id": "k",
            "date": "2026-11-21T21:10:22+0000",
            "title": "t",
            "changes": [
                {
                    "path": "old",
                    "changeType": "deleted file",
                    "content": "",
                    "previousContent": "p",
                },
                {"path": "new", "changeType": "new file", "content": "c", "previousContent": ""},
            ],
        },
    }


def test_a_run_whole_with_its_rows_in_order() -> None:
    run = Run(
        id="r",
        name="N",
        program="P",
        started_at=1795295422.0,
        state=RunState.HALTED,
        mode=RunMode.STEP,
        agent_state=AgentActivity.HALTED,
        pending=("b", "later"),
    )
    said = Event(id="d", run="r", kind=EventKind.DEBUG_MESSAGE, at=0.0, seq=2, data='"said"')
    asked = Event(id="e", run="r", kind=EventKind.LLM_QUERY, at=0.0)
    history = RunHistory(run=run, events=(said, asked), halt_points=(point(),))
    shown = content(v1.encode_new_run(history), "new_run")["run"]
    assert [message["uuid"] for message in shown.pop("messages")] == ["b", "d"]
    assert shown == {
        "uuid": "r",
        "name": "N",
        "programName": "P",
        "startTime": "2026-11-21T21:10:22+0000",
        "state": "halted",
        "agentState": "Halted at breakpoint...",
        "commits": [],
        "haltedAt": "b",
    }


def test_the_snapshot() -> None:
    shown = content(v1.encode_init_app_state([RunHistory(run=RUN)], "r", "b"), "init_app_state")
    assert [run["uuid"] for run in shown["runs"]] == ["r"]
    assert (shown["activeRun"], shown["haltedAt"]) == ("r", "b")
    assert v1.encode_init_app_state([], None, None) == (
        '{"event":"init_app_state","content":{"runs":[],"activeRun":null,"haltedAt":null}}'
    )


def test_an_export_and_an_error() -> None:
    assert content(v1.encode_run_export("N", b"eJw="), "run_export") == {
        "name": "N",
        "data": "eJw=",
    }
    assert content(v1.encode_error("stale", "Look again.", "r"), "error") == {
        "code": "stale",
        "message": "Look again.",
        "run": "r",
    }
