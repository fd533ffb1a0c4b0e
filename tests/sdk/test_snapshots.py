"""Files on each step: what a tool changed is told before its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper, AsyncAgentStepper
from agentstepper_nb.protocol.agent import CommitMade
from agentstepper_nb.protocol.answers import DenyAnswer, ResumeAnswer, SkipAnswer
from agentstepper_nb.protocol.data_model import EventOutcome
from agentstepper_nb.protocol.v1 import agent as v1
from agentstepper_nb.sdk import set_current_stepper
from agentstepper_nb.sdk.workspace import Workspace
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import ScriptedAnswers, ScriptedCore
from tests.sdk.snapshots import end_of, list_commits, paths, tool_event

# ---- every form -------------------------------------------------------------------------------------

Form = Callable[[Any, Callable[[], None]], Any]


async def block(dbg: Any, write: Callable[[], None]) -> None:
    async with dbg.tool("write", {}):
        write()


async def methods(dbg: Any, write: Callable[[], None]) -> None:
    await dbg.begin_tool_invocation_breakpoint("write", {})
    write()
    await dbg.end_tool_invocation_breakpoint("done")


async def event(dbg: Any, write: Callable[[], None]) -> None:
    async with dbg.event("write"):
        write()


async def function(dbg: Any, write: Callable[[], None]) -> None:
    dbg.traced_tool(name="write")(write)()


async def coroutine(dbg: Any, write: Callable[[], None]) -> None:
    @dbg.traced_tool(name="write")
    async def tool() -> None:
        write()

    await tool()


async def generator(dbg: Any, write: Callable[[], None]) -> None:
    @dbg.traced_tool(name="write")
    def tool() -> Iterator[int]:
        yield 1
        write()

    assert list(tool()) == [1]


async def async_generator(dbg: Any, write: Callable[[], None]) -> None:
    @dbg.traced_tool(name="write")
    async def tool() -> AsyncIterator[int]:
        yield 1
        write()

    assert [item async for item in tool()] == [1]


async def wrapped(dbg: Any, write: Callable[[], None]) -> None:
    class Tools:
        def write(self) -> None:
            write()

    dbg.wrap(Tools, "write")
    Tools().write()


#: Between two `methods` nobody hears of an exception.
FORMS = [block, methods, event, function, coroutine, generator, async_generator, wrapped]
#: Those that each run tries with the asynchronous AgentStepper; the others it tries with the other.
ASYNC_FORMS = [methods, coroutine, async_generator, wrapped]


def each_form(*forms: Form) -> pytest.MarkDecorator:
    """Try forms with both AgentSteppers, each time with one of them."""
    return pytest.mark.parametrize(
        ("stepper_kind", "form"),
        [
            pytest.param(
                kind,
                form,
                id=f"{form.__name__} {kind}",
                marks=() if (kind == "async") == (form in ASYNC_FORMS) else pytest.mark.soak,
            )
            for form in forms
            for kind in ("sync", "async")
        ],
    )


@each_form(*FORMS)
def test_each_form_of_a_tool(
    stepper_kind: str, form: Form, core: ScriptedCore, folder: Path
) -> None:
    async def scenario(dbg: Any) -> None:
        await form(dbg, lambda: (folder / "new.txt").write_text("new\n") and None)

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    (snapshot,) = list_commits(peer)
    event = tool_event(peer)
    assert (snapshot.snapshot, snapshot.event, snapshot.title) == (True, event.id, "Add new.txt")
    assert paths(snapshot) == ["new.txt"]
    assert snapshot.changes[0].body is not None
    assert snapshot.changes[0].body.content == "new\n"
    place = peer.received.index(snapshot)
    assert peer.received[place + 1] is end_of(peer, event)
    assert sorted(path.name for path in folder.iterdir()) == ["new.txt", "old.txt"]


@each_form(*(form for form in FORMS if form is not methods))
def test_a_tool_that_fails_has_changed_files_all_the_same(
    stepper_kind: str, form: Form, core: ScriptedCore, folder: Path
) -> None:
    def write() -> None:
        (folder / "old.txt").unlink()
        raise ValueError("halfway")

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ValueError, match="halfway"):
            await form(dbg, write)

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    (snapshot,) = list_commits(peer)
    end = end_of(peer, tool_event(peer))
    assert snapshot.event == end.event
    assert [change.kind for change in snapshot.changes] == ["deleted"]
    assert (end.outcome, end.waits) == (EventOutcome.ERROR, True)
    assert peer.received.index(snapshot) == peer.received.index(end) - 1


@both
@pytest.mark.parametrize("order", [KeyboardInterrupt, asyncio.CancelledError])
def test_a_tool_that_is_ended_from_outside(
    stepper_kind: str, order: type[BaseException], core: ScriptedCore, folder: Path
) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(order):
            async with dbg.tool("write", {}):
                (folder / "half.txt").write_text("half")
                raise order

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    (snapshot,) = list_commits(peer)
    end = end_of(peer, tool_event(peer))
    assert (paths(snapshot), snapshot.event) == (["half.txt"], end.event)
    assert (end.outcome, end.waits) == (EventOutcome.STOPPED, False)
    assert peer.received.index(snapshot) == peer.received.index(end) - 1


def test_a_coroutine_that_is_closed_inside_a_tool_waits_for_nothing(
    core: ScriptedCore, folder: Path
) -> None:
    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port, folder) as dbg:
            inside = asyncio.Event()

            async def agent() -> None:
                async with dbg.tool("write", {}):
                    (folder / "half.txt").write_text("half")
                    inside.set()
                    await asyncio.Event().wait()

            closed = agent()  # driven by hand: a task would be cancelled, not closed
            while not inside.is_set():
                waits_for = closed.send(None)
                while not (inside.is_set() or waits_for is None or waits_for.done()):
                    await asyncio.sleep(0)
            closed.close()

    asyncio.run(main())
    peer = core.wait_for_peer()
    assert list_commits(peer) == []
    assert end_of(peer, tool_event(peer)).outcome is EventOutcome.STOPPED


# ---- what makes none --------------------------------------------------------------------------------


@both
def test_where_nothing_changed_nothing_is_sent(
    stepper_kind: str, core: ScriptedCore, folder: Path
) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("look", {}):
            assert (folder / "old.txt").read_text() == "old\n"
        (folder / "new.txt").write_text("the agent's own")
        async with dbg.llm("p") as q:
            q.response = "a model changes no files"

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    assert list_commits(peer) == []
    assert len(peer.halt_points) == 5


@both
def test_without_a_workspace_nobody_looks(
    stepper_kind: str, core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def called(_: Workspace) -> None:
        raise AssertionError("for nothing")

    monkeypatch.setattr(Workspace, "snapshot", called)

    async def scenario(dbg: Any) -> None:
        async with dbg.tool("t", {}):
            pass

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert not any(isinstance(message, CommitMade) for message in peer.received)


@both
def test_a_denied_call_wasnt_made(stepper_kind: str, core: ScriptedCore, folder: Path) -> None:
    core.policy = ScriptedAnswers(ResumeAnswer(), DenyAnswer(reason="no"))

    async def scenario(dbg: Any) -> None:
        (folder / "before.txt").write_text("not the tool's")
        with pytest.raises(Exception, match="no"):
            async with dbg.tool("write", {}):
                raise AssertionError("denied")

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    assert list_commits(core.wait_for_peer()) == []


# ---- beside other things ----------------------------------------------------------------------------


@both
def test_a_commit_covers_the_snapshots_before_it(
    stepper_kind: str, core: ScriptedCore, folder: Path
) -> None:
    async def scenario(dbg: Any) -> Any:
        for name in ("a", "b"):
            async with dbg.tool("write", {}):
                (folder / name).write_text(name)
        made = [await dbg.commit_agent_changes("Both"), await dbg.commit_agent_changes("Again")]
        async with dbg.tool("commit", {}):
            (folder / "c").write_text("c")
            made.append(await dbg.commit_agent_changes("Inside"))
        return made

    assert run(stepper_kind, core, scenario, agent_workspace_path=folder) == [True, False, True]
    told = [(each.snapshot, each.title, paths(each)) for each in list_commits(core.wait_for_peer())]
    assert told == [
        (True, "Add a", ["a"]),
        (True, "Add b", ["b"]),
        (False, "Both", ["a", "b"]),
        (False, "Inside", ["c"]),
    ]


@both
def test_a_tool_around_a_tool(stepper_kind: str, core: ScriptedCore, folder: Path) -> None:
    async def scenario(dbg: Any) -> None:
        async with dbg.tool("outer", {}):
            (folder / "a").write_text("a")
            async with dbg.tool("inner", {}):
                (folder / "b").write_text("b")
            (folder / "c").write_text("c")

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    first, second = list_commits(peer)
    assert (first.event, paths(first)) == (tool_event(peer, "inner").id, ["a", "b"])
    assert (second.event, paths(second)) == (tool_event(peer, "outer").id, ["c"])


@both
def test_a_given_result_and_one_that_is_no_json(
    stepper_kind: str, core: ScriptedCore, folder: Path
) -> None:
    core.policy = ScriptedAnswers(ResumeAnswer(), SkipAnswer(result=Raw(b'"given"')))

    async def scenario(dbg: Any) -> None:
        async with dbg.tool("skipped", {}):
            (folder / "a").write_text("it ran on")
        async with dbg.tool("write", {}) as t:
            (folder / "b").write_text("b")
            t.result = object()

    run(stepper_kind, core, scenario, agent_workspace_path=folder)
    peer = core.wait_for_peer()
    first, second = list_commits(peer)
    assert first.event == tool_event(peer, "skipped").id
    assert (second.event, paths(second)) == (tool_event(peer).id, ["b"])


def test_an_agent_in_a_borrowed_run_has_the_workspace_of_the_run(
    core: ScriptedCore, folder: Path
) -> None:
    with AgentStepper("Cell", "127.0.0.1", core.port, folder) as cell, set_current_stepper(cell):
        with AgentStepper("Agent") as dbg:
            with dbg.tool("write", {}):
                (folder / "new.txt").write_text("new\n")
            assert dbg.commit_agent_changes("Named")
    peer = core.wait_for_peer()
    told = [(each.snapshot, paths(each)) for each in list_commits(peer)]
    assert told == [(True, ["new.txt"]), (False, ["new.txt"])]
    assert list_commits(peer)[0].event == tool_event(peer).id


def test_secrets_are_masked_and_redact_sees_them(
    core: ScriptedCore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", "sk-1234567890abcdef")

    def redact(word: str, value: Any) -> Any:
        if word == "commit":
            assert value["snapshot"] is bool(value["changes"])
            public = [c for c in value["changes"] if c["path"] != "private.txt"]
            return {"id": value["id"], "at": value["at"], "title": "Hidden", "changes": public}
        return value

    with AgentStepper("T", "127.0.0.1", core.port, folder, redact=redact) as dbg:
        with dbg.tool("write", {}):
            (folder / "private.txt").write_text("private")
            (folder / "public.txt").write_text("key = sk-1234567890abcdef\n")
    (snapshot,) = list_commits(core.wait_for_peer())
    assert (snapshot.snapshot, paths(snapshot)) == (True, ["public.txt"])
    assert b"1234567890" not in repr(snapshot).encode()


# ---- version 1 --------------------------------------------------------------------------------------


@both
def test_a_core_of_version_1_hears_of_commits_only(
    stepper_kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def called(_: Workspace) -> None:
        raise AssertionError("for nothing")

    monkeypatch.setattr(Workspace, "snapshot", called)

    async def scenario(dbg: Any) -> Any:
        async with dbg.tool("write", {}):
            (folder / "new.txt").write_text("new\n")
        return await dbg.commit_agent_changes("Named")

    with ScriptedCore(version=1) as core:
        assert run(stepper_kind, core, scenario, agent_workspace_path=folder) is True
        peer = core.wait_for_peer()
        peer.wait_until_gone()
    made = [message for message in peer.received if isinstance(message, v1.V1Commit)]
    assert [commit.title for commit in made] == ["Initialized repository", "Named"]
    assert [change.path for change in made[1].changes] == ["new.txt"]
