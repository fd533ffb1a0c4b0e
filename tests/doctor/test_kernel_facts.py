"""The doctor inside a kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.hub import AgentStepperCore
from tests.widgets.kernel import Kernel

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    ours = {
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "PYTHONPATH": str(ROOT),
    }
    without = ("AGENTSTEPPER_", "JPY_", "PYTEST_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(without)} | ours
    kernel = Kernel(environment, str(folder))
    try:
        yield kernel
    finally:
        kernel.close()


REPORT = "import os; from agentstepper_nb import doctor; print(doctor.format_report())"


@pytest.mark.slow
def test_with_the_servers_core(kernel: Kernel) -> None:
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        url = f"ws://127.0.0.1:{core.client_port}"
        said = kernel.run(f"import os; os.environ['AGENTSTEPPER_URL'] = {url!r}\n{REPORT}").text
    assert f"✓ An agent here connects to {url}: AGENTSTEPPER_URL names it." in said
    assert f"✓ The view connects directly to the Core at {url}" in said
    assert "✓ ipykernel 7" in said and "has subshells" in said
    assert "✓ Event loops don't nest in this kernel" in said


@pytest.mark.slow
def test_with_none(kernel: Kernel) -> None:
    said = kernel.run(f"import os; os.environ.pop('AGENTSTEPPER_URL', None)\n{REPORT}").text
    assert "! No Core runs" in said
    assert "! This kernel's Jupyter server has no Core: %%step starts one in the kernel" in said


@pytest.mark.slow
def test_with_a_core_in_the_kernel_and_loops_that_nest(kernel: Kernel) -> None:
    start = (
        "from agentstepper_nb.widgets import kernel_core; core = kernel_core.start_kernel_core()"
    )
    ran = kernel.run(f"{start}\n{REPORT}\nprint('TOKEN', core.endpoint.token)")
    said, _, token = ran.text.partition("TOKEN ")
    assert re.search(
        r"✓ An agent here connects to ws://127.0.0.1:\d+: this Core is in this kernel\.", said
    )
    assert "✓ The view reaches the Core through the kernel (comm): A Core was requested" in said
    assert token.strip() and token.strip() not in said
    kernel.run("kernel_core.close_kernel_core()\nimport asyncio; asyncio._nest_patched = True")
    assert "! Event loops nest in this kernel" in kernel.run(REPORT).text


def test_the_magic(kernel: Kernel) -> None:
    ran = kernel.run("%load_ext agentstepper_nb\nimport httpx2\n%agentstepper doctor")
    assert re.search(r"✓ LLM queries and tool calls halt .*\bhttpx2\b", ran.text)
    assert ran.status == "ok", ran
    assert "✓ agentstepper_nb" in ran.text


def test_the_magic_lists_seams(kernel: Kernel) -> None:
    kernel.run("%load_ext agentstepper_nb\nimport httpx2")
    said = kernel.run("%agentstepper seams").text
    assert re.search(r"^httpx2 +\d+\.\d+.* +queries +active$", said, re.MULTILINE), said
    assert "Not imported: httpx, langchain-core" in said
    assert "(discovery is on)" in said
