"""A session: everything under one roof, kept, resumed, and closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from agentstepper_nb.coding.approvals import ApprovalDecision
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.coding.session_setup import NoDebuggerError
from agentstepper_nb.errors import CodingSessionError, ModelError
from agentstepper_nb.llm_wire.conversation import ModelRequest, ToolResultMessage, UserMessage
from agentstepper_nb.llm_wire.events import AgentEvent, TraceEvent
from agentstepper_nb.protocol.data_model import AgentActivity
from tests.coding import session_helpers
from tests.coding.scripted_parts import (
    HANGS,
    FakeApprover,
    FakeProvider,
    make_text_answer,
    make_tool_calls,
)
from tests.coding.session_helpers import entries, resume_session
from tests.sdk.person import LiveView

WRITE = ("w", "write_file", {"path": "new.txt", "content": "hello\n"})


opened = partial(session_helpers.open_session, debugger=True)  # where one is found


class SlowlyEndingProvider(FakeProvider):
    """A model whose answer never comes, and ends some time after its cancellation."""

    def __init__(self) -> None:
        super().__init__([HANGS])
        self.ending, self.may_end = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        try:
            async for event in super().stream(request):
                yield event
        finally:
            self.ending.set()
            await self.may_end.wait()


async def test_a_session_works_in_its_folder_and_is_kept(home: Path) -> None:
    heard: list[AgentEvent] = []
    model = FakeProvider(make_tool_calls(WRITE), make_text_answer("Written."))
    async with await opened(home, model, listener=heard.append) as session:
        assert session.run_id is None
        assert "No AgentStepper Core is running" in (session.no_debugger or "")
        result = await session.run("Write a file.")
        assert result.reason == "done"
        assert session.messages == result.messages
    assert (home / "repo" / "new.txt").read_text() == "hello\n"
    kept = entries(home, session.id)
    assert kept[0] == {
        "type": "session_start",
        "sessionId": session.id,
        "mode": "run",
        "resumed": False,
        "provider": "playing",
        "model": "m",
        "workspace": str(home / "repo"),
    }
    assert kept[-1] == {"type": "session_end", "reason": "closed"}
    assert len([entry for entry in kept if entry["type"] == "event"]) == len(heard)


async def test_a_session_is_resumed_with_all_that_was_said(home: Path) -> None:
    async with await opened(
        home, FakeProvider(make_tool_calls(WRITE), make_text_answer("Written."))
    ) as first:
        before = (await first.run("Write a file.")).messages
    model = FakeProvider(make_text_answer("Yes."))
    async with await resume_session(home, first.id, model) as second:
        assert second.id == first.id
        assert second.messages == before
        await second.run("And?")
    assert model.requests[0].messages == (*before, UserMessage(content="And?"))
    (found,) = CodingDataPaths(home / "data").sessions()
    assert (found.id, found.first_prompt, found.prompt_count) == (first.id, "Write a file.", 2)
    starts = entries(home, first.id, "session_start")
    assert [(start["mode"], start["resumed"]) for start in starts] == [
        ("run", False),
        ("repl", True),
    ]


async def test_a_session_that_was_cut_off_is_resumed_with_a_warning(home: Path) -> None:
    async with await opened(
        home, FakeProvider(make_tool_calls(WRITE), make_text_answer("Written."))
    ) as first:
        await first.run("Write a file.")
    path = CodingDataPaths(home / "data").log(first.id)
    lines = path.read_bytes().splitlines(keepends=True)
    answer = next(i for i, line in enumerate(lines) if b'"toolCalls"' in line)
    path.write_bytes(b"".join(lines[: answer + 1]) + lines[answer + 1][:9])
    heard: list[AgentEvent] = []
    model = FakeProvider(make_text_answer("I look."))
    async with await resume_session(home, first.id, model, listener=heard.append) as second:
        assert isinstance(heard[0], TraceEvent)
        assert "can't be read" in heard[0].data["message"]
        lost = second.messages[-1]
        assert isinstance(lost, ToolResultMessage)
        assert "interrupted" in lost.content
        assert (await second.run("Go on.")).reason == "done"
        whole = second.messages
    third = await resume_session(home, first.id, FakeProvider())
    assert third.messages == whole
    await third.close()


async def test_a_session_is_open_once(home: Path) -> None:
    async with await opened(home, FakeProvider()) as session:
        with pytest.raises(CodingSessionError, match="open in this process already: close it"):
            await resume_session(home, session.id, FakeProvider())
        with pytest.raises(CodingSessionError, match="already exists: resume it"):
            await opened(home, FakeProvider(), session_id=session.id)
    with pytest.raises(CodingSessionError, match="closed: resume it"):
        await session.run("More?")
    await session.close()


@pytest.mark.parametrize("id", ["../x", "a/b", "", "." * 4, "x" * 200])
def test_what_is_no_id(home: Path, id: str) -> None:
    with pytest.raises(CodingSessionError, match="isn't a valid session id"):
        asyncio.run(resume_session(home, id, FakeProvider()))


def test_what_is_not_there(home: Path) -> None:
    with pytest.raises(CodingSessionError, match="There is no session abc"):
        asyncio.run(resume_session(home, "abc", FakeProvider()))
    with pytest.raises(CodingSessionError, match="can't be used"):
        asyncio.run(opened(home, FakeProvider(), workspace=home / "none"))
    with pytest.raises(ModelError, match="no provider 'nobody'"):
        asyncio.run(opened(home, FakeProvider(), provider="nobody"))
    assert CodingDataPaths(home / "data").sessions() == []


def test_sessions_are_found_by_how_their_ids_begin(home: Path) -> None:
    async def scene() -> None:
        for id in ("ab1", "ab2", "c"):
            async with await opened(
                home, FakeProvider(make_text_answer("Hi.")), session_id=id
            ) as session:
                await session.run("Hello.")

    folders = CodingDataPaths(home / "data")
    with pytest.raises(CodingSessionError, match="no session to resume"):
        folders.latest(home / "repo")
    asyncio.run(scene())
    assert folders.find("c").id == folders.latest(home / "repo").id == "c"
    with pytest.raises(CodingSessionError, match="Several sessions' ids begin"):
        folders.find("ab")
    with pytest.raises(CodingSessionError, match="No session's id begins"):
        folders.find("x")
    (folders.log("d")).write_text("garbage\n")
    assert len(folders.sessions()) == 3
    with pytest.raises(CodingSessionError, match="has no header"):
        folders.summary("d")


async def test_cancel_returns_once_the_answer_has_ended(home: Path) -> None:
    model = FakeProvider([HANGS], make_text_answer("Hi."))
    async with await opened(home, model) as session:
        await session.cancel()
        answering = asyncio.create_task(session.run("Go."))
        await model.hanging.wait()
        with pytest.raises(CodingSessionError, match="already answering"):
            await session.run("And?")
        assert session.running
        await session.cancel()
        assert not session.running
        assert (await answering).reason == "cancelled"
        assert (await session.run("Hello.")).reason == "done"


async def test_close_cancels(home: Path) -> None:
    model = FakeProvider([HANGS])
    session = await opened(home, model)
    answering = asyncio.create_task(session.run("Go."))
    await model.hanging.wait()
    await session.close()
    assert (await answering).reason == "cancelled"


async def test_close_that_is_cancelled_lets_the_session_be_resumed(home: Path) -> None:
    model = SlowlyEndingProvider()
    session = await opened(home, model)
    answering = asyncio.create_task(session.run("Go."))
    await model.hanging.wait()
    closing = asyncio.create_task(session.close())
    await model.ending.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    async with await resume_session(
        home, session.id, FakeProvider(make_text_answer("Hi."))
    ) as again:
        assert (await again.run("Hello.")).reason == "done"
    model.may_end.set()
    assert (await answering).reason == "cancelled"


async def test_an_answer_is_cancelled_while_a_new_run_is_opened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a Stop the next prompt has a run of its own, which a debugger may be slow to open."""
    is_opening, may_open = asyncio.Event(), asyncio.Event()

    async def open_run(*args: object, **options: object) -> None:
        is_opening.set()
        await may_open.wait()
        raise NoDebuggerError("There is none.")

    model = FakeProvider(make_text_answer("Hi."))
    async with await session_helpers.open_session(home, model) as session:
        monkeypatch.setattr("agentstepper_nb.coding.session.open_run", open_run)
        session._stopped = True
        answering = asyncio.create_task(session.run("Go."))
        await is_opening.wait()
        cancelling = asyncio.create_task(session.cancel())
        asyncio.get_running_loop().call_soon(may_open.set)
        await cancelling
        assert (await answering).reason == "cancelled"
        assert model.requests == []
        assert (await session.run("Hello.")).reason == "done"


