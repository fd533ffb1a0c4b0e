"""The view in a cell's output, drawn by our extension: kept while it may be, gone when its output is."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import WebSocket, expect

from .conftest import NewLab
from .jupyter import Jupyter
from .lab import Lab
from .test_several_agents import agent, choose

MIME = "application/vnd.agentstepper.view+json"
SHOW = f"""
from IPython.display import display, update_display
bundle = {{"{MIME}": {{"run": "", "follow": False, "height": 300}}, "text/plain": "plain"}}
display(bundle, raw=True, display_id="view")
"""
UPDATE = """
update_display(bundle | {"text/html": "<p>the static timeline</p>"}, raw=True, display_id="view")
"""


def show_output(data: Any) -> str:
    """A cell whose output is of our type, and says this."""
    return (
        "from IPython.display import display\n"
        f'display({{"{MIME}": {data!r}, "text/plain": "plain"}}, raw=True)'
    )


def shown(new_tab: NewLab, cells: list[str]) -> tuple[Lab, list[WebSocket]]:
    """A notebook whose first cell shows a view, and the view's connections as they are made."""
    lab = new_tab(cells)
    sockets: list[WebSocket] = []

    def on_socket(socket: WebSocket) -> None:
        if socket.url.endswith("/agentstepper/ui"):
            sockets.append(socket)

    lab.page.on("websocket", on_socket)
    lab.run(0)
    expect(lab.view(0).root).to_be_visible()
    # A view that is made again has no mark.
    lab.view(0).root.evaluate("node => { node.dataset.mark = 'first'; }")
    return lab, sockets


def expect_the_same_view(lab: Lab) -> None:
    expect(lab.view(0).root).to_have_attribute("data-mark", "first")


@pytest.mark.soak  # js/tests/lab has it without a browser
def test_a_view_is_kept_when_its_output_is_updated_and_ends_with_it(new_tab: NewLab) -> None:
    lab, sockets = shown(new_tab, [SHOW, UPDATE])
    lab.run(1)
    expect(lab.prompt(1)).to_have_text("[2]:")
    expect_the_same_view(lab)
    expect(lab.outputs(0)).not_to_contain_text("static timeline")
    assert len(sockets) == 1
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
    with sockets[0].expect_event("close"):
        lab.execute("notebook:clear-cell-output")
    expect(lab.view(0).root).to_have_count(0)
    assert lab.errors == []


@pytest.mark.slow
def test_a_cell_that_is_scrolled_away_and_back_keeps_its_view(new_lab: NewLab) -> None:
    lab, sockets = shown(new_lab, [SHOW, *["'a cell'"] * 80])
    lab.page.evaluate(
        """() => {
            const { content } = window.jupyterapp.shell.currentWidget;
            content.notebookConfig = { ...content.notebookConfig, windowingMode: 'full' };
        }"""
    )
    # The active cell stays in the document wherever it is.
    scroll = """index => {
        const { content } = window.jupyterapp.shell.currentWidget;
        content.activeCellIndex = index;
        return content.scrollToItem(index);
    }"""
    root = lab.page.locator("[data-mark=first]")
    lab.page.evaluate(scroll, 80)
    expect(root).not_to_be_visible()
    lab.page.evaluate(scroll, 0)
    expect(root).to_be_visible()
    assert len(sockets) == 1
    assert lab.errors == []


@pytest.mark.soak  # test_panel opens the page by its command
def test_the_page_button_leads_to_the_same_run(new_tab: NewLab, jupyter: Jupyter) -> None:
    lab, _ = shown(new_tab, [SHOW])
    view, name = lab.view(0), f"inline-page-{type(lab).__name__}"
    with agent(jupyter, name):
        choose(view, name)
        view.expect_state("Halted")
        page = view.root.get_by_role("link", name="Open on its own page").get_attribute("href")
        assert page and page.startswith(f"{jupyter.url}agentstepper/app?run=")


@pytest.mark.soak  # js/tests/lab/view_data has it
def test_data_that_is_not_ours_is_refused_with_a_sentence(new_tab: NewLab) -> None:
    hostile = {"run": ["<img src=x onerror='window.pwned=1'>"]}
    lab = new_tab([show_output(hostile), show_output("a string")])
    lab.run(0)
    expect(lab.outputs(0)).to_contain_text("its “run” is not a run’s id")
    lab.run(1)
    expect(lab.outputs(1)).to_contain_text("its data is not an object")
    assert lab.page.evaluate("window.pwned") is None
    assert lab.errors == []
