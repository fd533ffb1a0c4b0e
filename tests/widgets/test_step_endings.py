"""How a cell under `%%step` ends: by itself, by a person's stop, and by an interrupt."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import RunEnding
from tests.widgets.kernel import CellResult, Kernel
from tests.widgets.person import KernelTestView
from tests.widgets.test_step import ASK, plain

# ---- how it ends -----------------------------------------------------------------------------------


def test_an_exception(kernel: Kernel, person: KernelTestView) -> None:
    ran = kernel.run("%%step\ndef f():\n    1 / 0\nx = 1\nf()")
    assert (ran.status, ran.error) == ("error", "ZeroDivisionError")
    shown = plain(ran.traceback)
    assert "----> 5 f()" in shown
    assert "----> 3     1 / 0" in shown.replace("1/0", "1 / 0")
    assert "worker.py" not in shown
    assert "asyncio" not in shown
    run = person.wait_until_ended()
    assert run.ending is RunEnding.CRASHED
    assert run.failure is not None
    assert run.failure.type.endswith("ZeroDivisionError")
    assert kernel.run("x").value == "1"


def test_an_exception_of_a_cell_that_awaits(kernel: Kernel) -> None:
    ran = kernel.run("%%step\nimport asyncio\nawait asyncio.sleep(0)\n1 / 0")
    assert ran.error == "ZeroDivisionError"
    shown = plain(ran.traceback)
    assert "----> 4 1 / 0" in shown.replace("1/0", "1 / 0")
    assert "base_events.py" not in shown


def test_leaving(kernel: Kernel, person: KernelTestView) -> None:
    assert kernel.run("%%step\nimport sys\nsys.exit(3)").error == "SystemExit"
    assert person.wait_until_ended().ending is RunEnding.CRASHED


@pytest.mark.parametrize("option", ["", "--main"])
def test_stop(kernel: Kernel, person: KernelTestView, option: str) -> None:
    swallowing = f"""%%step agent {option}
try:
    print("READY")
    with dbg.llm("hi") as q:
        q.response = 1
except Exception:
    print("swallowed")
print("went on")
"""
    ran = kernel.run(swallowing, person.stop)
    assert (ran.status, ran.error) == ("ok", None)
    assert ran.text == "READY\nStopped by you at line 4 of this cell.\n"
    assert person.wait_until_ended().ending is RunEnding.STOPPED


def test_stop_inside_of_tasks(kernel: Kernel, person: KernelTestView) -> None:
    code = """%%step
import asyncio; from agentstepper_nb import AsyncAgentStepper
async def one(agent):
    await agent.begin_llm_query_breakpoint("hi")
agent = await AsyncAgentStepper.connect("inner")
print("READY")
async with asyncio.TaskGroup() as group:
    group.create_task(one(agent))
"""
    ran = kernel.run(code, person.stop)
    assert (ran.status, ran.error) == ("ok", None), ran
    assert "Stopped by you at line 4 of this cell." in ran.text
    assert person.wait_until_ended().ending is RunEnding.STOPPED


# ---- interrupts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["", "--main"])
def test_interrupt_at_a_breakpoint(kernel: Kernel, person: KernelTestView, option: str) -> None:
    def interrupt() -> None:
        person.wait_until_halted()
        kernel.interrupt()

    ran = kernel.run(f"%%step agent {option}\n{ASK}", interrupt)
    assert (ran.status, ran.error) == ("error", "KeyboardInterrupt")
    assert "continues in the background" not in ran.traceback
    run = person.wait_until_ended()
    assert (run.ending, run.pending) == (RunEnding.STOPPED, ())
    assert kernel.run("1").value == "1"


BLOCKED = {
    "busy": "while True: pass",
    "top-level await": "import asyncio\nawait asyncio.Event().wait()",
    "asyncio.run": "import asyncio\nasyncio.run(asyncio.Event().wait())",
    "anyio.run": "import anyio\nanyio.run(anyio.sleep_forever)",
    "queue": "import queue\nqueue.Queue().get()",
    "future": "import concurrent.futures as c\nc.Future().result()",
    "event": "import threading\nthreading.Event().wait()",
    "child": "import subprocess, sys\n"
    "subprocess.run([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
    "subprocess.run(['sleep', '60'])",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", BLOCKED)
def test_interrupt(kernel: Kernel, person: KernelTestView, how: str) -> None:
    ran = kernel.run(f"%%step\nprint('READY')\n{BLOCKED[how]}", kernel.interrupt)
    assert (ran.status, ran.error) == ("error", "KeyboardInterrupt")
    assert "continues in the background" not in ran.traceback
    assert person.wait_until_ended().ending is RunEnding.STOPPED
    assert kernel.run("1").value == "1"


def test_interrupt_of_what_cannot_be(kernel: Kernel, person: KernelTestView) -> None:
    """The cell gives up on a call of C; that the thread goes on, and where, is said."""
    kernel.run(
        "import os, agentstepper_nb.magics.cell_thread as w\n"
        "w.INTERRUPT_TIMEOUT_S = 0.01\nr, p = os.pipe()"
    )
    code = "%%step\nprint('READY')\nos.read(r, 1)\nprint('late')"
    ran = kernel.run(code, kernel.interrupt)
    assert (ran.status, ran.error) == ("error", "KeyboardInterrupt")
    assert "continues in the background" in plain(ran.traceback)
    assert "line 3" in plain(ran.traceback)
    assert person.wait_until_ended().ending is RunEnding.STOPPED
    freed: CellResult = kernel.run(
        "import threading\n"
        "worker = next(t for t in threading.enumerate() if t.name == 'agentstepper cell')\n"
        "_ = os.write(p, b'x')\nworker.join()\n"
    )
    assert (freed.status, freed.text) == ("ok", "")
