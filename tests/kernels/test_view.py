"""A cell under `%%step` in a kernel with a Core of its own, stepped by comm messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from agentstepper_nb.protocol import inspection as wire
from agentstepper_nb.protocol import ui as v2
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.sdk.inspection.pdb_entry import NO_INPUT
from agentstepper_nb.widgets import VIEW_MIME
from tests.helpers.sampling import select_sample
from tests.kernels.front import CommConnection, Frontend, plain
from tests.widgets.kernel import CellResult
from tests.widgets.person import KernelTestView, connect_view

pytestmark = pytest.mark.slow

ASK = """
with dbg.llm({"q": 1}) as query:
    query.response = query.prompt
"""

#: Kernels with subshells, whose main thread may be blocked.
BLOCKS = pytest.mark.parametrize("kernel", select_sample(("7.3", "7.4"), "7.4"), indirect=True)
#: And without.
DEAF = pytest.mark.parametrize("kernel", ["6.31"], indirect=True)

VIEW = "application/vnd.jupyter.widget-view+json"


def shown(ran: CellResult) -> list[dict[str, Any]]:
    """What a cell displayed."""
    return [c["data"] for kind, c in ran.outputs if kind == "display_data"]


def test_the_kernel_is_the_one_that_is_meant(front: Frontend, series: str) -> None:
    version = front.run("import ipykernel; ipykernel.__version__").value
    assert version is not None
    assert version.strip("'").startswith(f"{series}.")


# ---- the main thread waits --------------------------------------------------------------------------


@BLOCKS
@pytest.mark.parametrize("option", ["", "--main"])
def test_a_step_while_the_cell_waits(front: Frontend, subshell: str, option: str) -> None:
    cell = front.start(f"%%step agent {option}\n{ASK}\nquery.response")
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell), subshell))
    person.step_run(person.find_halted_run(), '{"q": 1.0}')
    assert not front.has_ended(cell)
    person.step()
    assert front.wait_for_end(cell).value == "{'q': 1.0}"
    assert person.wait_until_ended().ending is RunEnding.FINISHED


@pytest.fixture
def impatient(front: Frontend) -> Iterator[None]:
    """A kernel that waits for a view hardly at all."""
    front.run(
        "import agentstepper_nb.magics.view_wait as w; "
        "patience, w.VIEW_TIMEOUT_S = w.VIEW_TIMEOUT_S, 0.01"
    )
    yield
    front.run("w.VIEW_TIMEOUT_S = patience")


@BLOCKS
@pytest.mark.usefixtures("impatient")
def test_a_view_that_was_heard_keeps_the_cell_waiting(front: Frontend, subshell: str) -> None:
    front.run("import threading; go = threading.Event()")
    cell = front.start(f"%%step\n_ = go.wait()\n{ASK}")
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell), subshell))
    front.run_aside("go.set()", subshell)
    run = person.find_halted_run()
    # What the Core's loop was to do by then is done when this is: timers are run in their order.
    front.run_aside(
        "from agentstepper_nb.widgets import kernel_core; passed = threading.Event()\n"
        "loop = kernel_core.get_kernel_core().loop\n"
        "loop.call_soon_threadsafe(loop.call_later, w.VIEW_TIMEOUT_S, passed.set); _ = passed.wait()",
        subshell,
    )
    assert not front.has_ended(cell)
    person.step_run(run)
    person.step()
    assert front.wait_for_end(cell).text == ""


@BLOCKS
def test_interrupt_while_the_cell_waits(front: Frontend, subshell: str) -> None:
    cell = front.start(f"%%step\n{ASK}")
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell), subshell))
    person.find_halted_run()
    front.kernel.interrupt()
    assert front.wait_for_end(cell).error == "KeyboardInterrupt"
    assert person.wait_until_ended().ending is RunEnding.STOPPED


# ---- it goes on in the background -------------------------------------------------------------------


@DEAF
def test_a_kernel_without_subshells_is_left_free(front: Frontend) -> None:
    """It could not hear the view, so the cell returns at its first halt, and says so."""
    cell = front.start(f"%%step agent\nprint('before')\n{ASK}\nquery.response")
    ran = front.wait_for_end(cell)
    assert (ran.status, ran.value) == ("ok", None)
    assert ran.text.startswith(
        "before\nThis cell continues in the background, since ipykernel 6.31"
    )
    assert ran.text.count("\n") == 2
    assert front.run("dbg").value == "<AgentStepper 'agent', open>"
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    run = person.find_halted_run()
    asked = wire.GetStack(run=run.id, halt_point=run.pending[0])
    assert person.ask(asked, wire.StackSnapshot).pdb_refusal == NO_INPUT
    person.step_run(run, '{"q": 1.0}')
    person.step()
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    assert front.run("query.response").value == "{'q': 1.0}"
    assert front.run("dbg").value == "<AgentStepper 'agent', closed>"


@DEAF
def test_a_cell_that_never_halts_is_waited_for(front: Frontend) -> None:
    assert front.run("%%step\n6 * 7").value == "42"


@DEAF
def test_main_where_nobody_could_be_heard(front: Frontend) -> None:
    ran = front.run("%%step --main\nprint('ran all the same')")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert "ipykernel 6.31.0 can't receive messages of the view while its main thread waits" in str(
        ran.outputs
    )
    assert "ran all the same" not in ran.text


@BLOCKS
@pytest.mark.usefixtures("impatient")
def test_nobody_was_heard(front: Frontend) -> None:
    """The front end uses no subshells, or shows no view: the main thread is left free."""
    cell = front.start(f"%%step\n{ASK}")
    assert "no view answered while the cell waited" in front.wait_for_end(cell).text
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    person.step_run(person.find_halted_run())
    person.step()
    assert person.wait_until_ended().ending is RunEnding.FINISHED


def test_background(front: Frontend) -> None:
    """On any kernel: other cells run meanwhile, and its output is its own."""
    cell = front.start(f"%%step agent --background\n{ASK}\nprint('late')\nquery.response")
    ran = front.wait_for_end(cell)
    assert (ran.status, ran.text, ran.value) == ("ok", "", None)
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    run = person.find_halted_run()
    other = front.run("1 + 1")
    assert other.value == "2"
    person.step_run(run)
    person.step()
    front.wait_for_print(cell, "late\n")
    assert "late" not in other.text


@BLOCKS
def test_the_value_of_a_cell_in_the_background(front: Frontend) -> None:
    """ipykernel 6 shows it below whichever cell runs then."""
    front.run("import threading; go = threading.Event()")
    cell = front.start("%%step --background\ngo.wait()\n6 * 7")
    ran = front.wait_for_end(cell)
    front.run("go.set()")
    front.read_until(lambda: bool(shown(ran)[1:]))
    assert shown(ran)[-1]["text/plain"] == "42"


def test_an_exception_in_the_background(front: Frontend) -> None:
    cell = front.start(f"%%step --background\nasync def work():\n    1 / 0\n{ASK}\nawait work()")
    ran = front.wait_for_end(cell)
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    run = person.find_halted_run()
    front.run("pass")
    person.step_run(run)
    person.step()
    front.wait_for_print(cell, "division by zero")
    told = plain(ran.text)
    assert "----> 3     1 / 0" in told.replace("1/0", "1 / 0")
    assert "worker.py" not in told
    assert person.wait_until_ended().ending is RunEnding.CRASHED


def test_an_exception_by_which_a_framework_waits_is_no_crash(front: Frontend) -> None:
    front.run("kind = type('GraphBubbleUp', (Exception,), {'__module__': 'langgraph.errors'})")
    cell = front.start(f"%%step --background\n{ASK}\nraise kind('Really?')")
    front.wait_for_end(cell)
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    person.step_run(person.find_halted_run())
    person.step()
    front.wait_for_print(cell, "Really?")
    assert person.wait_until_ended().ending is RunEnding.FINISHED


def test_stop_in_the_background(front: Frontend) -> None:
    cell = front.start(f"%%step --background\n{ASK}")
    front.wait_for_end(cell)
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    person.run_command(v2.StopRun(run=person.find_halted_run().id))
    front.wait_for_print(cell, "Stopped by you at line 3 of this cell.\n")
    assert person.wait_until_ended().ending is RunEnding.STOPPED


def test_an_interrupt_does_not_reach_the_background(front: Frontend) -> None:
    cell = front.start(f"%%step --background\n{ASK}")
    front.wait_for_end(cell)
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell)))
    run = person.find_halted_run()
    other = front.start("print('busy')\nimport time\nwhile True: time.sleep(0.01)")
    front.wait_for_print(other, "busy")
    front.kernel.interrupt()
    assert front.wait_for_end(other).error == "KeyboardInterrupt"
    person.step_run(run)
    person.step()
    assert person.wait_until_ended().ending is RunEnding.FINISHED


# ---- links ------------------------------------------------------------------------------------------


def test_a_second_link_gets_the_snapshot(front: Frontend) -> None:
    """As after a reload: the page before left its link without a word."""
    cell = front.start(f"%%step reloaded --background\n{ASK}")
    front.wait_for_end(cell)
    model = front.wait_for_model(cell)
    run = KernelTestView(CommConnection(front, model, link="before")).find_halted_run()
    person = KernelTestView(CommConnection(front, model, link="after"))
    assert person.runs[run.id].pending == run.pending
    person.step_run(person.runs[run.id])
    person.step()
    assert person.wait_until_ended().program == "reloaded"


def test_what_is_no_view(front: Frontend) -> None:
    """Whatever comes is answered where it can be, and the kernel goes on."""
    model = front.run_and_show("%agentstepper")
    for content in (None, 7, [], "text", {}, {"link": 1, "op": "open"}, {"op": "open"}):
        front.post(model, content)
    refused = {
        "newer": {"link": "newer", "op": "levitate"},
        "vague": {"link": "vague"},
        "numeric": {"link": "numeric", "op": "text", "text": 7},
    }
    for content in refused.values():
        front.post(model, content)
    for link in refused:
        said = front.said[model, link]
        front.read_until(lambda said=said: bool(said))  # type: ignore[misc]
        assert (said[0]["op"], said[0]["code"]) == ("closed", 1008)
        assert "Reload the page" in said[0]["reason"]
    ran = front.run("1")
    assert (ran.value, ran.text) == ("1", "")


def test_closing_the_widget_closes_its_sessions(front: Frontend) -> None:
    uis = "__import__('agentstepper_nb.widgets.kernel_core').widgets.kernel_core.get_kernel_core()"
    count = f"len({uis}._core.hub._views)"
    model = front.run_and_show("%agentstepper")
    before = int(str(front.run(count).value))
    KernelTestView(CommConnection(front, model))
    assert int(str(front.run(count).value)) == before + 1
    front.close_comm(model)
    front.run("import time")
    settle = f"while {count} != {before}: time.sleep(0.01)"
    assert front.run(settle).status == "ok"


# ---- what is said -----------------------------------------------------------------------------------


def test_how_the_view_reaches_the_core(front: Frontend, series: str) -> None:
    via = front.models[front.run_and_show("%agentstepper")]["via"]
    assert via["name"] == "through the kernel"
    assert f"ipykernel {series}" in via["why"]
    assert ("only between cells" in via["why"]) == (series == "6.31")


def test_the_view_is_the_widget_alone(front: Frontend) -> None:
    """The extension's view would look for the Core in the server."""
    data = shown(front.run("%agentstepper"))[0]
    assert VIEW in data
    assert "application/vnd.agentstepper.view+json" not in data
    assert "%agentstepper --input" in data["text/plain"]


