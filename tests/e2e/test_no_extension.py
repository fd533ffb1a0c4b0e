"""JupyterLab without our extensions: the Core is in the kernel, and the view goes through it.

Not on ipykernel 7.3, which `tests/kernels` has: it doesn't read what reaches it just while it sends a
reply, nor anything else from the same page, until another page connects. JupyterLab asks many things at
once when it opens a notebook, so that any cell may never run. 7.4 reads them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agentstepper_nb.hub.standalone import AgentStepperCore
from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE

from .agents import QUEUED, KernelProbe, setup, step
from .conftest import NewLab
from .jupyter import KERNELS, ROOT, Jupyter
from .lab import DebuggerView, Lab
from .test_sessions import SessionsView, creating
from .test_step_in_jupyterlab import edit_json

_names = (f"bare-{number}" for number in itertools.count(1))

#: A kernelspec's PYTHONPATH takes the place of the server's.
_EXAMPLES = f"import sys; sys.path.append({str(ROOT / 'examples')!r})\n"

ALL = ["6.31", "7.4"]


class BareNotebook:
    """A notebook whose agent is halted at its first halt point.

    Args:
        new_lab: Opens it.
        jupyter: The server, which has no Core.
        series: The kernel's version of ipykernel.
        options: Of `%%step`.
    """

    def __init__(self, new_lab: NewLab, jupyter: Jupyter, series: str, *options: str) -> None:
        kernel = f"ipykernel-{series}"
        assert (KERNELS / "kernels" / kernel).is_dir(), f"{kernel} is missing: run `make kernels`."
        name = next(_names)
        self.folder = jupyter.folder / name
        port = jupyter.folder / f"{name}.port"
        cells = [_EXAMPLES + setup(name, str(port)), step(name, *options), QUEUED]
        self.lab: Lab = new_lab(cells, kernel=kernel)
        self.lab.run(0)
        expect(self.lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
        self.spy = KernelProbe(port)
        self.lab.run(1)
        self.view: DebuggerView = self.lab.view(1)
        self.view.expect_state("Halted before LLM query", timeout=60_000)

    def expect_blocked(self, where: str) -> None:
        """The main thread waits in a part of ours, and the cell behind it has not run."""
        seen = self.spy.read_state()
        assert seen["ran"] == []
        assert any(f"agentstepper_nb/{where}/" in frame for frame in seen["stack"]), seen["stack"]

    def expect_end(self, words: str) -> None:
        """Wait for the run's end."""
        self.view.expect_state(words)
        assert self.lab.errors == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "where"), [("--main", "sdk"), pytest.param(None, "magics", marks=pytest.mark.soak)]
)
def test_step_edit_and_continue_while_the_main_thread_is_blocked(
    new_bare_lab: NewLab,
    bare_jupyter: Jupyter,
    screenshots: Path,
    option: str | None,
    where: str,
) -> None:
    bare = BareNotebook(new_bare_lab, bare_jupyter, "7.4", *([option] if option else []))
    lab, view = bare.lab, bare.view
    lab.run(2)
    expect(lab.prompt(2)).to_have_text("[*]:")
    expect(view.root).to_contain_text("through the kernel")
    view.press("Keys (?)")
    expect(view.root.get_by_role("dialog")).to_contain_text("no AgentStepper Core")
    lab.page.keyboard.press("Escape")
    view.root.evaluate("root => { root.isTheSame = true; }")
    view.step_to("Agent → Tools write_file", before=lambda: bare.expect_blocked(where))
    edit_json(view, GUESSED_LINE, RIGHT_LINE)
    lab.cell(1).scroll_into_view_if_needed()
    lab.page.screenshot(path=screenshots / "kernel-7.4-edit.png")
    bare.expect_blocked(where)
    view.press("Step with edit")
    view.expect_state("Halted after tool call")
    assert RIGHT_LINE in (bare.folder / "cart.py").read_text()
    bare.expect_blocked(where)
    view.press("Continue")
    bare.expect_end("Finished")
    expect(lab.prompt(2)).to_have_text("[3]:", timeout=30_000)
    expect(lab.outputs(1)).to_contain_text("True")
    # What is kept for the saved notebook came into the same output: the view is still that one.
    assert view.root.evaluate("root => root.isTheSame")
    lab.page.screenshot(path=screenshots / "kernel-7.4-finished.png")


