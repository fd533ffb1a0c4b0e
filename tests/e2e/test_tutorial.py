"""The first tutorial as its reader goes through it, clicking what it says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import BrowserContext, expect

from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE

from .jupyter import Jupyter
from .lab import Lab
from .pictures import Pictures
from .test_step_in_jupyterlab import edit_field

#: The tutorial's cells that do something, by their place.
LOAD, PREPARE, STEP, RESULT, SHOW, PROCESS = 1, 3, 5, 7, 9, 10


@pytest.fixture
def tutorial(context: BrowserContext, demo: Jupyter) -> Iterator[Lab]:
    lab = Lab(context, demo, "notebooks/01_first_steps.ipynb")
    lab.open()
    lab.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    lab.page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    yield lab
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def test_from_nothing_to_the_fixed_project(
    tutorial: Lab, demo: Jupyter, pictures: Pictures
) -> None:
    lab, page = tutorial, tutorial.page
    numbers = count()

    def take_frame() -> None:
        """The frames of the README's moving picture."""
        pictures.take(page, f"first-steps/{next(numbers):02}", kept=False)

    session = "window.jupyterapp.shell.currentWidget.sessionContext.session"
    assert page.evaluate(f"{session}.kernel.name") == "agents"
    for cell, prompt in ((LOAD, "[1]:"), (PREPARE, "[2]:")):
        lab.run(cell)
        expect(lab.prompt(cell)).to_have_text(prompt, timeout=30_000)
    expect(lab.outputs(PREPARE)).to_contain_text("1 failed, 2 passed")
    take_frame()

    lab.run(STEP)
    view = lab.view(STEP)
    view.expect_state("Halted before LLM query", timeout=60_000)
    lab.cell(STEP).evaluate("node => node.scrollIntoView({block: 'center'})")
    take_frame()
    view.step_to("Agent → LLM Returns")
    lab.cell(STEP).evaluate("node => node.scrollIntoView({block: 'center'})")
    pictures.take(page, "halted-light")
    take_frame()
    lab.set_theme("JupyterLab Dark")
    pictures.take(page, "halted-dark")
    lab.set_theme("JupyterLab Light")
    view.step_to("Agent → Tools write_file")
    take_frame()
    edit_field(view, GUESSED_LINE, RIGHT_LINE)
    pictures.take(page, "edit-light")
    take_frame()
    view.press("Step with edit")
    view.expect_state("Halted after tool call")
    take_frame()
    view.press("Continue")
    view.expect_state("Finished")
    take_frame()
    expect(lab.prompt(STEP)).to_have_text("[3]:", timeout=30_000)
    view.root.get_by_role("tab", name="Changes").click()
    expect(view.root.locator(".as-Diff")).to_contain_text("items), 2)")
    pictures.take(page, "changes-light")
    take_frame()
    lab.run(RESULT)
    expect(lab.outputs(RESULT)).to_contain_text("3 passed", timeout=30_000)
    lab.outputs(RESULT).evaluate("node => node.scrollIntoView({block: 'end'})")
    take_frame()

    expect_saved(lab, demo, pictures)

    lab.run(SHOW)
    lab.run(PROCESS)
    process = lab.view(SHOW)
    process.expect_state("Halted at the start", timeout=60_000)
    lab.cell(SHOW).evaluate("node => node.scrollIntoView({block: 'start'})")
    pictures.take(page, "process-light")
    process.press("Continue")
    expect(lab.outputs(PROCESS)).to_contain_text("exit code 1", timeout=30_000)
    assert lab.errors == []


def expect_saved(lab: Lab, jupyter: Jupyter, pictures: Pictures) -> None:
    """What somebody sees to whom the notebook is sent as a page."""
    lab.save()
    web, _ = HTMLExporter().from_filename(str(jupyter.folder / lab.notebook))
    page = lab.page.context.new_page()
    page.route("http*://**", lambda route: route.abort())
    page.set_content(web, wait_until="domcontentloaded")
    saved = page.locator(".jp-RenderedHTMLCommon > div:has(table)")
    expect(saved).to_contain_text("fix-tests: ✓ finished")
    pictures.take(saved, "saved-light")
    page.close()