def test_the_token_is_in_the_environment_alone(front: Frontend) -> None:
    KernelTestView(CommConnection(front, front.run_and_show("%agentstepper")))
    ran = front.run("import os; os.environ['AGENTSTEPPER_URL'], os.environ['AGENTSTEPPER_TOKEN']")
    url, token = re.findall(r"'([^']+)'", str(ran.value))
    assert url.startswith("ws://127.0.0.1:")
    assert len(token) > 30
    ran.outputs.clear()  # the one that asked
    for said in (front.cells, front.models, front.said):
        assert token not in repr(said)


@BLOCKS
def test_processes_find_it(front: Frontend) -> None:
    code = (
        "from agentstepper_nb import AgentStepper\n"
        "with AgentStepper('child', stop_on_entry=False): pass"
    )
    ran = front.run(
        f"import subprocess, sys\nsubprocess.check_call([sys.executable, '-c', {code!r}])"
    )
    assert ran.value == "0", ran
    person = KernelTestView(CommConnection(front, front.run_and_show("%agentstepper")))
    assert any(run.program == "child" for run in person.runs.values())


@BLOCKS
def test_a_large_message(front: Frontend, subshell: str) -> None:
    """A command larger than the server's socket takes at once comes in parts."""
    cell = front.start(f"%%step\n{ASK}\nlen(query.response['q'])")
    person = KernelTestView(CommConnection(front, front.wait_for_model(cell), subshell))
    person.step_run(person.find_halted_run(), json.dumps({"q": "x" * 3_000_000}))
    person.step()
    assert front.wait_for_end(cell).value == "3000000"


