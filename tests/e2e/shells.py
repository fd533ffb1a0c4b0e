"""Every place where a person meets the view, with the same verbs: start, look, reload.

A shell is a notebook whose agent is halted at its first halt point, and the view as that shell has it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from playwright.sync_api import expect

from .agents import KernelProbe, setup
from .conftest import NewLab
from .jupyter import KERNELS, ROOT, Jupyter
from .lab import DebuggerView, Lab, listen

_numbers = itertools.count(1)

#: A kernelspec's PYTHONPATH takes the place of the server's.
_EXAMPLES = f"import sys; sys.path.append({str(ROOT / 'examples')!r})\n"

#: Answers what it was asked, writes that down, and then uses a tool that the spy's gate holds, until
#: the spy says that it is enough.
_AGENT = """
from pathlib import Path
with dbg.llm({{"messages": [{{"role": "user", "content": {question!r}}}]}}) as query:
    asked = query.prompt["messages"][-1]["content"]
    query.response = {{"role": "assistant", "content": f"You asked: {{asked}}"}}
with dbg.tool("write_file", {{"path": "answer.txt", "text": query.response["content"]}}) as tool:
    Path({folder!r}, tool.args["path"]).write_text(tool.args["text"])
    tool.result = "written"
while not enough.wait(0.05):
    with dbg.tool("wait", {{}}) as tool:
        tool.result = gate.wait()
"""

QUESTION = "What is the answer?"


def asking_agent(folder: str) -> str:
    """What the scenario's agent does."""
    return _AGENT.format(question=QUESTION, folder=folder)


class Shell:
    """The view under a cell of JupyterLab, drawn by our extension.

    Args:
        request: For the fixtures that a shell needs.
        agent: Gives what the cell does, from the folder it works on.
        program: What the run is called after, quoted as the magic's line wants it.

    Attributes:
        lab: The tab with the notebook.
        view: The view, as this shell has it.
        spy: Tells what the kernel's main thread does.
        folder: The agent's workspace.
    """

    server: ClassVar[str] = "jupyter"
    tab: ClassVar[str] = "own_lab"
    kernel: ClassVar[str] = "python3"
    option: ClassVar[str] = "--main"
    #: The room in whose code the main thread waits; empty where it is free.
    waits_in: ClassVar[str] = "sdk"
    #: Whether a reload brings the view back while the main thread waits.
    reloads: ClassVar[bool] = True
    #: How many views the notebook's tab shows.
    views: ClassVar[int] = 1

    def __init__(
        self,
        request: pytest.FixtureRequest,
        agent: Callable[[str], str] = asking_agent,
        program: str = "",
    ) -> None:
        jupyter: Jupyter = request.getfixturevalue(self.server)
        new_lab: NewLab = request.getfixturevalue(self.tab)
        if self.kernel != "python3":
            found = (KERNELS / "kernels" / self.kernel).is_dir()
            assert found, f"{self.kernel} is missing: run `make kernels`."
        name = f"shell-{next(_numbers)}"
        self.folder: Path = jupyter.folder / name
        port = jupyter.folder / f"{name}.port"
        step = f"%%step {program or name} {self.option} --workspace {name}\n{agent(name)}"
        cells = [_EXAMPLES + setup(name, str(port)), step]
        self.lab: Lab = new_lab(cells, kernel=self.kernel)
        self.lab.run(0)
        expect(self.lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
        self.spy = KernelProbe(port)
        self.lab.run(1)
        self.lab.view(1).expect_state("Halted", timeout=60_000)
        self.view: DebuggerView = self.open()

    def open(self) -> DebuggerView:
        """Show the view as this shell does."""
        return self.lab.view(1)

    def reload(self) -> None:
        """Press F5, with the notebook saved."""
        self.lab.save()
        assert self.errors() == []
        self.lab.reload()

    def expect_waiting(self) -> None:
        """The main thread waits for the person, or is free, as it should be in this shell."""
        seen = self.spy.read_state()
        waits = any(f"agentstepper_nb/{self.waits_in}/" in frame for frame in seen["stack"])
        assert waits == (self.waits_in != ""), seen["stack"]

    def errors(self) -> list[str]:
        """What went wrong in the browser."""
        return self.lab.errors


class LabPanel(Shell):
    """JupyterLab's side panel, beside the view under the cell."""

    views = 2

    def open(self) -> DebuggerView:
        self.lab.toggle_panel()
        expect(self.lab.panel).to_be_visible()
        return self.lab.panel_view()


class Notebook7Inline(Shell):
    """The view under a cell of Notebook 7."""

    tab = "new_notebook7"


class Notebook7Panel(LabPanel):
    """Notebook 7's side panel."""

    tab = "new_notebook7"


class OwnPage(Shell):
    """The view on its own page, in a tab beside the notebook's."""

    def open(self) -> DebuggerView:
        page = self.lab.page.context.new_page()
        self._errors = listen(page)
        run = self.lab.view(1).root.get_by_role("link", name="Open on its own page")
        page.goto(str(run.get_attribute("href")))
        self._page = page
        return DebuggerView(page.locator(".as-Root"))

    def reload(self) -> None:
        self._page.reload()

    def errors(self) -> list[str]:
        return self.lab.errors + self._errors


class NoExtension(Shell):
    """A JupyterLab without our extensions, whose kernel stays free: the view goes through it."""

    server = "bare_jupyter"
    tab = "own_bare_lab"
    kernel = "ipykernel-7.4"
    option = "--background"
    waits_in = ""

    def reload(self) -> None:
        self.lab.execute("docmanager:save")
        assert self.errors() == []
        self.lab.reload()


class NoExtensionBlocked(NoExtension):
    """The same while the kernel's main thread is blocked: the view is heard by a subshell."""

    option = "--main"
    waits_in = "sdk"
    reloads = False  # after a reload ipywidgets asks the kernel what there was


SHELLS: dict[str, type[Shell]] = {
    "lab-inline": Shell,
    "lab-panel": LabPanel,
    "notebook-inline": Notebook7Inline,
    "notebook-panel": Notebook7Panel,
    "page": OwnPage,
    "no-extension": NoExtension,
    "no-extension-blocked": NoExtensionBlocked,
}
