"""*Drop into pdb*: the agent of a cell stops in its own code, and its kernel asks below the cell."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol import inspection as wire
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.sdk.inspection.pdb_entry import NO_INPUT, NO_STDIN, PLACE
from tests.kernels.front import CommConnection, Frontend
from tests.kernels.test_view import BLOCKS, DEAF, plain
from tests.widgets.person import KernelTestView

SOURCE = """
def ask(local):
    with dbg.llm({"q": local}) as query:
        query.response = query.prompt["q"]
    return query.response + local

ask(20) + 1
"""
#: The same with tasks, in a loop of the cell's own.
ASYNC_SOURCE = """
import asyncio, agentstepper_nb

async def ask(local):
    async with agentstepper_nb.AsyncAgentStepper("inner") as dbg:
        async with dbg.llm({"q": local}) as query:
            query.response = query.prompt["q"]
        return query.response + local

asyncio.run(ask(20)) + 1
"""


def begin(
    front: Frontend, subshell: str | None, source: str, options: str = "", **asked: bool
) -> tuple[str, KernelTestView, dict[str, str]]:
    """A cell that is halted at its query, somebody at its view, and what names the halt point."""
    cell = front.start(f"%%step agent {options}\n{source}", **asked)
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell), subshell))
    run = person.find_halted_run()
    return cell, person, {"run": run.id, "halt_point": run.pending[0]}


@BLOCKS
@pytest.mark.parametrize("option", ["--main", ""])
def test_pdb_stops_in_the_agents_own_frame(front: Frontend, subshell: str, option: str) -> None:
    count = int(str(front.run("len(In)").value))
    cell, person, named = begin(front, subshell, SOURCE, option)
    stack = person.ask(wire.GetStack(**named), wire.StackSnapshot)
    assert stack.pdb_refusal is None
    own = [frame.location for frame in stack.frames if frame.is_own]
    assert [(each.function, each.line, each.cell) for each in own[:2]] == [
        ("ask", 4, count),
        ("<module>", 8, count),
    ]
    assert person.ask(wire.EnterPdb(**named, revision=1), wire.PdbReady).where == PLACE
    assert front.answer_input("p local * 2").startswith("ipdb>")
    front.answer_input("local = 30")
    front.answer_input("c")
    person.step_run(person.find_halted_run())  # its end
    ran = front.wait_for_end(cell)
    assert (ran.status, ran.value) == ("ok", "51")
    text = plain(ran.text)
    assert "40\n" in text
    assert "query.response = query.prompt" in text  # the line it stopped at
    assert person.wait_until_ended().ending is RunEnding.FINISHED


@BLOCKS
def test_pdb_stops_in_a_task(front: Frontend, subshell: str) -> None:
    cell, person, named = begin(front, subshell, ASYNC_SOURCE)
    assert person.ask(wire.GetStack(**named), wire.StackSnapshot).is_task
    person.ask(wire.EnterPdb(**named, revision=1), wire.PdbReady)
    front.answer_input("p local * 2")
    front.answer_input("c")
    person.step_run(person.find_halted_run())
    ran = front.wait_for_end(cell)
    assert (ran.status, ran.value) == ("ok", "41")
    assert "40\n" in plain(ran.text)


@DEAF
def test_a_cell_in_the_background_says_why_not(front: Frontend, subshell: None) -> None:
    cell, person, named = begin(front, subshell, SOURCE)
    front.wait_for_end(cell)  # it goes on in the background
    assert person.ask(wire.GetStack(**named), wire.StackSnapshot).pdb_refusal == NO_INPUT
    person.step_run(person.find_halted_run())
    person.step()


@BLOCKS
def test_a_front_end_that_cannot_ask_says_why_not(front: Frontend, subshell: str) -> None:
    cell, person, named = begin(front, subshell, SOURCE, can_ask=False)
    assert person.ask(wire.GetStack(**named), wire.StackSnapshot).pdb_refusal == NO_STDIN
    person.step_run(person.find_halted_run())
    person.step()
    front.wait_for_end(cell)
