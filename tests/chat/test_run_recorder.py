"""A session's run in the debugger: its turns as tool invocations, and whether one waits there."""

from __future__ import annotations

import asyncio
from typing import Any

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.chat.connectors.function_agent import FunctionAgent
from agentstepper_nb.chat.run_recorder import HaltWatcher
from agentstepper_nb.protocol.chat import TurnEnding
from agentstepper_nb.protocol.data_model import AgentActivity, EventSide, RunState
from agentstepper_nb.protocol.data_model import RunEnding as RunEnding
from tests.chat.harness import (
    NOWHERE,
    SAME,
    ChatHarness,
    ScriptedAgent,
    debugged_harness,
    harness,
    make_shown_message,
    step_through_turn,
)
from tests.coding.debugged_agent import AsyncLiveView

# ---- what is seen -----------------------------------------------------------------------------------


async def test_a_turn_is_a_tool_invocation_of_the_sessions_run(view: AsyncLiveView) -> None:
    async with debugged_harness(ScriptedAgent(["Yes."])) as home:
        home.send("Hello.")
        assert await view.wait_for_halt() == {
            "Tool": "actor",
            "Argument": {"message": make_shown_message("Hello.", "user"), "window": []},
        }
        assert (home.info.run_id, home.info.no_debugger) == (view.run.id, None)
        assert home.info.speaking == "actor"
        assert view.run.program == "chat Hello."
        await view.step_async()
        assert await view.wait_for_halt() == [make_shown_message("Yes.", agent_name="actor")]
        await view.step_async()
        await home.wait_for_user_turn(TurnEnding.DONE)
        home.send("Again.")
        begun = await view.wait_for_halt()
        assert begun["Argument"]["window"] == [
            {"id": "m1", **make_shown_message("Hello.", "user")},
            {"id": "m2", **make_shown_message("Yes.", agent_name="actor")},
        ]
        assert len(view.runs) == 1
        await home.stop()
    ended = await asyncio.to_thread(view.wait_until_ended)
    assert ended.state is RunState.IDLE


async def test_a_chat_goes_on_by_itself_unless_it_steps(view: AsyncLiveView) -> None:
    async with debugged_harness(ScriptedAgent(), step=False) as home:
        await home.send_and_read()
        await home.send_and_read()
        assert home.info.run_id == view.wait_until(lambda run: True).id


async def test_what_a_function_does_stands_within_its_turn(view: AsyncLiveView) -> None:
    def works(message: Any, turn: Any) -> Any:
        with AgentStepper("mine") as dbg, dbg.tool("look", {"at": 1}) as call:
            call.result = "seen"
        yield "Done."

    async def works_too(message: Any, turn: Any) -> Any:
        async with AsyncAgentStepper("mine") as dbg, dbg.llm("prompt") as query:
            query.response = "answer"
        async with turn.dbg.tool("own", {}) as call:
            call.result = 1
        yield "Done."

    async with debugged_harness(
        ScriptedAgent(works), ScriptedAgent(works_too, "too"), step=False
    ) as home:
        await home.send_and_read()
        await home.send_and_read(to="too")
        assert home.info.ending is TurnEnding.DONE
    await asyncio.to_thread(view.wait_until_ended)
    rows = await asyncio.to_thread(view.list_rows)
    _, *begun, _ = [(row.name, row.depth) for row in rows if row.side is EventSide.BEGIN]
    assert begun == [("actor", 0), ("look", 1), ("too", 0), (None, 1), ("own", 1)]
    assert len(view.runs) == 1


# ---- refusals and ends ------------------------------------------------------------------------------


