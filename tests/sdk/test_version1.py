"""The SDK at the original's Core, which knows only version 1."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper, ConnectionLostError
from agentstepper_nb.protocol.agent import CommitMade, HaltPointReached, Withdraw
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    EventOutcome,
    EventSide,
    FileBody,
    FileChange,
)
from agentstepper_nb.protocol.v1 import agent as v1
from agentstepper_nb.sdk.wire_versions import WireVersion1
from tests.sdk.both_steppers import both, run
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import (
    AgentPeer,
    ScriptedAnswers,
    ScriptedCore,
    make_edit_answer,
)

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
    core.policy = ScriptedAnswers(
        *[
            ResumeAnswer() if data is None else make_edit_answer(json.dumps(data))
            for data in answers
        ]
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
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    sent = [json.loads(v1.encode_message(message)) for message in peer.received]
    assert plain(sent) == plain(recorded("in"))


@both
def test_an_edit_to_an_empty_value_is_an_edit_but_null(
    stepper_kind: str, core: ScriptedCore
) -> None:
    async def scenario(dbg: Any) -> Any:
        return [await dbg.begin_llm_query_breakpoint("p") for _ in range(5)]

    texts = ['""', "{}", "0", "false", "null"]
    core.policy = ScriptedAnswers(ResumeAnswer(), *map(make_edit_answer, texts))
    assert run(stepper_kind, core, scenario) == ["", {}, 0, False, "p"]


@both
def test_a_sent_back_original_is_the_same_object(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        value = {"a": 1.0}
        return await dbg.begin_llm_query_breakpoint(value) is value

    core.policy = ScriptedAnswers(ResumeAnswer(), make_edit_answer('{"a":1.0}'))
    assert run(stepper_kind, core, scenario) is True


@both
def test_without_a_stop_on_entry_its_answer_is_dropped(
    stepper_kind: str, core: ScriptedCore
) -> None:
    async def scenario(dbg: Any) -> Any:
        return await dbg.begin_llm_query_breakpoint("p")

    core.policy = ScriptedAnswers(make_edit_answer('"not this"'), make_edit_answer('"this"'))
    assert run(stepper_kind, core, scenario, stop_on_entry=False) == "this"


@both
def test_an_exception_travels_as_a_summary(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("t", {}):
            raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    last = peer.received[-1]
    assert (last.summary, last.original_data) == ("ValueError: a bug", Raw(b"null"))


@both
def test_what_it_has_no_word_for_is_not_sent(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("t", {}):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    kinds = [type(message).__name__ for message in peer.received]
    assert kinds == ["V1Event", "V1Breakpoint", "V1Event", "V1Breakpoint"]


def test_an_interrupt_is_dropped_here_and_the_agent_goes_on(core: ScriptedCore) -> None:
    import signal

    core.policy = lambda peer, point: ResumeAnswer() if point.summary else None
    program = """
    with AgentStepper("T", "127.0.0.1", PORT) as dbg:
        try:
            dbg.begin_llm_query_breakpoint("p")
        except KeyboardInterrupt:
            pass
        print(dbg.begin_llm_query_breakpoint("q"))
    """
    with agent(core, program) as process:
        peer = core.wait_for_peer()
        [peer.receive(v1.V1Breakpoint) for _ in range(2)]
        core.policy = lambda peer, point: make_edit_answer('"edited"')
        process.send_signal(signal.SIGINT)
        code, out, err = outcome(process)
    assert (code, out) == (0, "edited\n"), err


def test_an_error_and_a_foreign_answer_are_passed_over(core: ScriptedCore) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        peer = core.wait_for_peer()
        peer.socket.send(v1.encode_message(v1.V1Error(code="internal", message="Look at the log.")))
        peer.socket.send(v1.encode_message(v1.V1Event(uuid="x", type="LLM_QUERY", time=0.0)))
        assert dbg.begin_llm_query_breakpoint("p") == "p"


def test_messages() -> None:
    dialect = WireVersion1("Program")
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
    assert dialect.encode(Withdraw(halt_point="b0")) is None
    silent = HaltPointReached(
        id="b1",
        event="e",
        side=EventSide.END,
        waits=False,
        at=1.0,
        clock=1.0,
        data=Raw(b"null"),
        outcome=EventOutcome.STOPPED,
    )
    assert dialect.encode(silent) is None


@both
@pytest.mark.parametrize("code", [1000, 1001, 1011])
def test_a_core_that_closes_frees_the_agent_that_waits(
    stepper_kind: str, core: ScriptedCore, code: int
) -> None:
    """Also by the codes of a normal end, which the original's own agent takes for no end at all."""

    def policy(peer: AgentPeer, point: HaltPointReached) -> ResumeAnswer | None:
        if point.summary:
            return ResumeAnswer()
        peer.socket.close(code, "The Core is stopping.")
        return None

    async def scenario(dbg: Any) -> None:
        with pytest.raises(
            ConnectionLostError, match=f"closed the connection with {code} The Core is"
        ):
            await dbg.begin_llm_query_breakpoint("p")

    core.policy = policy
    run(stepper_kind, core, scenario)
