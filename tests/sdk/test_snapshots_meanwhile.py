"""Files on each step, while something else goes on: other tools, the loop, a cancel, an interrupt."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AsyncAgentStepper
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide
from agentstepper_nb.sdk.workspace import Workspace
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer, ScriptedCore
from tests.sdk.snapshots import end_of, list_commits, paths, tool_event


def test_tools_in_threads_have_each_change_once(core: ScriptedCore, folder: Path) -> None:
    with AgentStepper("T", "127.0.0.1", core.port, folder) as dbg, ThreadPoolExecutor(8) as pool:

        def work(n: int) -> None:
            with dbg.tool(f"t{n}", {}):
                (folder / f"{n}.txt").write_text("x")

        list(pool.map(work, range(16)))
        assert dbg.commit_agent_changes("All") is True
    check_sixteen(core.wait_for_peer())


def test_tools_in_tasks_have_each_change_once(core: ScriptedCore, folder: Path) -> None:
    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port, folder) as dbg:

            async def work(n: int) -> None:
                async with dbg.tool(f"t{n}", {}):
                    await asyncio.sleep(0)
                    (folder / f"{n}.txt").write_text("x")

            await asyncio.gather(*(work(n) for n in range(16)))
            assert await dbg.commit_agent_changes("All") is True

    asyncio.run(main())
    check_sixteen(core.wait_for_peer())


def check_sixteen(peer: AgentPeer) -> None:
    """Each file in one snapshot, of a tool that had not ended yet and no earlier than its own end."""
    *snapshots, last = list_commits(peer)
    names = [f"{n}.txt" for n in range(16)]
    assert sorted(paths(last)) == sorted(names)
    assert not last.snapshot
    assert Counter(path for each in snapshots for path in paths(each)) == Counter(names)
    ends = {p.event: peer.received.index(p) for p in peer.halt_points if p.side is EventSide.END}
    for snapshot in snapshots:
        assert snapshot.snapshot
        assert peer.received.index(snapshot) < ends[str(snapshot.event)]
        for path in paths(snapshot):
            own = tool_event(peer, f"t{path.removesuffix('.txt')}")
            assert peer.received.index(snapshot) < ends[own.id], "its own end comes later"


def held_up(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Let a snapshot wait in the middle: `looking` says that it does, `go` lets it go on."""
    looking, go = threading.Event(), threading.Event()
    snapshot = Workspace.snapshot

    def slow(self: Workspace) -> Any:
        looking.set()
        assert go.wait(TIMEOUT_S)
        return snapshot(self)

    monkeypatch.setattr(Workspace, "snapshot", slow)
    return looking, go


async def inside(
    dbg: AsyncAgentStepper, folder: Path, looking: threading.Event
) -> asyncio.Task[None]:
    """A task whose tool has ended, and whose snapshot is held up."""

    async def work() -> None:
        async with dbg.tool("write", {}):
            (folder / "new.txt").write_text("new\n")

    task = asyncio.create_task(work())
    while not looking.is_set():
        await asyncio.sleep(0)
    return task


def test_the_loop_goes_on_meanwhile(
    core: ScriptedCore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go = held_up(monkeypatch)

    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port, folder) as dbg:
            task = await inside(dbg, folder, looking)
            async with dbg.llm("meanwhile") as q:  # both its halt points are answered
                q.response = "yes"
            assert not task.done()
            go.set()
            await task

    asyncio.run(main())
    peer = core.wait_for_peer()
    (snapshot,) = list_commits(peer)
    query = next(event for event in peer.events if event.kind is EventKind.LLM_QUERY)
    assert peer.received.index(end_of(peer, query)) < peer.received.index(snapshot)


def test_a_task_cancelled_meanwhile_ends_after_the_snapshot(
    core: ScriptedCore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go = held_up(monkeypatch)

    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port, folder) as dbg:
            task = await inside(dbg, folder, looking)
            task.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            assert not task.done()
            go.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with dbg.tool("next", {}):
                pass

    asyncio.run(main())
    peer = core.wait_for_peer()
    (snapshot,) = list_commits(peer)
    end = end_of(peer, tool_event(peer))
    assert (end.outcome, end.waits) == (EventOutcome.STOPPED, False)
    assert peer.received.index(snapshot) == peer.received.index(end) - 1
    assert tool_event(peer, "next").parent is None


@both
def test_an_interrupt_meanwhile_ends_the_tool(
    stepper_kind: str, core: ScriptedCore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Workspace) -> None:
        raise KeyboardInterrupt

    async def scenario(dbg: Any) -> None:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Workspace, "snapshot", interrupted)
            async with dbg.tool("write", {}):
                (folder / "new.txt").write_text("new\n")
        async with dbg.tool("next", {}):
            pass

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    assert end_of(peer, tool_event(peer)).outcome is EventOutcome.STOPPED
    (snapshot,) = list_commits(peer)
    assert (snapshot.event, paths(snapshot)) == (tool_event(peer, "next").id, ["new.txt"])
