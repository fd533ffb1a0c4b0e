"""JupyterLab and Notebook 7 in a browser, with the verbs of a person: run a cell, look at the view."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, expect

from .jupyter import Jupyter

#: What JupyterLab and Notebook themselves say on a healthy day.
_HARMLESS = re.compile(
    r"favicon|ResizeObserver loop|Download the React DevTools|preload|/lsp/|"
    r"404 \(Not Found\).*(workspaces|translations)|api/contents/.*checkpoints|"
    r"^Cannot read properties of undefined \(reading 'schema'\)$|"
    r"^Command 'filebrowser:open-path' not registered\.$"
)


def listen(page: Page) -> list[str]:
    """What goes wrong in a tab from now on: errors in its console, and those that nothing catches."""
    errors: list[str] = []

    def note(error: str) -> None:
        if not _HARMLESS.search(error):
            errors.append(error)

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            note(f"{message.text} ({message.location})")

    page.on("console", on_console)
    page.on("pageerror", lambda error: note(str(error)))
    return errors


class Lab:
    """One tab of JupyterLab on one notebook.

    Args:
        context: The browser to open it in.
        jupyter: Its server.
        notebook: The notebook's path, from the server's folder.
        page: A tab that has JupyterLab already; a new one unless told otherwise.
    """

    def __init__(
        self, context: BrowserContext, jupyter: Jupyter, notebook: str, page: Page | None = None
    ) -> None:
        self.jupyter = jupyter
        self.dark = False
        self.page = page or context.new_page()
        self.errors = listen(self.page)
        self.notebook = notebook

    @property
    def address(self) -> str:
        """The notebook's, below the server's."""
        # A workspace of its own: JupyterLab opens again what was open in the last one.
        return f"lab/workspaces/{Path(self.notebook).stem}/tree/{self.notebook}"

    def open(self) -> None:
        """Open the notebook and wait for its kernel."""
        if self.page.url == "about:blank":
            self.page.goto(f"{self.jupyter.url}{self.address}?token={self.jupyter.token}")
        else:  # JupyterLab stands there since another test
            self.page.evaluate(
                "path => window.jupyterapp.commands.execute('docmanager:open', { path })",
                self.notebook,
            )
        self.wait_for_kernel()

    def clear(self) -> None:
        """End the kernel, and leave JupyterLab as it was before the notebook was opened."""
        if self.dark:  # the theme is the server's, not the tab's
            self.set_theme("JupyterLab Light")
        self.page.unroute_all()
        self.page.evaluate(
            """async () => {
                const { shell } = window.jupyterapp;
                for (const widget of [...shell.widgets('main')]) {
                    await widget.sessionContext?.shutdown();
                    widget.dispose();
                }
                shell.collapseRight?.();
                localStorage.clear();
                sessionStorage.clear();
            }"""
        )

    def save(self) -> None:
        """Save the notebook, and wait until what a reload brings back is saved too."""
        self.execute("docmanager:save")
        self._wait_for_layout()

    def _wait_for_layout(self) -> None:
        """JupyterLab saves its layout some moments after each change."""
        self.page.evaluate(
            """async url => {
                const saved = async () => {
                    const { data } = await (await fetch(url)).json();
                    return data['layout-restorer:data']?.right.collapsed;
                };
                while (await saved() !== window.jupyterapp.shell.rightCollapsed) {
                    await new Promise(requestAnimationFrame);
                }
            }""",
            f"{self.jupyter.url}lab/api/workspaces/{Path(self.notebook).stem}",
        )

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

    @property
    def panel(self) -> Locator:
        """The side panel, whether or not it is seen."""
        return self.page.locator("#agentstepper-panel")

    def panel_view(self) -> DebuggerView:
        """The debugger in the side panel."""
        return DebuggerView(self.panel.locator(".as-Root"))

    def toggle_panel(self) -> None:
        """Show the side panel, or put it away."""
        self.execute("agentstepper:toggle-panel")

    def execute(self, command: str) -> None:
        """Execute one of the application's commands and wait until it is done."""
        self.page.evaluate("id => window.jupyterapp.commands.execute(id)", command)

    def expect_enabled(self, *commands: str) -> None:
        """Wait until exactly these of the debugger's run commands are enabled."""
        self.page.wait_for_function(
            """expected => {
                const ids = ['step', 'continue', 'halt', 'stop'];
                const { commands } = window.jupyterapp;
                const enabled = ids.filter(id => commands.isEnabled(`agentstepper:${id}`));
                return JSON.stringify(enabled) === JSON.stringify(expected);
            }""",
            arg=list(commands),
        )

    def choose_in_palette(self, label: str) -> None:
        """Find a command of the debugger's in the palette and choose it."""
        self.execute("apputils:activate-command-palette")
        self.page.locator(".lm-CommandPalette-input").fill(f"agent debugger {label}")
        self.page.locator(".lm-CommandPalette-item").filter(has_text=label).first.click()

    def choose_in_run_menu(self, label: str) -> None:
        """Choose a command from the debugger's part of the Run menu."""
        self.page.locator(".lm-MenuBar-item").get_by_text("Run", exact=True).click()
        items = self.page.locator(".lm-Menu-item")
        items.filter(has_text="Agent Debugger").click()
        items.filter(has_text=re.compile(f"^{label}")).last.click()

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
        self.execute("notebook:interrupt-kernel")


