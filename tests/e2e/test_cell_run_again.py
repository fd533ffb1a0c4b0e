"""A cell that is run again while its agent is halted: the debugger stays, and says so."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import NewLab
from .jupyter import Jupyter
from .test_step_in_jupyterlab import BlockedKernelNotebook


@pytest.mark.slow
def test_a_cell_that_is_run_again_keeps_its_halted_agent(new_lab: NewLab, jupyter: Jupyter) -> None:
    corridor = BlockedKernelNotebook(new_lab, jupyter)
    lab = corridor.lab
    lab.run(1)
    expect(lab.outputs(1).locator(".as-Root")).to_have_count(0)
    kept = lab.cell(1).locator(".as-Root")
    expect(kept).to_be_visible()
    expect(kept.locator(".as-State").first).to_contain_text("Halted")
    expect(lab.page.get_by_role("button", name="Agent halted: show")).to_be_visible()
    expect(lab.page.locator(".lm-TabBar-tab.as-mod-halted")).to_have_count(1)
    notice = lab.page.locator(".Toastify__toast").filter(has_text="Agent halted")
    expect(notice).to_have_count(1)
    kept.get_by_role("button", name="Continue", exact=True).click()
    # The run ends, and the cell's next one begins in a view of its own.
    corridor.view.expect_state("Halted before LLM query", timeout=60_000)
    expect(lab.cell(1).locator(".as-Root")).to_have_count(1)
    assert lab.errors == []
