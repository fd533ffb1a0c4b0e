"""A chat says that its turn waits for a person in the debugger, and not the person for an answer."""

from __future__ import annotations

import asyncio
from typing import Any

from agentstepper_nb.chat.recording import Halting
from agentstepper_nb.protocol.chat import Ending
from tests.chat.house import Actor, House, house
from tests.coding.debugged import View
from tests.helpers.loops import on_loop


class Link:
    """A run's link, whose breakpoints come and go as the test has it."""

    def __init__(self) -> None:
        self.halted = False
        self._callback: Any = None

    def on_halted(self, callback: Any) -> None:
        self._callback = callback

    def set(self, halted: bool) -> None:
        self.halted = halted
        self._callback()


class Run:
    """What `Halting` looks at of an AgentStepper."""

    def __init__(self) -> None:
        self.link = Link()

    def _live(self) -> Run:
        return self


async def until(home: House, *, halted: bool) -> None:
    """Wait until the session says so."""
    said = asyncio.Event()
    detach = home.interpreter.attach(
        home.session, lambda _: said.set() if home.info.halted is halted else None
    )
    await said.wait()
    detach()


@on_loop
async def test_a_halted_turn_is_said_to_be_and_no_longer_once_it_goes_on(view: View) -> None:
    async with house(None, Actor(["Yes."]), keep=False, debugger=True, step=True) as home:
        home.send("Hello.")
        await view.at()
        await until(home, halted=True)
        await view.steps()
        await view.at()
        await until(home, halted=True)
        await view.steps()
        await home.rests(Ending.DONE)
        assert not home.info.halted


@on_loop
async def test_stopping_a_halted_turn_ends_the_halt(view: View) -> None:
    async with house(None, Actor(["Yes."]), keep=False, debugger=True, step=True) as home:
        home.send("Hello.")
        await view.at()
        await until(home, halted=True)
        await home.stop()
        assert not home.info.halted


@on_loop
async def test_a_breakpoint_that_is_answered_at_once_is_no_halt() -> None:
    told: list[bool] = []
    halting = Halting(lambda: told.append(halting.now))
    run = Run()
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
