"""Sessions are set, looked for, removed and closed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import (
    SessionRemoved,
    State,
)
from tests.chat.house import Actor, Gate, kept_nowhere, refused
from tests.helpers.loops import on_loop


@on_loop
async def test_a_session_is_set() -> None:
    async with kept_nowhere(Actor(), Actor(["No."], "other")) as home:
        info = home.interpreter.set(home.session, title="T", default_agent="other", auto_chat_max=7)
        assert (info.title, info.default_agent, info.auto_chat_max) == ("T", "other", 7)
        assert [each.content for each in await home.ask()] == ["No."]
        info_then = home.info
        with refused("unknown_agent"):
            home.interpreter.set(home.session, default_agent="nobody", title="U", auto_chat_max=8)
        with pytest.raises(ProtocolError):
            home.interpreter.set(home.session, default_agent="actor", title="U", auto_chat_max=-1)
        assert home.info == home.fold.info == info_then


@on_loop
async def test_an_unknown_session_is_refused() -> None:
    async with kept_nowhere() as home:
        here = home.interpreter
        for ask in (here.info, here.messages, here.open, here.auto_chat):
            for session in ("", "../../etc/passwd", "x" * 5000, str(UUID(int=1))):
                with refused("unknown_session"):
                    ask(session)
        with refused("unknown_session"):
            await here.stop("nothing")
        with refused("unknown_session"):
            await here.remove("nothing")


@on_loop
async def test_removing_ends_the_turn_and_the_session() -> None:
    gate, actor = Gate(["One"]), Actor()
    waits = Actor(gate, "waits")
    async with kept_nowhere(waits, actor) as home:
        home.send("Go.")
        await gate.reached.wait()
        await home.interpreter.remove(home.session)
        assert gate.closed
        assert home.fold.events[-1] == SessionRemoved(session_id=home.session)
        assert home.fold.phases[-2:] == [("waits", "ended"), ("actor", "ended")]
        assert waits.ended_in == actor.ended_in == [home.session]
        with refused("unknown_session"):
            home.send("Hello?")
        assert home.interpreter.sessions() == []


@on_loop
async def test_closing_ends_everything_and_twice_is_once() -> None:
    gate = Gate(["One"])
    actor = Actor(gate)
    async with kept_nowhere(actor, auto_chat=True) as home:
        home.send("Go.")
        await gate.reached.wait()
        await home.interpreter.close()
        assert gate.closed
        assert home.fold.states[-1] is State.STATE_STOP
    assert (actor.closes, actor.ended_in) == (1, [home.session])


@on_loop
async def test_a_connector_that_does_not_let_go_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("agentstepper_nb.chat.agents.PATIENCE_S", 0.01)
    monkeypatch.setattr("agentstepper_nb.chat.agents.LAST_S", 0.01)
    leave = asyncio.Event()

    class Clings(Actor):
        async def ended(self, session_id: str) -> None:
            await asyncio.Event().wait()

        async def close(self) -> None:
            raise ValueError("never")

    class Holds(Actor):
        async def ended(self, session_id: str) -> None:
            while not leave.is_set():
                with suppress(asyncio.CancelledError):
                    await leave.wait()

        def close(self) -> Any:
            raise ValueError("nor I")

    class Ends(Actor):
        async def ended(self, session_id: str) -> None:
            raise SystemExit(3)

        async def close(self) -> None:
            raise KeyboardInterrupt

    class Waits(Actor):
        def ended(self, session_id: str) -> Any:
            return None

        async def close(self) -> None:
            raise asyncio.CancelledError

    agents = Clings(), Holds(name="holds"), Ends(name="ends"), Waits(name="waits")
    async with kept_nowhere(*agents) as home:
        await home.ask()
    assert len([each for each in caplog.records if "didn't" in each.message]) == 8
    leave.set()
