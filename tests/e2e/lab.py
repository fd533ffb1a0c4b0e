"""JupyterLab in a browser, with the verbs of a person: open a notebook, run a cell, look at the view."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, expect

from .jupyter import Jupyter

#: What JupyterLab itself says on a healthy day.
_HARMLESS = re.compile(
    r"favicon|ResizeObserver loop|Download the React DevTools|preload|/lsp/|"
    r"404 \(Not Found\).*(workspaces|translations)|api/contents/.*checkpoints"
)


class Lab:
    """One tab on one notebook."""

    def __init__(self, context: BrowserContext, jupyter: Jupyter, notebook: str) -> None:
        self.jupyter = jupyter
        self.errors: list[str] = []
        self.dark = False
        self.page: Page = context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.notebook = notebook

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _HARMLESS.search(f"{message.text} {message.location}"):
            self.errors.append(f"{message.text} ({message.location})")

    def open(self) -> None:
        """Open the notebook and wait for its kernel."""
        # A workspace of its own: JupyterLab opens again what was open in the last one.
        workspace = f"lab/workspaces/{Path(self.notebook).stem}/tree/{self.notebook}"
        self.page.goto(f"{self.jupyter.url}{workspace}?token={self.jupyter.token}")
        self.wait_for_kernel()

    def reload(self) -> None:
        """Press F5 and wait for the notebook, not for its kernel, which may be busy."""
        self.page.reload()
        expect(self.cell(0)).to_be_visible(timeout=60_000)

    def wait_for_kernel(self) -> None:
        """Wait until the notebook's kernel is idle."""
        self.page.wait_for_function(
            """() => {
                const app = window.jupyterapp; const panel = app?.shell?.currentWidget;
                const session = panel?.sessionContext;
                return session?.isReady && session.session?.kernel?.status === 'idle'
                    && panel.context.isReady && panel.content.widgets.length > 0;
            }""",
            timeout=90_000,
        )

    def cell(self, index: int) -> Locator:
        """A cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def run(self, index: int) -> None:
        """Run a cell as a click and Ctrl+Enter do, without waiting for its end."""
        self.page.evaluate(
            """async index => {
                const app = window.jupyterapp; const panel = app.shell.currentWidget;
                panel.content.activeCellIndex = index;
                panel.content.deselectAll();
                void app.commands.execute('notebook:run-cell');
            }""",
            index,
        )

    def prompt(self, index: int) -> Locator:
        """A cell's execution prompt, as `[3]:`."""
        return self.cell(index).locator(".jp-InputPrompt")

    def outputs(self, index: int) -> Locator:
        """A cell's output area."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def view(self, index: int) -> DebuggerView:
        """The debugger under a cell."""
        return DebuggerView(self.outputs(index).locator(".as-Root"))

    def set_theme(self, name: str) -> None:
        """Change JupyterLab's theme and wait until it is in force."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
        )
        light = "true" if "Light" in name else "false"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)
        self.dark = light == "false"

    def interrupt(self) -> None:
        """Interrupt the kernel."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")


class DebuggerView:
    """The view, found by what a person and a screen reader find it by."""

    def __init__(self, root: Locator) -> None:
        self.root = root

    @property
    def state(self) -> Locator:
        """The state, in words."""
        return self.root.get_by_role("status").first

    def expect_state(self, words: str, timeout: float = 20_000) -> None:
        """Wait for a state."""
        expect(self.state).to_contain_text(words, timeout=timeout)

    def button(self, name: str | re.Pattern[str]) -> Locator:
        """A button by its name."""
        return self.root.get_by_role("button", name=name, exact=True)

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press a button once it can be pressed."""
        button = self.button(name)
        expect(button).not_to_have_attribute("aria-disabled", "true", timeout=20_000)
        button.click()

    def step_to(self, words: str, *, before: Callable[[], None] = lambda: None) -> None:
        """Step until the halted row says so.

        Args:
            words: What it says, with single spaces.
            before: Called before each press.
        """
        halted = self.root.locator(".as-Row.as-mod-halted")
        for _ in range(20):
            expect(halted).to_have_count(1)
            if words in " ".join(halted.inner_text().split()):
                return
            row = halted.get_attribute("data-row")
            before()
            self.press("Step")
            expect(halted).not_to_have_attribute("data-row", row or "")
        raise AssertionError(f"no halt at {words!r}")

    def rows(self) -> Locator:
        """The timeline's rows."""
        return self.root.locator(".as-Row")

    def row_texts(self) -> list[str]:
        """What the rows say: number and summary."""
        return [" ".join(text.split()) for text in self.rows().all_inner_texts()]


def notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(made, path)
