"""`%agentstepper check` in a real kernel: the outcome stands with the run."""

from __future__ import annotations

from tests.widgets.kernel import Kernel

CHECKS = """
from agentstepper_nb.widgets.kernel_core import get_kernel_core
core = get_kernel_core()
print([(each.command, each.exit_code, each.line) for each in core.runs()[-1].checks or ()])
"""


def test_a_check_is_recorded_with_the_newest_run(kernel: Kernel, tmp_path: object) -> None:
    assert "has run no agent" in str(kernel.run("%agentstepper check true").outputs)
    kernel.run("%agentstepper --kernel")
    kernel.run(f"%%step worker --workspace {tmp_path}\npass")
    said = kernel.run('%agentstepper check "echo 2 failed; pwd; exit 3"')
    assert "failed with exit code 3" in said.text
    assert str(tmp_path) in said.text
    assert "passed" in kernel.run("%agentstepper check true").text
    assert kernel.run(CHECKS).text == (
        f"[('echo 2 failed; pwd; exit 3', 3, '{tmp_path}'), ('true', 0, '')]\n"
    )
    assert "usage: %agentstepper check" in str(kernel.run("%agentstepper check").outputs)