# ---- which Core -------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(front: Frontend) -> Iterator[str]:
    """A kernel whose environment names another Core than its own, as a Jupyter server's does."""
    url = "ws://127.0.0.1:9"
    front.run(
        "import os; from agentstepper_nb.widgets import kernel_core\n"
        f"kernel_core.close_kernel_core(); os.environ['AGENTSTEPPER_URL'] = '{url}'"
    )
    yield url
    front.run("os.environ.pop('AGENTSTEPPER_URL', None)")


def test_the_servers_core_comes_first(front: Frontend, elsewhere: str) -> None:
    assert front.run("%agentstepper").displayed(VIEW_MIME)
    ran = front.run("%%step\nprint('ran all the same')")
    assert (ran.error, "ran all the same" in ran.text) == ("UsageError", False)
    assert elsewhere in str(ran.outputs)


def test_asking_for_one_in_the_kernel(front: Frontend, elsewhere: str) -> None:
    via = front.models[front.run_and_show("%agentstepper --kernel")]["via"]
    assert via["why"].startswith("A Core was requested in the kernel")
    assert front.run(f"os.environ['AGENTSTEPPER_URL'] == '{elsewhere}'").value == "False"
    assert front.run("%%step\n6 * 7").value == "42"


def test_input_has_one_in_the_kernel(front: Frontend, elsewhere: str) -> None:
    ran = front.run("%agentstepper --input")
    assert (ran.error, "%%step --input" in ran.text) == ("UsageError", True)
    cell = front.start(f"%%step --input\n{ASK}\nquery.response")
    front.answer_input("c")
    assert front.wait_for_end(cell).value == "{'q': 1}"


