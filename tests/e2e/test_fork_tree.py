"""The tab Forks, in a browser: the tree of real runs, a comparison from it, and files put back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .axe import expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView, open_page
from .test_forks import record
from .test_several_agents import choose

#: Widths that the tab is looked at in: a side panel's, and a page's.
WIDTHS = (340, 1000)

#: Writes a file a call into its workspace.
WRITER = """
import sys
from agentstepper_nb import AgentStepper

def write(name: str) -> None:
    (dbg.workspace / name).write_text(name)

with AgentStepper("writing agent", agent_workspace_path="project") as dbg:
    tool = dbg.traced_tool(write)
    tool("one")
    tool("two")
"""


def open_forks(view: DebuggerView) -> Locator:
    view.root.get_by_role("tab", name="Forks").click()
    return view.root.get_by_role("region", name="Forks of this run")


def fork_at(view: DebuggerView, tool: str, nth: int) -> None:
    """Press *Fork here* at one of a tool's rows."""
    view.root.get_by_role("tab", name="Timeline").click()
    view.root.locator(".as-Row").filter(has_text=tool).nth(nth).click()
    view.press("Fork here")


def edit(view: DebuggerView, button: str, text: str) -> None:
    """Type over what is halted, and step."""
    view.press(button)
    field = view.root.locator(".cm-content")  # other text boxes are there before the editor
    field.press("Control+a")
    field.type(text)
    view.press("Step with edit")


def expect_looks(page: Page) -> None:
    """Nothing sticks out, and axe finds nothing, in each width and theme."""
    size = page.viewport_size
    assert size is not None
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            region = page.locator(".as-Forks")
            assert region.evaluate("each => each.scrollWidth <= each.clientWidth + 1"), width
            expect_clean(page)
    page.set_viewport_size(size)


@pytest.mark.slow
def test_the_tree_leads_to_runs_and_to_the_first_difference(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    page, view = open_page(context, jupyter)
    record(view, jupyter, tmp_path, "tree agent")
    fork_at(view, "look_up", 1)  # the end of the first call
    view.expect_state("Halted after tool call")
    edit(view, "Edit this result", '"none"')
    view.expect_state("Halted before tool call")
    view.press("Continue")
    view.expect_state("Finished")
    nodes = open_forks(view).locator(".as-ForkNode")
    expect(nodes).to_have_count(2)
    parent, fork = nodes.nth(0), nodes.nth(1)
    expect(fork).to_contain_text("tool result look_up, row 3")
    expect(fork).to_contain_text("“A” → “none”")
    for each in (parent, fork):
        expect(each).to_contain_text("Finished")
        expect(each).to_contain_text("no file changed")
    expect(fork).to_have_attribute("aria-current", "true")
    left, right = (each.bounding_box() for each in (parent, fork))
    assert left is not None
    assert right is not None
    assert right["x"] > left["x"]
    assert right["y"] > left["y"]
    expect_looks(page)
    fork.get_by_role("button", name="Compare").click()
    contents = view.root.get_by_role("region", name="Contents of both")
    expect(contents).to_contain_text("none")  # the first difference is open
    view.press("Back to the runs")
    open_forks(view).locator(".as-ForkNode-name").first.click()
    expect(view.root.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    expect(view.root.get_by_role("tab", name="Forks")).to_be_visible()  # the parent has one


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def record_writer(view: DebuggerView, jupyter: Jupyter, folder: Path, program: str) -> None:
    (folder / "agent.py").write_text(WRITER.replace("writing agent", program))
    command = [sys.executable, "-m", "agentstepper_nb", "run", "--", sys.executable, "agent.py"]
    process = subprocess.Popen(command, cwd=folder, env=jupyter.environment())
    try:
        choose(view, program)
        view.expect_state("Halted")
        view.press("Continue")
        view.expect_state("Finished")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.soak  # tests/replay has it without a browser
def test_a_fork_in_place_is_put_back(
    context: BrowserContext, jupyter: Jupyter, project: Path
) -> None:
    page, view = open_page(context, jupyter)
    record_writer(view, jupyter, project.parent, "writer in place")
    assert names(project) == ["main.py", "one", "two"]
    fork_at(view, "write", 2)  # the begin of the second call
    dialog = view.root.get_by_role("dialog", name="The fork’s folder")
    expect(dialog.get_by_role("radio", name="A fresh folder")).to_be_checked()
    expect_clean(page)
    dialog.get_by_role("radio", name="In place").check()
    expect(dialog).to_contain_text("files are replaced and deleted")
    dialog.get_by_role("button", name="Fork in place").click()
    view.expect_state("Halted before tool call")
    assert names(project) == ["main.py", "one"]
    view.press("Continue")
    view.expect_state("Finished")
    assert names(project) == ["main.py", "one", "two"]
    (project / "later").write_text("of the fork")
    view.press("Files")  # of the banner
    region = view.root.get_by_role("region", name="Forks of this run")
    expect(region).to_contain_text(f"restored in place in {project.resolve()}")
    expect_looks(page)
    region.get_by_role("button", name="Put back…").click()
    expect(region).to_contain_text("The folder becomes what it was before the fork")
    expect_clean(page)
    region.get_by_role("button", name="Put back").click()
    expect(region.get_by_role("status")).to_contain_text("Put back: ")
    expect(region.get_by_role("button", name="Put back…")).to_have_count(0)
    assert names(project) == ["main.py", "one", "two"]


@pytest.mark.slow
def test_a_fresh_folder_is_the_default(
    context: BrowserContext, jupyter: Jupyter, project: Path
) -> None:
    _, view = open_page(context, jupyter)
    record_writer(view, jupyter, project.parent, "fresh writer")
    fork_at(view, "write", 2)
    view.root.get_by_role("dialog", name="The fork’s folder").get_by_role("radio").first.press(
        "Enter"
    )
    view.expect_state("Halted before tool call")
    assert names(project) == ["main.py", "one", "two"]
    region = open_forks(view)
    expect(region.locator(".as-ForkNode")).to_have_count(2)
    expect(region.get_by_role("button", name="Put back…")).to_have_count(0)
    view.press("Continue")
    view.expect_state("Finished")
    assert names(project) == ["main.py", "one", "two"]
