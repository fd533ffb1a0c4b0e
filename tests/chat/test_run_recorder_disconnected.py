"""Sessions whose debugger isn't there, comes late, goes away or comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.chat import run_recorder
from agentstepper_nb.chat.limits import ChatLimits
from agentstepper_nb.protocol.chat import TurnEnding
from agentstepper_nb.protocol.data_model import EventSide
from agentstepper_nb.protocol.data_model import RunEnding as RunEnding
from tests.chat.harness import GatedAnswer, ScriptedAgent, debugged_harness
from tests.coding.debugged_agent import AsyncLiveView


@pytest.fixture
def unreachable_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no Core at the address that is given."""
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")


async def test_without_a_debugger_the_chat_goes_on_and_says_why(
    unreachable_core: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with debugged_harness(ScriptedAgent()) as home:
        assert [each.content for each in await home.send_and_read()] == ["Yes."]
        assert home.info.run_id is None
        assert "127.0.0.1:9" in (home.info.no_debugger or "")
        assert home.fold.info == home.info


async def test_a_debugger_that_comes_later_is_found_by_the_next_turn(
    core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ChatLimits(reconnect_interval_s=0.0)
    there = f"ws://127.0.0.1:{core.client_port}"
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    async with debugged_harness(ScriptedAgent(), step=False, limits=limits) as home:
        await home.send_and_read()
        assert home.info.run_id is None
        monkeypatch.setenv("AGENTSTEPPER_URL", there)
        await home.send_and_read()
        assert home.info.run_id is not None
        assert home.info.no_debugger is None


async def test_it_is_not_looked_for_at_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    now, tries = [0.0], []

    class Away(AsyncAgentStepper):
        @classmethod
        async def connect(cls, *given: Any, **options: Any) -> Any:
            tries.append(options)
            raise OSError("away")

    monkeypatch.setattr(run_recorder, "AsyncAgentStepper", Away)
    made = run_recorder.RunRecorder(
        lambda: "chat",
        workspace=None,
        debugger=True,
        step=False,
        notify_changed=lambda: None,
        log=run_recorder.logging.getLogger("test"),
        clock=lambda: now[0],
    )

    async def act(dbg: Any, args: Any) -> Any:
        return args

    for now[0], tried in ((0.0, 1), (0.5, 1), (1.1, 2), (1.2, 2)):
        assert (await made.record_tool_call("a", 1, act)).value == 1
        assert len(tries) == tried
    await made.close()


async def test_a_debugger_that_is_slow_holds_no_turn_up(
    core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ChatLimits(first_connect_timeout_s=0.0, reconnect_interval_s=0.0)
    answers = asyncio.Event()

    class Slow(AsyncAgentStepper):
        @classmethod
        async def connect(cls, *given: Any, **options: Any) -> Any:
            await answers.wait()
            return await AsyncAgentStepper.connect(*given, **options)

    monkeypatch.setattr(run_recorder, "AsyncAgentStepper", Slow)
    async with debugged_harness(ScriptedAgent(), step=False, limits=limits) as home:
        await home.send_and_read()
        assert (home.info.run_id, home.info.no_debugger) == (None, run_recorder._NOT_CONNECTED_YET)
        answers.set()
        await home.send_and_read()
        assert home.info.run_id is not None
        assert home.info.no_debugger is None


async def test_a_debugger_that_comes_after_the_last_turn_sees_the_run_end(
    view: AsyncLiveView,
) -> None:
    limits = ChatLimits(first_connect_timeout_s=0.0)
    async with debugged_harness(ScriptedAgent(), step=False, limits=limits) as home:
        await home.send_and_read()
        assert home.info.run_id is None
        await asyncio.to_thread(view.wait_until, lambda run: True)
        connecting = home.interpreter.find(home.session).recording._connecting
        assert connecting is not None
        await asyncio.wait({connecting})
    assert (await asyncio.to_thread(view.wait_until_ended)).ending is RunEnding.FINISHED


async def test_a_core_that_goes_away_takes_no_turn_with_it(core: AgentStepperCore) -> None:
    limits = ChatLimits(run_close_timeout_s=0.01)
    gate = GatedAnswer(["One"], [" two."])
    async with debugged_harness(ScriptedAgent(gate), step=False, limits=limits) as home:
        home.send("Hello.")
        await gate.reached.wait()
        await asyncio.to_thread(core.stop)
        gate.opened.set()
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.messages[-1].content == "One two."
        await home.send_and_read("And now?")
        assert home.info.ending is TurnEnding.DONE
        assert "away" in (home.info.no_debugger or "")
        dbg = home.interpreter.find(home.session).recording._dbg
        assert dbg is not None
        link = dbg._current_session().link
    link.give_up()  # else it would go on looking for its Core, beside other tests
    await asyncio.wrap_future(link.closed)


async def test_a_core_that_comes_back_has_what_was_done_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(port: int = 0) -> AgentStepperCore:
        core = AgentStepperCore("127.0.0.1", client_port=port, ui_port=0, data=tmp_path)
        core.start()
        return core

    core, gate = await asyncio.to_thread(made), GatedAnswer(["One"], [" two."])
    port = core.client_port
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{port}")
    async with debugged_harness(
        ScriptedAgent(gate), ScriptedAgent(name="other"), step=False
    ) as home:
        home.send("Hello.")
        await gate.reached.wait()
        first = home.info.run_id
        await asyncio.to_thread(core.stop)
        await home.wait_until(
            lambda info: "away" in (info.no_debugger or "")
        )  # told while a turn goes on
        gate.opened.set()
        await home.wait_for_user_turn(TurnEnding.DONE)
        await home.send_and_read("Meanwhile.", "other")
        core = await asyncio.to_thread(made, port)
        try:
            with AsyncLiveView(core.ui_port) as view:
                await home.wait_until(lambda info: info.no_debugger is None)  # and between turns
                await home.send_and_read("And now?", "other")
                assert home.info.run_id == first
                await home.interpreter.close()
                run = await asyncio.to_thread(view.wait_until_ended)
                assert run.ending is RunEnding.FINISHED
                rows = await asyncio.to_thread(view.list_rows)
                tools = [(row.name, row.side) for row in rows if row.name in ("actor", "other")]
                each = [EventSide.BEGIN, EventSide.END]
                assert tools == [
                    *(("actor", side) for side in each),
                    *(("other", side) for side in each * 2),
                ]
        finally:
            await asyncio.to_thread(core.stop)
