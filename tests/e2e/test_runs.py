"""The Runs tab in a browser, on a real Core: found again, named, tagged, taken out and in, deleted."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .axe import expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView, open_page
from .test_several_agents import choose

AGENT = """
import sys
from agentstepper_nb import AgentStepper
with AgentStepper(sys.argv[1]) as dbg:
    with dbg.tool("look", {"for": sys.argv[2]}) as tool:
        tool.result = "nothing of the kind"
"""


def run_to_its_end(view: DebuggerView, jupyter: Jupyter, program: str, sought: str) -> None:
    """Begin an agent, and let it go on from its first halt."""
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, program, sought], env=jupyter.environment()
    )
    try:
        choose(view, program)
        view.expect_state("Halted")
        view.press("Continue")
        view.expect_state("Finished")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()


def row_of(view: DebuggerView, program: str) -> Locator:
    return view.root.locator(".as-RunRow").filter(has_text=program)


def search(view: DebuggerView, words: str) -> Locator:
    """Look for words; gives the places where they are."""
    view.root.get_by_label("Search runs, prompts, files").fill(words)
    view.root.page.keyboard.press("Enter")
    return view.root.locator(".as-Hit").filter(has_text=words)


def export(page: Page, view: DebuggerView, program: str, folder: Path) -> Path:
    """Export a run as an archive, as a person saves it."""
    row = row_of(view, program)
    row.hover()
    row.get_by_role("button", name=f"Export {program}").click()
    with page.expect_download() as download:
        view.press("Archive (.zip)")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.slow
def test_runs_are_found_named_tagged_exported_deleted_and_imported(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    page, view = open_page(context, jupyter)
    run_to_its_end(view, jupyter, "first-kept", "marmalade")
    run_to_its_end(view, jupyter, "second-kept", "quince")
    view.rows().last.focus()
    page.keyboard.press("r")
    expect(row_of(view, "second-kept")).to_be_focused()

    search(view, "marmalade").first.click()
    expect(view.root.locator(".as-Row[aria-selected='true']")).to_contain_text("marmalade")
    expect(view.root.locator(".as-Run")).to_contain_text("first-kept")

    page.keyboard.press("4")
    page.keyboard.press("Escape")
    row_of(view, "first-kept").focus()
    page.keyboard.press("F2")
    page.keyboard.type("kept-for-good")
    page.keyboard.press("Enter")
    expect(row_of(view, "kept-for-good")).to_be_focused()
    page.keyboard.press("t")
    page.keyboard.type("breakfast")
    page.keyboard.press("Enter")
    expect(view.root.get_by_role("button", name="Remove the tag breakfast")).to_be_visible()
    page.keyboard.press("Escape")
    expect(row_of(view, "kept-for-good")).to_contain_text("breakfast")
    view.root.get_by_label("Filter by name, program or tag").fill("breakfast")
    expect(view.root.locator(".as-RunRow")).to_have_count(1)
    expect_clean(page)

    archive = export(page, view, "kept-for-good", tmp_path)
    assert archive.name == "kept-for-good.agentstepper.zip"
    assert "manifest.json" in zipfile.ZipFile(archive).namelist()

    row_of(view, "kept-for-good").focus()
    page.keyboard.press("Delete")
    view.press("Delete")
    expect(view.root).to_contain_text("No run matches the filter")

    view.root.get_by_label("A file with a run").set_input_files(archive)
    expect(row_of(view, "kept-for-good")).to_be_focused()
    expect(row_of(view, "kept-for-good")).to_contain_text("breakfast")
    page.keyboard.press("Enter")
    expect(view.rows().filter(has_text="marmalade").first).to_be_visible()
