"""The side panel of JupyterLab and Notebook 7: no kernel in the way, commands, and what goes wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, Lab
from .test_several_agents import agent, choose
from .test_step_in_jupyterlab import BlockedKernelNotebook

MANIFEST = "**/static/agentstepper/manifest.json"
HALTED = ("step", "continue", "stop")

#: How the scripted agent ends: its last words, which are read a moment later, say that it gave up.
ENDED = re.compile("Finished|Gave up")


def open_panel(lab: Lab, program: str = "") -> DebuggerView:
    """Show the panel by its command, and in it a program's run, which is halted."""
    lab.toggle_panel()
    expect(lab.panel).to_be_visible()
    panel = lab.panel_view()
    if program:
        choose(panel, program)
        panel.expect_state("Halted")
    return panel


def halted_row(view: DebuggerView) -> Locator:
    """The number of the row that the agent is halted at."""
    # Commands step once the run's header has come after the row, and with it the selection.
    return view.root.locator(".as-mod-halted[aria-selected=true] .as-Row-n")


@pytest.mark.soak  # test_shells has each of the two alone
def test_the_panel_steps_and_survives_a_reload_while_the_kernel_is_blocked(
    own_tab: NewLab, jupyter: Jupyter
) -> None:
    corridor = BlockedKernelNotebook(own_tab, jupyter, "--main")
    lab, spy, inline = corridor.lab, corridor.spy, corridor.view
    panel = open_panel(lab)
    panel.expect_state("Halted before LLM query")
    spy.expect_blocked()
    panel.press("Step")
    for view in (panel, inline):
        view.expect_state("Halted after LLM query")
    lab.save()
    assert lab.errors == []

    lab.reload()
    for view in (panel, inline):
        view.expect_state("Halted after LLM query")
    panel.step_to("→ write_file", before=spy.expect_blocked)
    expect(inline.root.locator(".as-Row.as-mod-halted")).to_contain_text("write_file")
    inline.expect_state("Halted before tool call")
    corridor.press("Step")
    for view in (panel, inline):
        view.expect_state("Halted after tool call")
    spy.expect_blocked()
    panel.press("Continue")
    for view in (panel, inline):
        view.expect_state(ENDED)


def test_the_panel_of_a_live_run(new_tab: NewLab, jupyter: Jupyter) -> None:
    """Its commands and keys act while it is seen, and it comes back as it was put away."""
    lab = new_tab(["1"])
    lab.expect_enabled()
    expect_commands(lab, jupyter)
    name = f"keyed-{type(lab).__name__}"
    with agent(jupyter, name):
        lab.toggle_panel()
        panel = open_panel(lab, name)
        expect_keys(lab, panel)
        expect_own_page(lab, name)
        lab.page.keyboard.press("F9")
        panel.expect_state(ENDED)
    assert lab.errors == []


def expect_commands(lab: Lab, jupyter: Jupyter) -> None:
    """The palette, the Run menu and the commands act while they are possible, and only then."""
    name = f"commanded-{type(lab).__name__}"
    with agent(jupyter, name):
        panel = open_panel(lab)
        choose(panel, name)
        lab.expect_enabled(*HALTED)
        lab.choose_in_palette("Step Into")
        expect(halted_row(panel)).to_have_text("2")
        lab.choose_in_run_menu("Step Into")
        expect(halted_row(panel)).to_have_text("3")
        panel.root.get_by_role("tab", name="Changes").click()
        lab.toggle_panel()
        expect(lab.panel).to_be_hidden()
        lab.expect_enabled()
        lab.toggle_panel()
        lab.expect_enabled(*HALTED)
        panel.expect_state("Halted")
        changes = panel.root.get_by_role("tab", name="Changes")
        expect(changes).to_have_attribute("aria-selected", "true")
        panel.root.get_by_role("tab", name="Timeline").click()
        lab.execute("agentstepper:stop")
        panel.expect_state("Stopped")
        lab.expect_enabled()


def expect_keys(lab: Lab, panel: DebuggerView) -> None:
    """The keys are the debugger's while its panel shows a live run."""
    lab.cell(0).locator(".cm-content").click()
    lab.page.keyboard.press("F10")
    expect(halted_row(panel)).to_have_text("2")
    lab.toggle_panel()
    expect(lab.panel).to_be_hidden()
    lab.page.keyboard.press("F10")
    lab.page.keyboard.press("F9")
    lab.toggle_panel()
    expect(halted_row(panel)).to_have_text("2")
    lab.cell(0).locator(".cm-content").click()
    # JupyterLab's own debugger says so while a kernel stands at a halt point of its own.
    lab.page.evaluate("() => { document.body.dataset.jpDebuggerStoppedThreads = 'true'; }")
    lab.page.keyboard.press("F10")
    lab.page.evaluate("() => { document.body.dataset.jpDebuggerStoppedThreads = 'false'; }")
    lab.page.keyboard.press("F10")
    expect(halted_row(panel)).to_have_text("3")


def expect_own_page(lab: Lab, name: str) -> None:
    """The panel's run opens in a tab of its own."""
    with lab.page.context.expect_page() as opened:
        lab.execute("agentstepper:open-page")
    own = DebuggerView(opened.value.locator(".as-Root"))
    own.expect_state("Halted")
    expect(own.root).to_contain_text(name)
    opened.value.close()


@pytest.mark.soak  # js/tests has all of them without a browser
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param({"status": 404}, "pip install agentstepper_nb", id="no-server-extension"),
        pytest.param(
            {"json": {"version": "99.0", "protocol": 99, "app": "app.js"}},
            "Reload the page",
            id="newer-server",
        ),
        pytest.param(
            {"json": {"version": "0.0.1", "protocol": 1, "app": "app.js"}},
            "restart it",
            id="older-server",
        ),
    ],
)
def test_a_server_that_does_not_fit_is_said(
    new_lab: NewLab, jupyter: Jupyter, answer: dict[str, Any], words: str
) -> None:
    lab = new_lab(["1"])

    def misfit(route: Route) -> None:
        route.fulfill(**answer)

    lab.page.route(MANIFEST, misfit)
    lab.toggle_panel()
    expect(lab.panel.get_by_role("alert")).to_contain_text(words)
    lab.page.unroute(MANIFEST)
    lab.panel.get_by_role("button", name="Try again").click()
    expect(lab.panel_view().root).to_be_visible()


@pytest.mark.soak
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_panel_looks_like_a_part_of_the_application(
    new_tab: NewLab, jupyter: Jupyter, screenshots: Path, theme: str
) -> None:
    corridor = BlockedKernelNotebook(new_tab, jupyter, "--main")
    lab = corridor.lab
    lab.set_theme(theme)
    panel = open_panel(lab)
    panel.step_to("→ write_file")
    name = f"panel-{type(lab).__name__.lower()}-{'dark' if lab.dark else 'light'}"
    lab.page.screenshot(path=screenshots / f"{name}.png")
    lab.panel.screenshot(path=screenshots / f"{name}-only.png")
    panel.press("Continue")
    panel.expect_state(ENDED)
    assert lab.errors == []
