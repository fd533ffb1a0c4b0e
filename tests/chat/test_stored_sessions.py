"""Sessions begin, are kept, opened again, and end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from agentstepper_nb.chat import line_store, outputs
from agentstepper_nb.chat.limits import ChatLimits
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import ChatSessionRemoved, Message, State, TurnEnding
from tests.chat.harness import (
    PNG,
    ChatHarness,
    GatedAnswer,
    ScriptedAgent,
    expect_refusal,
    harness,
    unstored_harness,
)


async def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    picture = outputs.image(PNG, alt="A plot")
    async with harness(
        tmp_path, ScriptedAgent(["One.", picture]), ScriptedAgent(name="other")
    ) as home:
        await home.send_and_read("Hello.")
        home.interpreter.update_session(
            home.session, title="Mine", default_agent="other", auto_chat_max=9
        )
        said = home.messages
        (listed,) = home.interpreter.sessions()
        assert (listed.live, listed.title) == (True, "Mine")
    async with harness(tmp_path, ScriptedAgent(), ScriptedAgent(["Two."], "other")) as other:
        here = other.interpreter
        found = next(each for each in here.sessions() if each.id == home.session)
        assert (found.live, found.title, found.messages, found.ending) == (
            False,
            "Mine",
            3,
            TurnEnding.DONE,
        )
        assert here.info(home.session) == found
        info = here.open(home.session)
        assert (info.state, info.live, info.messages_in_memory) == (State.STATE_STOP, True, 3)
        assert (info.auto_chat_max, info.created_at) == (9, found.created_at)
        assert here.open(home.session) == info
        again = ChatHarness(here, home.session)
        assert again.messages == said
        assert (await here.read_image(home.session, said[2].id)).data == PNG
        assert [each.content for each in await again.send_and_read("And?")] == ["Two."]
        assert [each.title for each in here.sessions()] == ["Mine", ""]


async def test_only_the_newest_messages_are_held_and_all_are_kept(tmp_path: Path) -> None:
    answer = [outputs.code(str(n), f"l{n}") for n in range(120)]
    async with harness(tmp_path, ScriptedAgent(answer)) as home:
        await home.send_and_read()
        assert (home.info.messages, home.info.messages_in_memory, len(home.messages)) == (
            121,
            100,
            100,
        )
        page = home.interpreter.read_earlier_messages(home.session, home.messages[0].id, 50)
        assert (len(page.messages), page.more) == (21, False)
        assert page.messages[0].content == "Hello."
        assert home.fold.messages == home.messages
    async with harness(tmp_path) as other:
        info = other.interpreter.open(home.session)
        assert (info.messages, info.messages_in_memory) == (121, 100)
        assert other.interpreter.messages(home.session) == home.fold.messages


async def test_what_is_too_large_together_is_not_held(tmp_path: Path) -> None:
    limits = ChatLimits(max_cached_bytes=5000)
    answer = [outputs.image(PNG + b"x" * 1000, alt=str(n)) for n in range(20)]
    async with harness(tmp_path, ScriptedAgent(answer), window=2, limits=limits) as home:
        await home.send_and_read()
        assert (home.info.messages, home.info.messages_in_memory) == (21, 4)
        assert (home.fold.info, home.fold.messages) == (home.info, home.messages)
        first = home.interpreter.read_earlier_messages(home.session, home.messages[0].id).messages[
            1
        ]
        assert (await home.interpreter.read_image(home.session, first.id)).data.startswith(PNG)


async def test_what_a_kill_left_open_is_closed_when_it_is_opened_again(tmp_path: Path) -> None:
    async def asks(message: Message, turn: Any) -> Any:
        await turn.confirm("Sure?")
        yield "never"

    async with harness(tmp_path, ScriptedAgent(asks)) as home:
        home.send("Go.")
        await home.wait_until(lambda info: info.waiting)
        path = tmp_path / "chats" / f"{home.session}.jsonl"
        copy = path.with_name(f"{uuid4()}.jsonl")
        copy.write_bytes(path.read_bytes())  # as a kill would leave it
        info = home.interpreter.open(copy.stem)
        assert (info.state, info.ending, info.waiting) == (
            State.STATE_STOP,
            TurnEnding.STOPPED,
            None,
        )
        question = home.interpreter.messages(copy.stem)[-1]
        assert (question.type, question.final, question.chosen) == ("CONFIRMATION", True, None)


def kill_in_turn(folder: Path) -> str:
    """Fork a process that is killed in the midst of a turn; gives the session's id."""

    async def begin_turn(told: int) -> None:
        gate = GatedAnswer([outputs.console("one"), "half"])
        async with harness(folder, ScriptedAgent(gate)) as home:
            home.send("Go.")
            await gate.reached.wait()
            os.write(told, home.session.encode())
            os.kill(os.getpid(), signal.SIGKILL)

    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            asyncio.run(begin_turn(write))
        except BaseException:
            # `os._exit` leaves without printing what ended it.
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as pipe:
        session = pipe.read()
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    return session


