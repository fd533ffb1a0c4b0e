"""The log: what is written is read again, whatever happened to the file."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.session_log import (
    ApprovalEntry,
    SessionEndEntry,
    SessionLog,
    SessionStartEntry,
    UserPromptEntry,
    make_event_entry,
)
from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.coding.tool_results import (
    format_content,
    make_result_message,
    normalize_result,
)
from agentstepper_nb.coding.transcript import (
    INTERRUPTED_RESULT,
    Transcript,
    load_messages,
    summarize_log,
)
from agentstepper_nb.errors import CodingSessionError
from agentstepper_nb.line_file import LineFile
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ToolCall,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import ResponseCompleted, TextDelta
from agentstepper_nb.protocol.data_model import Usage

NOW = datetime(2026, 1, 15, 11, 30, 0, 250_000, timezone(timedelta(hours=1)))

# ---- conversations -----------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
#: As models write them: proper, pretty, no object, malformed, nothing.
arguments = (
    st.dictionaries(texts, values, max_size=3).flatmap(
        lambda value: st.sampled_from([json.dumps(value), json.dumps(value, indent=1)])
    )
    | values.map(json.dumps)
    | texts
    | st.sampled_from(['{"half": ', "{\r}", "{}", " {} ", '"{}"', "", "{" * 3000 + "}" * 3000])
)
results = st.builds(
    ToolResult,
    ok=st.booleans(),
    data=values,
    error=st.none() | texts,
    diagnostics=st.none() | st.dictionaries(texts, values, max_size=2),
)
turns = st.lists(
    st.tuples(texts, texts, st.lists(st.tuples(texts, arguments, results), max_size=3)), max_size=4
)


def hold_conversation(transcript: Transcript, said: list[Any]) -> Iterator[list[ChatMessage]]:
    """Have a conversation; gives it after each message."""
    for number, (prompt, answer, called) in enumerate(said):
        transcript.add_prompt(prompt)
        yield list(transcript.messages)
        transcript.record_event(TextDelta(answer))
        calls = tuple(
            ToolCall(call_id=f"{number}.{index}", name=name, args_json=args)
            for index, (name, args, _) in enumerate(called)
        )
        transcript.add_answer(AssistantMessage(content=answer, tool_calls=calls))
        yield list(transcript.messages)
        for call, (_, _, result) in zip(calls, called, strict=True):
            transcript.add_approval(
                ApprovalEntry(call_id=call.call_id, decision="approved", reason="", by="rule")
            )
            transcript.add_result(call.call_id, normalize_result(result))
            yield list(transcript.messages)


def closed(messages: list[ChatMessage]) -> list[ChatMessage]:
    """A conversation with its open calls closed, by hand."""
    answered = {m.call_id for m in messages if not isinstance(m, UserMessage | AssistantMessage)}
    calls = [c for m in messages if isinstance(m, AssistantMessage) for c in m.tool_calls]
    return messages + [
        make_result_message(call.call_id, INTERRUPTED_RESULT)
        for call in calls
        if call.call_id not in answered
    ]


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(turns)
def test_what_was_logged_is_loaded(said: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with SessionLog(path) as log:
            transcript = Transcript((), log)
            list(hold_conversation(transcript, said))
        assert load_messages(path, pytest.fail) == transcript.messages
        for line in path.read_bytes().splitlines():
            assert set(json.loads(line)) == {"timestamp", "data"}


@settings(max_examples=15)
@given(turns.filter(bool), st.data())
def test_a_log_that_was_cut_anywhere_gives_what_stands_before(
    said: list[Any], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with SessionLog(path) as log:
            stages = [(0, list[ChatMessage]())]
            for messages in hold_conversation(Transcript((), log), said):
                stages.append((path.stat().st_size, messages))
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        warnings: list[str] = []
        loaded = load_messages(path, warnings.append)
        # The line of a message may be whole before its stage is over: an event follows it.
        known = [closed(messages) for size, messages in stages if size <= cut]
        later = [closed(messages) for size, messages in stages if size > cut][:1]
        assert loaded in [known[-1], *later]
        lines = whole[:cut].split(b"\n")
        assert len(warnings) <= 1
        assert not (warnings and lines[-1] == b"")

        with SessionLog(path) as log:  # and it is gone on with
            transcript = Transcript(loaded, log)
            list(hold_conversation(transcript, said[:1]))
        assert load_messages(path) == transcript.messages


@pytest.mark.parametrize("step", [19, pytest.param(1, marks=pytest.mark.soak)])
def test_every_single_cut_of_a_log_is_read(tmp_path: Path, step: int) -> None:
    path = tmp_path / "log.jsonl"
    called = [("look", '{"p": "ä"}', ToolResult.success("ü")), ("x", "{", ToolResult.failure("no"))]
    with SessionLog(path) as log:
        *_, last = hold_conversation(
            Transcript((), log), [("é", "well", called), ("and", "so", [])]
        )
    whole = path.read_bytes()
    loaded = []
    for cut in (*range(0, len(whole), step), len(whole)):
        path.write_bytes(whole[:cut])
        loaded.append(load_messages(path))
    assert loaded[-1] == last
    assert all(len(one) <= len(other) for one, other in pairwise(loaded))


# ---- what stands in it -------------------------------------------------------------------------------


def test_the_entries_are_those_of_the_guide(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "log.jsonl"
    with SessionLog(path, now=lambda: NOW) as log:
        log.append(
            SessionStartEntry(
                session_id="abc123",
                mode="repl",
                resumed=False,
                provider="openai",
                model="m",
                workspace="/w",
            )
        )
        transcript = Transcript((), log)
        transcript.add_prompt("fix it")
        transcript.record_event(TextDelta("Let"))
        transcript.record_event(ResponseCompleted("tool_calls", Usage(input_tokens=1)))
        calls = (
            ToolCall(call_id="c1", name="look", args_json='{"path": "a"}'),
            ToolCall(call_id="c2", name="look", args_json='{"half": '),
        )
        transcript.add_answer(AssistantMessage(content="Let", tool_calls=calls))
        transcript.add_approval(
            ApprovalEntry(
                call_id="c1",
                decision="denied",
                reason="no",
                why="It asks.",
                risk="high",
                by="terminal",
            )
        )
        transcript.add_result("c1", ToolResult.failure("A person denied this: no", by="me"))
        log.append(SessionEndEntry(reason="closed"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["timestamp"] for line in lines} == {"2026-01-15T10:30:00.250Z"}
    result = {
        "ok": False,
        "data": None,
        "error": "A person denied this: no",
        "diagnostics": {"by": "me"},
    }
    assert [line["data"] for line in lines] == [
        {
            "type": "session_start",
            "sessionId": "abc123",
            "mode": "repl",
            "resumed": False,
            "provider": "openai",
            "model": "m",
            "workspace": "/w",
        },
        {"type": "user_prompt", "content": "fix it"},
        {"type": "message", "role": "user", "content": "fix it"},
        {"type": "event", "eventType": "TextDelta", "text": "Let"},
        {
            "type": "event",
            "eventType": "ResponseCompleted",
            "reason": "tool_calls",
            "usage": {
                "input_tokens": 1,
                "output_tokens": None,
                "cost": None,
                "estimated": False,
            },
        },
        {
            "type": "message",
            "role": "assistant",
            "content": "Let",
            "toolCalls": [
                {"callId": "c1", "name": "look", "args": {"path": "a"}},
                {"callId": "c2", "name": "look", "args": '{"half": '},
            ],
        },
        {
            "type": "approval",
            "callId": "c1",
            "decision": "denied",
            "reason": "no",
            "why": "It asks.",
            "risk": "high",
            "by": "terminal",
        },
        {"type": "message", "role": "tool", "callId": "c1", "result": result},
        {"type": "event", "eventType": "ToolResultEvent", "call_id": "c1", "result": result},
        {"type": "session_end", "reason": "closed"},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_of_the_guide_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"timestamp":"2024-01-15T10:30:00Z","data":{"type":"message","role":"user","content":"hi"}}\n'
        '{"timestamp":"2024-01-15T10:30:01Z","data":{"type":"message","role":"assistant",'
        '"content":"x","toolCalls":[{"callId":"1","name":"t","args":{ "a" : 1 }}],"more":1}}\n'
        '{"timestamp":"2024-01-15T10:30:01Z","data":{"type":"event","eventType":"New","x":1}}\n'
        '{"timestamp":"2024-01-15T10:30:01Z","data":{"type":"message","role":"tool","callId":"1",'
        '"result":{"ok":true,"data":"fine"}}}\n'
    )
    assert load_messages(path, pytest.fail) == [
        UserMessage(content="hi"),
        AssistantMessage(
            content="x", tool_calls=(ToolCall(call_id="1", name="t", args_json='{ "a" : 1 }'),)
        ),
        make_result_message("1", ToolResult.success("fine")),
    ]


def test_garbage_is_warned_of_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with SessionLog(path) as log:
        transcript = Transcript((), log)
        transcript.add_prompt("one")
    with path.open("ab") as file:
        file.write(b"\xff\xfe\n[]\n\n" + b'{"timestamp":"","data":{"type":"new"}}\n' + b"[" * 9000)
    with SessionLog(path) as log:
        Transcript((), log).add_prompt("two")
        log.append({"type": "message", "role": "tool", "callId": "9", "result": {"ok": True}})
        log.append({"type": "message", "role": "tool", "callId": "9"})
    warnings: list[str] = []
    messages = load_messages(path, warnings.append)
    assert messages == [UserMessage(content="one"), UserMessage(content="two")]
    numbers = [warning.split()[1] for warning in warnings]
    assert numbers == ["3", "4", "6", "7", "10", "11"]


def test_an_edited_conversation_is_loaded_as_edited(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with SessionLog(path) as log:
        transcript = Transcript((), log)
        transcript.add_prompt("one")
        transcript.add_answer(AssistantMessage(content="yes"))
        transcript.add_prompt("two")
        before = list(transcript.messages)
        transcript.replace_messages(before)
        assert b"edited" not in path.read_bytes()
        transcript.replace_messages([before[0], UserMessage(content="three")])
        transcript.add_answer(AssistantMessage(content="no"))
    assert load_messages(path, pytest.fail) == transcript.messages
    assert [m.content for m in transcript.messages] == ["one", "three", "no"]


# ---- the file ----------------------------------------------------------------------------------------


def test_one_process_has_a_log_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with closing(LineFile(path, create=True)):  # as another process has it
        with pytest.raises(CodingSessionError, match="session log is open in another process"):
            SessionLog(path)
    with SessionLog(path) as log:
        for same in (path, tmp_path / "x" / ".." / "log.jsonl"):
            with pytest.raises(CodingSessionError, match="log is open in this process already"):
                SessionLog(same)
        log.append(UserPromptEntry(content="x"))
    log.append(UserPromptEntry(content="too late"))
    SessionLog(path).close()
    assert path.read_text().count("\n") == 1


def test_a_log_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(CodingSessionError, match="can't be opened"):
            SessionLog(path)


def test_what_a_log_is_about(tmp_path: Path) -> None:
    path = tmp_path / "abc.jsonl"
    start = SessionStartEntry(
        session_id="abc", mode="run", resumed=False, provider="p", model="m", workspace="/w"
    )
    with SessionLog(path, now=lambda: NOW) as log:
        log.append(UserPromptEntry(content="before all"))
        assert summarize_log(path) is None
        log.append(start)
        log.append(UserPromptEntry(content="and again"))
    found = summarize_log(path)
    assert found is not None
    assert (found.id, found.provider, found.model, found.workspace) == ("abc", "p", "m", "/w")
    assert (found.first_prompt, found.prompt_count) == ("before all", 2)
    assert (
        found.started_at
        == found.updated_at
        == NOW.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


@settings(max_examples=15)
@given(results)
def test_a_result_is_read_as_text_where_it_is_one(result: ToolResult) -> None:
    shown = normalize_result(result)
    text = format_content(shown)
    if shown.ok and not shown.diagnostics and isinstance(shown.data, str):
        assert text == shown.data
    else:
        json.loads(text)
    assert normalize_result(shown) == shown


def test_event_entries_have_their_own_fields() -> None:
    assert make_event_entry(TextDelta("x")) == {
        "type": "event",
        "eventType": "TextDelta",
        "text": "x",
    }