def test_always_allow_this_here_is_kept_for_the_next_session(home: Path) -> None:
    push = ("p", "run_command", {"command": "git push --force"})

    async def scene() -> None:
        person = FakeApprover(ApprovalDecision(approved=True, always=True))
        for approver in (person, None):
            model = FakeProvider(make_tool_calls(push), make_text_answer("Well."))
            async with await opened(home, model, approver=approver) as session:
                await session.run("Push.")
                result = session.messages[2]
                assert isinstance(result, ToolResultMessage)
                assert "needs a person's approval" not in result.content
        assert len(person.requests) == 1
        assert "push" in (person.requests[0].rule or "")

    asyncio.run(scene())


async def test_always_without_a_shell_does_not_hold_for_a_session_with_one(home: Path) -> None:
    both = ("r", "run_command", {"command": "rm -rf a;rm -rf b"})
    person = FakeApprover(ApprovalDecision(approved=True, always=True))
    for shell in (False, False, True):
        model = FakeProvider(make_tool_calls(both), make_text_answer("Well."))
        async with await opened(home, model, approver=person, shell=shell) as session:
            await session.run("Clean up.")
    assert len(person.requests) == 2


def test_yes_approves_and_limits_hold(home: Path) -> None:
    rm = ("r", "run_command", {"command": "rm -rf build"})

    async def scene() -> None:
        (home / "repo" / "build").mkdir()
        model = FakeProvider(make_tool_calls(rm))
        async with await opened(home, model, auto_approve=True, max_iterations=1) as session:
            assert (await session.run("Clean up.")).reason == "max_iterations"
        assert not (home / "repo" / "build").exists()

    asyncio.run(scene())


