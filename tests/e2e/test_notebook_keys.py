"""Keys where the agent is halted: the debugger's in the notebook, and JupyterLab's in the view."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from .conftest import NewLab
from .jupyter import Jupyter
from .test_step_in_jupyterlab import BlockedKernelNotebook


def halted_row(corridor: BlockedKernelNotebook) -> Locator:
    """The number of the row that the agent is halted at."""
    # Keys step once the run's header has come after the row, and with it the selection.
    return corridor.view.root.locator(".as-mod-halted[aria-selected=true] .as-Row-n")


@pytest.mark.soak  # test_panel has the keys, js/tests/lab/commanded whose they are
def test_f10_and_f9_need_no_click_in_the_view(new_tab: NewLab, jupyter: Jupyter) -> None:
    corridor = BlockedKernelNotebook(new_tab, jupyter)
    page = corridor.lab.page
    corridor.lab.cell(1).locator(".cm-content").click()
    first = int(halted_row(corridor).inner_text())
    page.keyboard.press("F10")
    expect(halted_row(corridor)).to_have_text(str(first + 1))
    page.keyboard.press("Escape")  # from the cell's text to its command mode
    page.keyboard.press("F10")
    expect(halted_row(corridor)).to_have_text(str(first + 2))
    page.keyboard.press("F9")
    corridor.expect_end("Gave up")  # by its last words: the test that it was to mend fails
    assert corridor.lab.errors == []


@pytest.mark.slow
def test_step_comes_into_sight_and_jupyterlabs_chords_work_in_the_view(
    new_lab: NewLab, jupyter: Jupyter
) -> None:
    corridor = BlockedKernelNotebook(new_lab, jupyter, lines=60)
    expect(corridor.view.button("Step")).to_be_in_viewport()  # it came into sight by itself
    lab, page = corridor.lab, corridor.lab.page
    focused = corridor.view.root.locator(".as-Row").first
    focused.click()
    with page.expect_response(
        lambda response: (
            "api/contents" in response.url and response.request.method == "PUT" and response.ok
        )
    ):
        page.keyboard.press("ControlOrMeta+s")
    side = page.locator("#jp-left-stack")
    was = side.is_visible()
    page.keyboard.press("ControlOrMeta+b")
    expect(side).to_be_visible(visible=not was)
    page.keyboard.press("ControlOrMeta+b")
    expect(side).to_be_visible(visible=was)
    focused.click()
    page.keyboard.press("ControlOrMeta+Shift+c")
    expect(page.locator(".lm-CommandPalette-input")).to_be_focused()
    page.keyboard.press("Escape")
    # And its letters, which would cut the cell, don't.
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    focused.click()
    page.keyboard.press("x")
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(cells)
    page.keyboard.press("Shift+Enter")
    expect(lab.cell(2)).to_have_class(re.compile("jp-mod-active"))