class Notebook7(Lab):
    """One tab of Notebook 7 on one notebook."""

    @property
    def address(self) -> str:
        """The notebook's, below the server's."""
        return f"notebooks/{self.notebook}"

    def _wait_for_layout(self) -> None:
        """Notebook has no layout to save; what we keep of it is kept at once."""


class DebuggerView:
    """The view, found by what a person and a screen reader find it by."""

    def __init__(self, root: Locator) -> None:
        self.root = root

    @property
    def state(self) -> Locator:
        """The state, in words."""
        return self.root.get_by_role("status").first

    def expect_state(self, words: str | re.Pattern[str], timeout: float = 20_000) -> None:
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
            # Both at once: an answer on its way may move the halt between two looks.
            row, text = halted.evaluate("each => [each.dataset.row, each.innerText]")
            if words in " ".join(text.split()):
                return
            before()
            if self._can_step_from(row):
                self.button("Step").click()
            # The model or a tool may be at work in between.
            expect(halted).not_to_have_attribute("data-row", row, timeout=30_000)
        raise AssertionError(f"no halt at {words!r}")

    def _can_step_from(self, row: str) -> bool:
        """Wait until Step can be pressed at a halted row, or the agent has left that row."""
        found = self.root.page.wait_for_function(
            """([view, row]) => {
                const halted = view.querySelector('.as-Row.as-mod-halted');
                if (!halted) return null;
                if (halted.dataset.row !== row) return 'left';
                const step = view.querySelector('.as-Controls [aria-label="Step"]');
                return step?.getAttribute('aria-disabled') === 'true' ? null : 'can step';
            }""",
            arg=[self.root.element_handle(), row],
        )
        return found.json_value() == "can step"

    def rows(self) -> Locator:
        """The timeline's rows."""
        return self.root.locator(".as-Row:not(.as-mod-file)")

    def row_texts(self) -> list[str]:
        """What the rows say: number and summary."""
        return [" ".join(text.split()) for text in self.rows().all_inner_texts()]


def open_page(context: BrowserContext, jupyter: Jupyter) -> tuple[Page, DebuggerView]:
    """Open the view's own page, logged in."""
    page = context.new_page()
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    return page, DebuggerView(page.locator(".as-Root"))


def notebook(path: Path, cells: Sequence[str], kernel: str = "python3") -> None:
    """Write a notebook of code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    made.metadata["kernelspec"] = {
        "name": kernel,
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(made, path)