# ---- in the debugger ---------------------------------------------------------------------------------


async def test_a_session_is_a_run_of_the_debugger_that_is_found(
    home: Path, person: LiveView
) -> None:
    async with await opened(
        home, FakeProvider(make_tool_calls(WRITE), make_text_answer("Written."))
    ) as session:
        assert session.run_name == "Run #1 of code repo"
        run = await asyncio.to_thread(person.wait_until, lambda run: True)
        assert run.id == session.run_id
        await session.run("Write a file.")
    await asyncio.to_thread(person.wait_until_ended)
    commits = await asyncio.to_thread(person.list_commits)
    assert [change.path for change in commits[-1].changes] == ["new.txt"]


def test_between_prompts_nothing_is_said_to_run(home: Path, person: LiveView) -> None:
    def waits(rows: int) -> None:
        state = AgentActivity.WAITING
        person.wait_until(lambda run: run.agent_state is state and run.rows == rows)

    async def scene() -> None:
        async with await opened(
            home, FakeProvider(make_text_answer("Hi."), make_text_answer("Ho."))
        ) as session:
            await asyncio.to_thread(waits, 2)  # the program's start, its sandbox
            for rows in (4, 6):  # each a query and its answer
                await session.run("Hello.")
                await asyncio.to_thread(waits, rows)

    asyncio.run(scene())


async def test_step_begins_stepping(home: Path, person: LiveView) -> None:
    async with await opened(home, FakeProvider(make_text_answer("Hi.")), step=True) as session:
        answering = asyncio.create_task(session.run("Hello."))
        await asyncio.to_thread(person.wait_until_halted)
        await asyncio.to_thread(person.resume)
        assert (await answering).reason == "done"


def test_stop_ends_the_run_and_the_next_prompt_has_another(home: Path, person: LiveView) -> None:
    rm = ("r", "run_command", {"command": "rm -rf build"})

    async def scene() -> None:
        async with await opened(
            home, FakeProvider(make_tool_calls(rm), make_text_answer("Hi."))
        ) as session:
            first = session.run_id
            answering = asyncio.create_task(session.run("Clean up."))
            await asyncio.to_thread(person.wait_until_halted)
            await asyncio.to_thread(person.stop)
            result = await answering
            assert (result.reason, result.error) == (
                "cancelled",
                "A person pressed Stop in the debugger.",
            )
            assert session.run_id is None
            ended = await asyncio.to_thread(person.wait_until_ended)
            assert ended.ending == "stopped"
            assert (await session.run("Hello.")).reason == "done"
            assert session.run_id not in (None, first)

    asyncio.run(scene())
