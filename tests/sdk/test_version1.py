"""The SDK at the original's Core, which knows only version 1."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper, AsyncAgentStepper, ConnectionLostError, ProtocolError
from agentstepper_nb.protocol.agent import Bye, CommitMade, HaltPointReached, Withdraw
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    EventOutcome,
    EventSide,
    FileBody,
    FileChange,
    RunEnding,
)
from agentstepper_nb.protocol.v1 import agent as v1
from agentstepper_nb.sdk.run_protocol import RunProtocol
from agentstepper_nb.sdk.send_queue import HaltReleased, MessageBatch, PendingFutures
from agentstepper_nb.sdk.wire_versions import WireVersion1
from tests.sdk.both_steppers import both, run
from tests.sdk.processes import agent, outcome
from tests.sdk.run_protocols import make_run_protocol
from tests.sdk.scripted_core import (
    TIMEOUT_S,
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


# ---- what only the original's Core does -------------------------------------------------------------


class Original(ScriptedCore):
    """As the original's Core: one halt point waits, and the next takes its place; 1 MiB a message."""

    def __init__(self) -> None:
        super().__init__(version=1, max_size=2**20)
        self.pending: Queue[tuple[AgentPeer, v1.V1Breakpoint]] = Queue()
        self.overwritten: list[str] = []
        self._waits: str | None = None

    def _answer_v1(self, peer: AgentPeer, point: v1.V1Breakpoint) -> None:
        if self._waits is not None:
            self.overwritten.append(self._waits)
        self._waits = point.uuid
        self.pending.put((peer, point))

    def step(self) -> v1.V1Breakpoint:
        """Let the agent go on from the halt point that waits."""
        peer, point = self.pending.get(timeout=TIMEOUT_S)
        assert self._waits == point.uuid
        self._waits = None
        super()._answer_v1(peer, point)
        return point


@pytest.fixture
def original() -> Iterator[Original]:
    with Original() as core:
        yield core


def step_all(core: Original, count: int) -> list[v1.V1Breakpoint]:
    return [core.step() for _ in range(count)]


@both
def test_parallel_calls_are_asked_one_after_the_other(
    stepper_kind: str, original: Original
) -> None:
    calls = 6

    async def scenario(dbg: Any) -> list[Any]:
        if stepper_kind == "async":
            return await asyncio.gather(*(_call(dbg, n) for n in range(calls)))
        with ThreadPoolExecutor(calls) as pool:
            return list(pool.map(lambda n: asyncio.run(_call(dbg, n)), range(calls)))

    with ThreadPoolExecutor(1) as person:
        stepped = person.submit(step_all, original, 1 + 2 * calls)
        assert run(stepper_kind, original, scenario) == list(range(calls))
        points = stepped.result(TIMEOUT_S)
    assert original.overwritten == []
    peer = original.wait_for_peer()
    peer.wait_until_gone()
    begun = set()
    for before, message in zip(peer.received, peer.received[1:], strict=False):
        # A begin halt point comes right after its event, which is the newest.
        if isinstance(message, v1.V1Breakpoint) and message.event_id not in begun:
            assert isinstance(before, v1.V1Event) and before.uuid == message.event_id
            begun.add(message.event_id)
    assert len(begun) == 1 + calls and len(points) == 1 + 2 * calls


async def _call(dbg: Any, n: int) -> Any:
    async with dbg.tool("t", {"n": n}) as t:
        t.result = n
    return t.result


def test_an_interrupted_call_that_had_not_its_turn_is_never_told(original: Original) -> None:
    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", original.port) as dbg:
            first = asyncio.create_task(dbg.begin_llm_query_breakpoint("first"))
            while original.pending.empty():
                await asyncio.sleep(0)
            second = asyncio.create_task(dbg.begin_llm_query_breakpoint("second"))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            await asyncio.to_thread(original.step)
            assert await first == "first"

    with ThreadPoolExecutor(1) as person:
        start = person.submit(original.step)
        asyncio.run(main())
        start.result(TIMEOUT_S)
    peer = original.wait_for_peer()
    peer.wait_until_gone()
    assert [m.original_data for m in peer.received if isinstance(m, v1.V1Breakpoint)][1:] == [
        Raw(b'"first"')
    ]


@both
def test_what_is_too_large_for_it_is_shown_in_part_and_its_limit_is_named(
    stepper_kind: str, original: Original
) -> None:
    large = "x" * 2_000_000

    async def scenario(dbg: Any) -> None:
        assert await dbg.begin_llm_query_breakpoint({"text": large}) == {"text": large}
        assert await dbg.end_llm_query_breakpoint(large) is large
        await dbg.post_debug_message(large)

    with ThreadPoolExecutor(1) as person:
        stepped = person.submit(step_all, original, 3)
        run(stepper_kind, original, scenario)
        _, begin, end = stepped.result(TIMEOUT_S)
    for point in (begin, end):
        assert len(bytes(point.original_data)) < 2**20
        assert b"it is too large to be shown: a message may have 1 MiB" in bytes(
            point.original_data
        )