def test_a_cell_in_the_background_with_the_servers_core(front: Frontend) -> None:
    """As anywhere: the main thread is free, and the view is the server's."""
    front.run(
        "from agentstepper_nb.hub import AgentStepperCore\n"
        "from agentstepper_nb.widgets import kernel_core; kernel_core.close_kernel_core()\n"
        "server = AgentStepperCore(client_port=0, ui_port=0); server.start()\n"
        "os.environ['AGENTSTEPPER_URL'] = f'ws://127.0.0.1:{server.client_port}'"
    )
    try:
        port = front.run("server.ui_port").value
        token = str(front.run("server.tokens.control").value).strip("'")
        with connect_view(f"ws://127.0.0.1:{port}?token={token}") as person:
            cell = front.start(f"%%step --background\n{ASK}\nprint('late')")
            ran = front.wait_for_end(cell)
            assert (ran.status, ran.text) == ("ok", "")
            assert ran.displayed(VIEW_MIME)
            person.step_run(person.find_halted_run())
            person.step()
            front.wait_for_print(cell, "late\n")
            assert person.wait_until_ended().ending is RunEnding.FINISHED
    finally:
        front.run("server.stop(); del os.environ['AGENTSTEPPER_URL']")


def test_doctor(front: Frontend, series: str) -> None:
    ran = front.run("%agentstepper doctor")
    assert ran.status == "ok"
    assert f"ipykernel {series}" in ran.text
