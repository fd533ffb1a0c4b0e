"""The SDK at what only the original's Core does: one halt point at a time, and 1 MiB a message."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper, AsyncAgentStepper, ProtocolError
from agentstepper_nb.protocol.agent import Bye, CommitMade, HaltPointReached
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.protocol.data_model import (
    EventSide,
    RunEnding,
)
from agentstepper_nb.protocol.v1 import agent as v1
from agentstepper_nb.sdk.run_protocol import RunProtocol
from agentstepper_nb.sdk.send_queue import HaltReleased, MessageBatch, PendingFutures
from agentstepper_nb.sdk.wire_versions import WireVersion1
from tests.sdk.both_steppers import both, run
from tests.sdk.run_protocols import make_run_protocol
from tests.sdk.scripted_core import (
    TIMEOUT_S,
    AgentPeer,
    ScriptedCore,
)

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