@both
def test_what_cannot_be_shortened_is_refused_and_its_limit_is_named(
    stepper_kind: str, original: Original
) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(
            ProtocolError, match=r"has 1\.9 MiB, and the limit of a message is 1 MiB"
        ):
            await dbg.begin_llm_query_breakpoint("p")
        await dbg.post_debug_message("still connected")

    with ThreadPoolExecutor(1) as person:
        start = person.submit(original.step)
        run(
            stepper_kind,
            original,
            scenario,
            redact=lambda word, value: "x" * 2_000_000 if word == "prompt" else value,
        )
        start.result(TIMEOUT_S)
    peer = original.wait_for_peer()
    peer.wait_until_gone()
    assert b"still connected" in bytes(peer.received[-1].data)


@pytest.mark.slow
def test_a_commit_too_large_for_it_loses_its_largest_contents(
    original: Original, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with ThreadPoolExecutor(1) as person:
        start = person.submit(original.step)
        with AgentStepper("T", "127.0.0.1", original.port, folder) as dbg:
            start.result(TIMEOUT_S)
            (folder / "large.txt").write_text("line\n" * 190_000)
            (folder / "small.txt").write_text("small\n")
            assert dbg.commit_agent_changes()
            dbg.post_debug_message("still connected")
    peer = original.wait_for_peer()
    peer.wait_until_gone()
    commit = next(m for m in reversed(peer.received) if isinstance(m, v1.V1Commit))
    assert [change.path for change in commit.changes] == ["large.txt", "small.txt"]
    assert b"still connected" in bytes(peer.received[-1].data)


def test_a_message_that_is_too_large_all_the_same_is_not_sent() -> None:
    dialect = WireVersion1("Program")
    commit = CommitMade(id="c0", at=1.0, title="t" * 2**20, description="", changes=())
    with pytest.raises(ProtocolError) as refused:
        dialect.encode_batch((commit,), 2)
    assert refused.value.code == "too_large"
    said = "has 1.0 MiB, and a Core of version 1 closes the connection above 1 MiB"
    assert said in str(refused.value)
    small = CommitMade(id="c0", at=1.0, title="t", description="", changes=())
    bye = Bye(ending=RunEnding.FINISHED)
    assert len(dialect.encode_batch((small, bye), 2)) == 1  # the original has no word for the other


# ---- one halt point at a time ------------------------------------------------------------------------


class AnsweringFutures(PendingFutures):
    """Answers a halt point, once, as soon as somebody has seen that it waits."""

    is_answering = False

    def has(self, key: str) -> bool:
        waits = super().has(key)
        if self.is_answering:
            self.is_answering = False
            self.complete(key, ResumeAnswer())
        return waits


def make_halt_point(waiting: PendingFutures, id: str) -> MessageBatch:
    waiting.expect(id, "halt_point", lambda: None)
    point = HaltPointReached(
        id=id, event="e", side=EventSide.BEGIN, waits=True, at=1.0, clock=1.0, data=Raw(b"1")
    )
    return MessageBatch((point,), 0, id)


def open_version_1(waiting: PendingFutures, released: list[str]) -> RunProtocol:
    run = make_run_protocol(waiting, release_halt=lambda: released.append("released"))
    run.receive_welcome(None, 0.0)
    return run


def test_the_writing_thread_is_woken_by_an_answer_only_where_a_halt_point_is_kept() -> None:
    waiting, released = PendingFutures(), list[str]()
    run = open_version_1(waiting, released)
    run.accept_item(make_halt_point(waiting, "first"), 0.0)
    waiting.complete("first", ResumeAnswer())
    assert released == []
    run.accept_item(make_halt_point(waiting, "second"), 0.0)
    run.accept_item(make_halt_point(waiting, "third"), 0.0)
    assert len(run.buffer) == 2
    waiting.complete("second", ResumeAnswer())
    assert released == ["released"]
    run.accept_item(HaltReleased(), 0.0)
    assert len(run.buffer) == 3


def test_a_halt_point_is_not_kept_for_ever_where_the_answer_comes_meanwhile() -> None:
    waiting, released = AnsweringFutures(), list[str]()
    run = open_version_1(waiting, released)
    run.accept_item(make_halt_point(waiting, "first"), 0.0)
    second = make_halt_point(waiting, "second")
    waiting.is_answering = True
    run.accept_item(second, 0.0)
    assert released == []  # nothing was kept yet as the answer came
    assert len(run.buffer) == 2