@pytest.mark.soak  # tests/kernels has it without a browser
def test_without_subshells_the_cell_goes_on_in_the_background(
    new_bare_lab: NewLab, bare_jupyter: Jupyter, screenshots: Path
) -> None:
    bare = BareNotebook(new_bare_lab, bare_jupyter, "6.31")
    lab, view = bare.lab, bare.view
    expect(lab.outputs(1)).to_contain_text("continues in the background")
    expect(lab.prompt(1)).to_have_text("[2]:")
    lab.run(2)
    expect(lab.prompt(2)).to_have_text("[3]:")
    assert bare.spy.read_state()["ran"] == ["queued"]
    view.step_to("Agent → Tools write_file")
    lab.page.screenshot(path=screenshots / "kernel-6.31-halted.png")
    edit_json(view, GUESSED_LINE, RIGHT_LINE)
    view.press("Step with edit")
    view.expect_state("Halted after tool call")
    view.press("Continue")
    bare.expect_end("Finished")
    assert RIGHT_LINE in (bare.folder / "cart.py").read_text()


@pytest.mark.soak  # test_shells has reloads, where our extension is
@pytest.mark.parametrize("series", ALL)
def test_after_a_reload_the_view_is_back_and_a_restarted_kernel_is_known_at_once(
    own_bare_lab: NewLab, bare_jupyter: Jupyter, screenshots: Path, series: str
) -> None:
    bare = BareNotebook(own_bare_lab, bare_jupyter, series, "--background")
    lab, view = bare.lab, bare.view
    expect(lab.prompt(1)).to_have_text("[2]:")
    view.press("Step")
    view.expect_state("Halted after LLM query")
    lab.execute("docmanager:save")
    lab.reload()
    view.expect_state("Halted after LLM query", timeout=60_000)
    expect(view.rows()).to_have_count(3)
    view.press("Step")
    view.expect_state("Halted before tool call")
    assert lab.errors == []
    lab.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    view.expect_state("Not connected")
    expect(view.root.get_by_role("alert")).to_contain_text("in its memory")
    lab.page.screenshot(path=screenshots / "kernel-restarted.png")


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStepperCore]:
    """A Core beside JupyterLab, as `agentstepper serve` has it, which starts a worker."""
    folder = tmp_path_factory.mktemp("served")
    with AgentStepperCore(
        "127.0.0.1", client_port=0, ui_port=None, data=folder, worker=True
    ) as core:
        yield core


@pytest.mark.soak  # tests/widgets/test_kernel_links has it without a browser
def test_the_kernel_relays_what_the_browser_cannot_reach(
    new_bare_lab: NewLab, serve: AgentStepperCore
) -> None:
    """Also while a cell keeps the kernel's main thread."""
    variables = {
        "AGENTSTEPPER_URL": f"ws://127.0.0.1:{serve.client_port}",
        "AGENTSTEPPER_TOKEN": serve.tokens.agent,
        "AGENTSTEPPER_CONTROL_TOKEN": serve.tokens.control,
    }
    url = f"import os; os.environ.update({variables!r})\n"
    one, _, create = creating()
    lab = new_bare_lab(
        [url + create, "SessionsWidget()", "agents.wait_for(made[0], status='paused').status.value"]
    )
    lab.run(0)
    lab.run(1)
    view = SessionsView(lab, 1)
    expect(view.row(one)).to_contain_text("Running", timeout=60_000)
    expect(view.row(one)).to_contain_text("cats")  # it runs before its first step has begun
    lab.run(2)
    view.pause(one)
    expect(lab.outputs(2)).to_contain_text("paused")
    expect(view.steps).to_contain_text("cats")
    view.press("Open in the debugger (o)")
    expect(view.root).to_contain_text("agentstepper step --run ")
    assert lab.errors == []
