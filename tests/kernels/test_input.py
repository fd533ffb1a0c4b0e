"""What asks by `input()` below a cell: stepping where no view can be, and *Drop into pdb*.

While the main thread asks, an agent that is stepped waits on a thread of its own; in pdb it stops in its
own code.
"""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol import inspection as wire
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.sdk.inspection.pdb_entry import NO_STDIN, PLACE
from tests.kernels.front import CommConnection, Frontend, plain
from tests.kernels.test_view import BLOCKS
from tests.widgets.person import KernelTestView

#: A kernel whose main thread may be blocked: one without subshells asks as well, in test_view.py.
pytestmark = [BLOCKS, pytest.mark.slow]

ASK = """
with dbg.llm({"q": 1}) as query:
    query.response = query.prompt
"""


def test_a_step_and_an_edit(front: Frontend) -> None:
    cell = front.start(f"%%step asked --input\n{ASK}\nquery.response")
    assert front.answer_input("e").startswith("[s]tep")
    assert "as a line of JSON" in front.answer_input('{"q": 1.0}')
    front.answer_input("s")
    front.answer_input("step")
    ran = front.wait_for_end(cell)
    assert (ran.status, ran.value) == ("ok", "{'q': 1.0}")
    assert "Halted at 2, Agent → LLM, edited:" in ran.text
    assert not [kind for kind, _ in ran.outputs if kind == "display_data"]  # no view


def test_high_risk_is_approved_by_the_key_and_the_tools_name(front: Frontend) -> None:
    call = 'dbg.tool("shell", "rm", approval=agentstepper_nb.Approval("It deletes.", "high"))'
    source = f"import agentstepper_nb\nwith {call} as t:\n    t.result = 'ran'\nt.result"
    cell = front.start(f"%%step --input\n{source}")
    for stray in ("", " ", "s", "n", "step", "c"):
        assert front.answer_input(stray).startswith("[a]pprove")
    for wrong in ("", "a", "s"):
        front.answer_input("a")
        assert front.answer_input(wrong).startswith("High risk: type “shell” and Enter")
    front.answer_input("a")
    front.answer_input("shell")
    ran = front.wait_for_end(cell)
    assert (ran.status, ran.value) == ("ok", "'ran'")
    assert ran.text.count("Nothing was approved.") == 3


def test_what_means_nothing(front: Frontend) -> None:
    cell = front.start(f"%%step --input\n{ASK}")
    for typed in ("", "walk", "?", "v", "c"):
        front.answer_input(typed)
    ran = front.wait_for_end(cell)
    assert "walk is not a command" in ran.text
    assert "c         continue" in ran.text
    assert ran.status == "ok"


def test_stop(front: Frontend) -> None:
    cell = front.start(f"%%step --input\n{ASK}")
    front.answer_input("stop")
    ran = front.wait_for_end(cell)
    assert ran.status == "ok"
    assert "Stopped by you at line 3 of this cell." in ran.text


def test_an_interrupt_while_it_asks(front: Frontend) -> None:
    cell = front.start(f"%%step --input\n{ASK}")
    front.read_until(lambda: bool(front.asked))
    front.kernel.interrupt()
    assert front.wait_for_end(cell).error == "KeyboardInterrupt"
    assert front.run("dbg").value == "<AgentStepper 'My notebook', closed>"


def test_an_exception(front: Frontend) -> None:
    cell = front.start(f"%%step --input\n{ASK}\n1 / 0")
    front.answer_input("s")
    front.answer_input("s")
    assert front.wait_for_end(cell).error == "ZeroDivisionError"


def test_leaving_and_coming_back(front: Frontend) -> None:
    """`q` leaves the agent as it is; `%agentstepper --input` goes on with it."""
    cell = front.start(f"%%step left --input\n{ASK}\nprint('done')")
    front.answer_input("q")
    ran = front.wait_for_end(cell)
    assert ran.status == "ok"
    assert "continues in the background. Step it by %agentstepper --input" in ran.text
    back = front.start("%agentstepper --input")
    front.answer_input("s")
    front.answer_input("s")
    again = front.wait_for_end(back)
    assert again.status == "ok"
    assert "left: finished" in again.text
    front.wait_for_print(cell, "done\n")
    assert front.run("%agentstepper --input").text == "No agent is running.\n"


def test_a_front_end_that_cannot_ask(front: Frontend) -> None:
    """As nbclient: the agent isn't lost, and its view can be shown."""
    cell = front.start(f"%%step mute --input\n{ASK}", can_ask=False)
    ran = front.wait_for_end(cell)
    assert ran.status == "ok"
    assert "This front end doesn't support input()" in ran.text
    person = KernelTestView(CommConnection(front, front.run_and_show("%agentstepper")))
    run = person.find_halted_run()
    assert run.program == "mute"
    person.step_run(run)
    person.step()
    assert person.wait_until_ended().ending is RunEnding.FINISHED


# ---- pdb ---------------------------------------------------------------------------------------------

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


def test_a_front_end_that_cannot_ask_says_why_pdb_cannot_be(front: Frontend, subshell: str) -> None:
    cell, person, named = begin(front, subshell, SOURCE, can_ask=False)
    assert person.ask(wire.GetStack(**named), wire.StackSnapshot).pdb_refusal == NO_STDIN
    person.step_run(person.find_halted_run())
    person.step()
    front.wait_for_end(cell)