def test_what_was_said_outlives_a_kill(tmp_path: Path) -> None:
    session = kill_in_turn(tmp_path)

    async def resume() -> None:
        async with harness(tmp_path) as home:
            here = home.interpreter
            (listed,) = (each for each in here.sessions() if each.id == session)
            assert (listed.live, listed.messages) == (False, 2)
            info = here.open(session)
            assert (info.state, info.ending) == (State.STATE_STOP, TurnEnding.STOPPED)
            assert [each.content for each in here.messages(session)] == ["Go.", "one"]
            again = ChatHarness(here, session)
            assert [each.content for each in await again.send_and_read("Go on.")] == ["Yes."]

    asyncio.run(resume())


async def test_each_message_is_on_disk_before_the_agent_begins(tmp_path: Path) -> None:
    gate = GatedAnswer(["One"])
    async with harness(tmp_path, ScriptedAgent(gate)) as home:
        home.send("Go.")
        await gate.reached.wait()
        text = (tmp_path / "chats" / f"{home.session}.jsonl").read_text()
        assert '"content":"Go."' in text


async def test_removing_deletes_the_file(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        await home.send_and_read()
        path = tmp_path / "chats" / f"{home.session}.jsonl"
        assert path.exists()
        await home.interpreter.remove(home.session)
        assert not path.exists()
    async with harness(tmp_path) as home:
        await home.send_and_read()
    async with harness(tmp_path) as other:
        await other.interpreter.remove(home.session)
        assert list((tmp_path / "chats").iterdir()) == []
        with expect_refusal("unknown_session"):
            other.interpreter.open(home.session)


async def test_two_interpreters_do_not_write_one_conversation(tmp_path: Path) -> None:
    async with harness(tmp_path) as home, harness(tmp_path) as other:
        await home.send_and_read()
        with expect_refusal("session_open"):
            other.interpreter.open(home.session)
        with expect_refusal("session_open"):
            await other.interpreter.remove(home.session)
        assert home.session in [each.id for each in other.interpreter.sessions()]


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def full(*given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(line_store.os, "pwrite", full)
        yield


async def test_a_full_disk_is_said_once_and_the_chat_goes_on(tmp_path: Path, no_room: None) -> None:
    async with harness(tmp_path) as home:
        await home.send_and_read("One.")
        await home.send_and_read("Two.")
        errors = [each for each in home.messages if each.format == "error"]
        assert len(errors) == 1
        assert "No space left" in errors[0].content
        assert [content for role, content in home.transcript if role != "system"] == [
            "One.",
            "Yes.",
            "Two.",
            "Yes.",
        ]
        assert home.info.ending is TurnEnding.DONE
        assert home.fold.messages == home.messages


async def test_nothing_is_written_where_nothing_is_to_be_kept(tmp_path: Path) -> None:
    async with harness(tmp_path, store=False) as home:
        await home.send_and_read()
        assert len(home.interpreter.sessions()) == 1
    assert list(tmp_path.iterdir()) == []


async def test_a_session_is_set() -> None:
    async with unstored_harness(ScriptedAgent(), ScriptedAgent(["No."], "other")) as home:
        info = home.interpreter.update_session(
            home.session, title="T", default_agent="other", auto_chat_max=7
        )
        assert (info.title, info.default_agent, info.auto_chat_max) == ("T", "other", 7)
        assert [each.content for each in await home.send_and_read()] == ["No."]
        info_then = home.info
        with expect_refusal("unknown_agent"):
            home.interpreter.update_session(
                home.session, default_agent="nobody", title="U", auto_chat_max=8
            )
        with pytest.raises(ProtocolError):
            home.interpreter.update_session(
                home.session, default_agent="actor", title="U", auto_chat_max=-1
            )
        assert home.info == home.fold.info == info_then


async def test_an_unknown_session_is_refused() -> None:
    async with unstored_harness() as home:
        here = home.interpreter
        for ask in (here.info, here.messages, here.open, here.auto_chat):
            for session in ("", "../../etc/passwd", "x" * 5000, str(UUID(int=1))):
                with expect_refusal("unknown_session"):
                    ask(session)
        with expect_refusal("unknown_session"):
            await here.stop("nothing")
        with expect_refusal("unknown_session"):
            await here.remove("nothing")


async def test_removing_ends_the_turn_and_the_session() -> None:
    gate, actor = GatedAnswer(["One"]), ScriptedAgent()
    waits = ScriptedAgent(gate, "waits")
    async with unstored_harness(waits, actor) as home:
        home.send("Go.")
        await gate.reached.wait()
        await home.interpreter.remove(home.session)
        assert gate.closed
        assert home.fold.events[-1] == ChatSessionRemoved(session_id=home.session)
        assert home.fold.phases[-2:] == [("waits", "ended"), ("actor", "ended")]
        assert waits.ended_in == actor.ended_in == [home.session]
        with expect_refusal("unknown_session"):
            home.send("Hello?")
        assert home.interpreter.sessions() == []


async def test_closing_ends_everything_and_twice_is_once() -> None:
    gate = GatedAnswer(["One"])
    actor = ScriptedAgent(gate)
    async with unstored_harness(actor, auto_chat=True) as home:
        home.send("Go.")
        await gate.reached.wait()
        await home.interpreter.close()
        assert gate.closed
        assert home.fold.states[-1] is State.STATE_STOP
    assert (actor.closes, actor.ended_in) == (1, [home.session])


class SlowClosingAgent(ScriptedAgent):
    async def on_session_closed(self, session_id: str) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        raise ValueError("never")


class HeldClosingAgent(ScriptedAgent):
    leave = asyncio.Event()

    async def on_session_closed(self, session_id: str) -> None:
        while not self.leave.is_set():
            with suppress(asyncio.CancelledError):
                await self.leave.wait()

    def close(self) -> Any:
        raise ValueError("nor I")


class FailingClosingAgent(ScriptedAgent):
    async def on_session_closed(self, session_id: str) -> None:
        raise SystemExit(3)

    async def close(self) -> None:
        raise KeyboardInterrupt


class WaitingClosingAgent(ScriptedAgent):
    def on_session_closed(self, session_id: str) -> Any:
        return None

    async def close(self) -> None:
        raise asyncio.CancelledError


async def test_a_connector_that_does_not_let_go_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits = ChatLimits(release_timeout_s=0.01, release_cancel_timeout_s=0.01)
    monkeypatch.setattr(HeldClosingAgent, "leave", asyncio.Event())
    agents = (
        SlowClosingAgent(),
        HeldClosingAgent(name="holds"),
        FailingClosingAgent(name="ends"),
        WaitingClosingAgent(name="waits"),
    )
    async with unstored_harness(*agents, limits=limits) as home:
        await home.send_and_read()
    assert len([each for each in caplog.records if each.message.startswith("Agent ")]) == 8
    HeldClosingAgent.leave.set()
