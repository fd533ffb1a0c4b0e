"""`dbg.spawn` in a real kernel: below whose cell the output comes, and what a dying kernel leaves."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.protocol.data_model import RunEnding
from tests.helpers.sampling import select_sample
from tests.sdk.person import LiveView
from tests.widgets.kernel import TIMEOUT_S, Kernel

ROOT = Path(__file__).parents[2]

CHILD = """
from agentstepper_nb import AgentStepper
with AgentStepper("child", stop_on_entry=False) as dbg:
    dbg.begin_llm_query_breakpoint("p")
"""


@pytest.fixture
def kernel(live: AgentStepperCore, tmp_path: Path) -> Iterator[Kernel]:
    # ipykernel leaves its children's output alone where it thinks that it is being tested.
    without = ("AGENTSTEPPER_", "JPY_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(without)}
    ours = {
        "AGENTSTEPPER_URL": f"ws://127.0.0.1:{live.client_port}",
        "PYTHONPATH": str(ROOT),
    }
    kernel = Kernel(kept | ours, str(tmp_path))
    try:
        kernel.run("%load_ext agentstepper_nb\nimport sys")
        yield kernel
    finally:
        kernel.close()


@pytest.mark.slow
def test_output_stands_below_the_cell_that_spawned(kernel: Kernel) -> None:
    """Also below one that ended before the child spoke."""
    ran = kernel.run("%%step\ndbg.spawn([sys.executable, '-c', 'print(1); 1 / 0']).wait()")
    printed = [(c["name"], c["text"]) for kind, c in ran.outputs if kind == "stream"]
    assert "".join(text for name, text in printed if name == "stdout") == "1\n"
    assert "ZeroDivisionError" in "".join(text for name, text in printed if name == "stderr")
    assert ran.value == "1"

    prepared = kernel.run(
        "import os\n"
        "from agentstepper_nb import AgentStepper\n"
        "from pathlib import Path\n"
        "dbg = AgentStepper('loose', stop_on_entry=False); os.mkfifo('gate')\n"
        "program = 'open(\"gate\").read(); print(2)'"
    )
    assert prepared.status == "ok"
    spawns = kernel.client.execute("child = dbg.spawn([sys.executable, '-c', program])")
    kernel.client.execute("Path('gate').write_text('go')")
    text = ""
    while text != "2\n":  # it may come in parts
        message = kernel.client.get_iopub_msg(timeout=TIMEOUT_S)
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
            assert "2\n".startswith(text)
            assert message["parent_header"]["msg_id"] == spawns
    assert kernel.run("child.wait()").value == "0"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
@pytest.mark.parametrize("how", select_sample(["restart", "kill -9"], "kill -9"))
def test_a_kernel_leaves_no_child_at_a_breakpoint(
    kernel: Kernel, person: LiveView, how: str
) -> None:
    pid = kernel.run("import os; os.getpid()").value
    kernel.client.execute(f"%%step\ndbg.spawn([sys.executable, '-c', {CHILD!r}]).wait()")
    person.wait_until_halted()
    assert person.run.program == "child"
    if how == "restart":
        kernel.manager.restart_kernel(now=True)
    else:
        os.kill(int(str(pid)), signal.SIGKILL)
    person.wait_until(lambda _: sum(not run.live for run in person.runs.values()) == 2)
    # A restart interrupts before it kills: who hears that in time says goodbye.
    heard = {RunEnding.STOPPED} if how == "restart" else set()
    assert {run.ending for run in person.runs.values()} <= {RunEnding.CRASHED} | heard