async def test_a_denied_turn_is_an_error_and_the_run_goes_on(view: AsyncLiveView) -> None:
    actor = ScriptedAgent()
    async with debugged_harness(actor) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        await view.deny_async("Not today.")
        await home.wait_for_user_turn(TurnEnding.ERROR)
        assert home.messages[-1].content == "Not today."
        assert not actor.given
        home.send("Now?")
        await step_through_turn(view, SAME, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert len(view.runs) == 1


async def test_stop_in_the_debugger_ends_turn_and_run_and_the_next_has_a_new_one(
    view: AsyncLiveView,
) -> None:
    async with debugged_harness(ScriptedAgent()) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        first = home.info.run_id
        await asyncio.to_thread(view.stop)
        await home.wait_for_user_turn(TurnEnding.STOPPED)
        assert (await asyncio.to_thread(view.wait_until_ended)).ending.value == "stopped"
        assert home.transcript == [("user", "Hello.")]
        home.send("Again.")
        info = await home.wait_until(lambda info: info.run_id != first)
        await asyncio.to_thread(view.wait_until, lambda run: run.id == info.run_id)
        await step_through_turn(view, SAME, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)


async def test_stop_within_a_functions_own_event_ends_the_turn(view: AsyncLiveView) -> None:
    def work(message: str) -> str:
        with AgentStepper("mine") as dbg, dbg.tool("look", message) as call:
            call.result = "never seen"
        return "never said"

    async with harness(NOWHERE, FunctionAgent(work), store=False, debugger=True, step=True) as home:
        home.send("Hello.")
        await step_through_turn(view, SAME)
        assert await view.wait_for_halt() == {"Tool": "look", "Argument": "Hello."}
        await asyncio.to_thread(view.stop)
        await home.wait_for_user_turn(TurnEnding.STOPPED)
        assert home.transcript == [("user", "Hello.")]
        assert (await asyncio.to_thread(view.wait_until_ended)).ending is RunEnding.STOPPED


async def test_stop_between_turns_ends_the_run_and_not_what_is_said_next(
    view: AsyncLiveView,
) -> None:
    async with debugged_harness(ScriptedAgent(), step=False) as home:
        await home.send_and_read("One.")
        first = home.info.run_id
        await asyncio.to_thread(view.wait_until, lambda run: run.id == first)
        await asyncio.to_thread(view.stop)
        assert [each.content for each in await home.send_and_read("Two.")] == ["Yes."]
        assert (home.info.ending, home.info.run_id != first) == (TurnEnding.DONE, True)
        await asyncio.to_thread(view.wait_until, lambda run: run.id != first)
        assert view.runs[str(first)].ending is RunEnding.STOPPED


async def test_stop_in_the_chat_withdraws_the_breakpoint(view: AsyncLiveView) -> None:
    async with debugged_harness(ScriptedAgent()) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        await home.stop()
        assert home.info.ending is TurnEnding.STOPPED
        await asyncio.to_thread(view.wait_until, lambda run: not run.pending)
        home.send("Again.")
        assert (await view.wait_for_halt())["Argument"]["message"]["content"] == "Again."
        await view.step_async()
        await step_through_turn(view, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)


async def test_stop_ends_a_function_that_waits_at_a_breakpoint_of_its_own(
    view: AsyncLiveView,
) -> None:
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def works(message: Any, turn: Any) -> Any:
        try:
            with AgentStepper("mine") as dbg, dbg.tool("look", {"at": 1}):
                pass
        except BaseException as error:
            loop = ended.get_loop()
            loop.call_soon_threadsafe(ended.set_result, type(error).__name__)
            raise

    async with debugged_harness(FunctionAgent(works), ScriptedAgent()) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        await view.step_async()
        assert (await view.wait_for_halt())["Tool"] == "look"
        await home.stop()
        assert home.info.ending is TurnEnding.STOPPED
        assert await asyncio.wait_for(ended, 60) == "AgentStopped"
        await asyncio.to_thread(view.wait_until, lambda run: not run.pending)
        home.send("And you?", "actor")
        assert (await view.wait_for_halt())["Tool"] == "actor"
        await home.stop()


async def test_between_turns_nothing_is_said_to_run(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    async with debugged_harness(ScriptedAgent(), step=False) as home:
        await home.send_and_read()
        run = await asyncio.to_thread(
            view.wait_until, lambda run: run.agent_state is AgentActivity.WAITING
        )
        assert run.rows >= 2  # the turn's begin and end


class FakeRunLink:
    """A run's link, whose halt points come and go as the test has it."""

    def __init__(self) -> None:
        self.is_halted = False
        self._callback: Any = None

    def on_halted(self, callback: Any) -> None:
        self._callback = callback

    def set(self, halted: bool) -> None:
        self.is_halted = halted
        self._callback()


class FakeStepper:
    """What `HaltWatcher` looks at of an AgentStepper."""

    def __init__(self) -> None:
        self.link = FakeRunLink()

    def _current_session(self) -> FakeStepper:
        return self


async def wait_until_halted(home: ChatHarness, *, halted: bool) -> None:
    """Wait until the session says so."""
    said = asyncio.Event()
    detach = home.interpreter.attach(
        home.session, lambda _: said.set() if home.info.halted is halted else None
    )
    await said.wait()
    detach()


async def test_a_halted_turn_is_said_to_be_and_no_longer_once_it_goes_on(
    view: AsyncLiveView,
) -> None:
    async with harness(
        None, ScriptedAgent(["Yes."]), store=False, debugger=True, step=True
    ) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        await wait_until_halted(home, halted=True)
        await view.step_async()
        await view.wait_for_halt()
        await wait_until_halted(home, halted=True)
        await view.step_async()
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert not home.info.halted


async def test_stopping_a_halted_turn_ends_the_halt(view: AsyncLiveView) -> None:
    async with harness(
        None, ScriptedAgent(["Yes."]), store=False, debugger=True, step=True
    ) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        await wait_until_halted(home, halted=True)
        await home.stop()
        assert not home.info.halted


async def test_a_breakpoint_that_is_answered_at_once_is_no_halt() -> None:
    told: list[bool] = []
    halting = HaltWatcher(lambda: told.append(halting.is_halted))
    run = FakeStepper()
    halting.follow(run)  # type: ignore[arg-type]
    for halted in (True, False) * 3:
        run.link.set(halted)
        await asyncio.sleep(0)
    assert not told
    run.link.set(True)
    while not told:
        await asyncio.sleep(0.01)
    run.link.set(True)  # another one waits beside it
    halting.follow(None)
    assert told == [True, False]
