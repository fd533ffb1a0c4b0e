"""The SDK at the original's Core, which knows only version 1."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol.agent import BreakpointReached, CommitMade, Resume, Withdraw
from agentstepper_nb.protocol.v1 import agent as v1
from agentstepper_nb.protocol.values import ChangeKind, FileBody, FileChange, Outcome, Side
from agentstepper_nb.sdk.dialects import Version1
from tests.sdk.doors import both, run
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import Script, ScriptedCore, edit

RECORDED = Path(__file__).parents[1] / "wire" / "session.jsonl"


@pytest.fixture
def core() -> Iterator[ScriptedCore]:
    with ScriptedCore(version=1) as core:
        yield core


def recorded(way: str) -> list[Any]:
    """What went between the original's agent and its Core, but the commits."""
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    texts = [line["text"] for line in lines if (line["link"], line["way"]) == ("agent", way)]
    return [m for m in map(json.loads, texts) if m["message"] != "commit"]


def plain(messages: list[Any]) -> list[Any]:
    """Without what differs from run to run: ids are counted, times left out."""
    known: dict[str, str] = {}

    def count(match: re.Match[str]) -> str:
        return known.setdefault(match[0], f"id-{len(known) + 1}")

    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", count, json.dumps(messages))
    return json.loads(re.sub(r'"time": [0-9.]+', '"time": 0', text))


def test_it_says_word_for_word_what_the_original_said(core: ScriptedCore) -> None:
    answers = [message["data"]["modified_data"] for message in recorded("out")]
    core.policy = Script(
        *[Resume() if data is None else edit(json.dumps(data)) for data in answers]
    )
    first = recorded("in")[2:]
    values = [m["data"].get("original_data") for m in first if m["message"] == "breakpoint"]
    query, response, call, result = values
    with AgentStepper("Recorder", "127.0.0.1", core.port) as dbg:
        prompt = dbg.begin_llm_query_breakpoint(query)
        assert prompt == {"messages": [{"role": "user", "content": "edited"}]}
        assert dbg.end_llm_query_breakpoint(response) is response
        tool, args = dbg.begin_tool_invocation_breakpoint(call["Tool"], call["Argument"])
        assert (tool, args) == ("write_file", {"path": "b.txt", "content": "two!"})
        assert dbg.end_tool_invocation_breakpoint(result) is result
        dbg.post_debug_message("loop finished ✓")
    peer = core.peer()
    peer.ends()
    sent = [json.loads(v1.encode(message)) for message in peer.sent]
    assert plain(sent) == plain(recorded("in"))


@both
def test_an_edit_to_an_empty_value_is_an_edit_but_null(door: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        return [await dbg.begin_llm_query_breakpoint("p") for _ in range(5)]

    texts = ['""', "{}", "0", "false", "null"]
    core.policy = Script(Resume(), *map(edit, texts))
    assert run(door, core, scenario) == ["", {}, 0, False, "p"]


@both
def test_a_sent_back_original_is_the_same_object(door: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        value = {"a": 1.0}
        return await dbg.begin_llm_query_breakpoint(value) is value

    core.policy = Script(Resume(), edit('{"a":1.0}'))
    assert run(door, core, scenario) is True


@both
def test_without_a_stop_on_entry_its_answer_is_dropped(door: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        return await dbg.begin_llm_query_breakpoint("p")

    core.policy = Script(edit('"not this"'), edit('"this"'))
    assert run(door, core, scenario, stop_on_entry=False) == "this"


@both
def test_an_exception_travels_as_a_summary(door: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("t", {}):
            raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        run(door, core, scenario)
    peer = core.peer()
    peer.ends()
    last = peer.sent[-1]
    assert (last.summary, last.original_data) == ("ValueError: a bug", Raw(b"null"))


@both
def test_what_it_has_no_word_for_is_not_sent(door: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("t", {}):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(door, core, scenario)
    peer = core.peer()
    peer.ends()
    kinds = [type(message).__name__ for message in peer.sent]
    assert kinds == ["V1Event", "V1Breakpoint", "V1Event", "V1Breakpoint"]


def test_an_interrupt_is_dropped_here_and_the_agent_goes_on(core: ScriptedCore) -> None:
    import signal

    core.policy = lambda peer, point: Resume() if point.summary else None
    program = """
    with AgentStepper("T", "127.0.0.1", PORT) as dbg:
        try:
            dbg.begin_llm_query_breakpoint("p")
        except KeyboardInterrupt:
            pass
        print(dbg.begin_llm_query_breakpoint("q"))
    """
    with agent(core, program) as process:
        peer = core.peer()
        [peer.next(v1.V1Breakpoint) for _ in range(2)]
        core.policy = lambda peer, point: edit('"edited"')
        process.send_signal(signal.SIGINT)
        code, out, err = outcome(process)
    assert (code, out) == (0, "edited\n"), err


def test_an_error_and_a_foreign_answer_are_passed_over(core: ScriptedCore) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        peer = core.peer()
        peer.socket.send(v1.encode(v1.V1Error(code="internal", message="Look at the log.")))
        peer.socket.send(v1.encode(v1.V1Event(uuid="x", type="LLM_QUERY", time=0.0)))
        assert dbg.begin_llm_query_breakpoint("p") == "p"


def test_messages() -> None:
    dialect = Version1("Program")
    rename = FileChange(
        path="b",
        previous_path="a",
        kind=ChangeKind.RENAMED,
        body=FileBody(content="x", previous_content="x"),
    )
    commit = CommitMade(id="c0", at=1.0, title="t", description="d", changes=(rename,))
    text = dialect.encode(commit)
    assert text is not None
    data = json.loads(text)["data"]
    assert [(c["path"], c["change_type"]) for c in data["changes"]] == [
        ("a", "deleted file"),
        ("b", "new file"),
    ]
    assert dialect.encode(Withdraw(breakpoint="b0")) is None
    silent = BreakpointReached(
        id="b1",
        event="e",
        side=Side.END,
        waits=False,
        at=1.0,
        clock=1.0,
        data=Raw(b"null"),
        outcome=Outcome.STOPPED,
    )
    assert dialect.encode(silent) is None
