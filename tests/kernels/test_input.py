"""Stepping by `input()`, where no view can be: the main thread asks while the agent waits on its own."""

from __future__ import annotations

from agentstepper_nb.protocol.data_model import RunEnding
from tests.kernels.front import CommConnection, Frontend
from tests.widgets.person import KernelTestView

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
