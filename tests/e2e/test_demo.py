"""The second, third, fourth, seventh and eighth tutorial in `make demo`, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import nbformat
import psutil
import pytest
from playwright.sync_api import BrowserContext, expect

from .jupyter import Jupyter
from .lab import DebuggerView, Lab
from .test_fleet import FleetView
from .test_step_in_jupyterlab import edit_field

Open = Callable[[str], "TutorialReader"]


class TutorialReader:
    """A tutorial in a tab, its reader going from cell to cell.

    Args:
        lab: The tab.
        demo: Its server.
    """

    def __init__(self, lab: Lab, demo: Jupyter) -> None:
        self.lab = lab
        cells = nbformat.read(demo.folder / lab.notebook, as_version=4).cells
        self._code = [at for at, cell in enumerate(cells) if cell.cell_type == "code"]
        self.sources = [cell.source for cell in cells]

    def run(self, cell: int) -> None:
        """Run a cell to its end."""
        self.lab.run(cell)
        self.expect_done(cell)

    def run_until(self, cell: int, after: int = -1) -> None:
        """Run the cells between two to their ends."""
        for each in self._code:
            if after < each < cell:
                self.run(each)

    def expect_done(self, cell: int) -> None:
        """Wait for a cell's end, without an error."""
        number = self._code.index(cell) + 1
        expect(self.lab.prompt(cell)).to_have_text(f"[{number}]:", timeout=300_000)
        error = self.lab.outputs(cell).locator("[data-mime-type='application/vnd.jupyter.error']")
        expect(error).to_have_count(0)

    def find(self, words: str) -> int:
        """The one cell of code that has these words."""
        [found] = [at for at in self._code if words in self.sources[at]]
        return found


@pytest.fixture
def open_tutorial(context: BrowserContext, demo: Jupyter) -> Iterator[Open]:
    """Opens a tutorial; its kernel ends with the test."""
    opened: list[Lab] = []

    def open_it(name: str) -> TutorialReader:
        lab = Lab(context, demo, f"notebooks/{name}.ipynb")
        opened.append(lab)
        lab.open()
        lab.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        return TutorialReader(lab, demo)

    yield open_it
    for lab in opened:
        lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def serving() -> list[psutil.Process]:
    """The debuggers that this process's descendants have started."""
    children = psutil.Process().children(recursive=True)
    return [process for process in children if "serve" in process.cmdline()]


@pytest.mark.soak  # make test-notebooks runs it without a browser
def test_nothing_is_lost(open_tutorial: Open) -> None:
    tutorial = open_tutorial("02_history")
    tutorial.run_until(len(tutorial.sources))
    killed = tutorial.lab.outputs(tutorial.find("the agent has ended"))
    expect(killed).to_contain_text("the agent has ended: False")
    assert serving() == []
    assert tutorial.lab.errors == []


@pytest.mark.soak
def test_what_a_restarted_kernel_had_started_is_gone(open_tutorial: Open) -> None:
    tutorial = open_tutorial("02_history")
    tutorial.run_until(tutorial.find("core.kill()"))
    running = serving()
    assert len(running) == 1
    tutorial.lab.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    assert psutil.wait_procs(running, timeout=60)[1] == []


def bookkeeper(tutorial: TutorialReader, cell: int) -> DebuggerView:
    """Run the agent and let it go on from its first halt."""
    tutorial.lab.run(cell)
    view = tutorial.lab.view(cell)
    view.expect_state("Halted before LLM query", timeout=60_000)
    view.press("Continue")
    return view


@pytest.mark.soak  # test_stops has a stop; make test-notebooks the tutorial
def test_halt_where_it_matters(open_tutorial: Open) -> None:
    tutorial = open_tutorial("03_breakpoints")
    first, second = [at for at, source in enumerate(tutorial.sources) if "%%step" in source]
    tutorial.run_until(first)
    bookkeeper(tutorial, first).expect_state("Finished", timeout=60_000)
    tutorial.expect_done(first)
    tutorial.run_until(second, after=first)
    view = bookkeeper(tutorial, second)
    view.expect_state("Halted before tool call", timeout=60_000)
    edit_field(view, "125", "125000")
    view.press("Continue with edit")
    view.expect_state("Finished", timeout=60_000)
    tutorial.expect_done(second)
    expect(tutorial.lab.outputs(second)).to_contain_text("The books balance.")
    tutorial.run_until(len(tutorial.sources), after=second)
    assert tutorial.lab.errors == []


@pytest.mark.soak  # test_approvals has approvals; make test-notebooks the tutorial
def test_a_coding_agent_step_by_step(open_tutorial: Open) -> None:
    tutorial = open_tutorial("04_coding_agent")
    run = tutorial.find("session.run(")
    show = tutorial.find("%agentstepper")
    tutorial.run_until(run)
    tutorial.lab.run(run)
    view = tutorial.lab.view(show)
    view.step_to("Agent → Tools")
    view.press("Continue")  # what asks for an approval halts all the same
    asked = view.root.get_by_role("region", name="Approval")
    expect(asked).to_be_visible(timeout=60_000)
    edit_field(view, "rm -rf build", "rm -rf build/cache")
    asked.get_by_role("button", name="Approve edited").click()
    asked.get_by_role("button", name="Yes, approve run_command").click()
    tutorial.expect_done(run)
    tutorial.run_until(len(tutorial.sources), after=run)
    expect(tutorial.lab.outputs(tutorial.find("tests_pass(), ["))).to_contain_text("['notes.txt']")
    assert tutorial.lab.errors == []


@pytest.mark.soak  # test_frameworks has such agents; make test-notebooks the tutorial
def test_an_agent_of_a_framework(open_tutorial: Open) -> None:
    tutorial = open_tutorial("07_your_framework")
    step = tutorial.find("agent.invoke(")
    tutorial.run_until(step)
    tutorial.lab.run(step)
    view = tutorial.lab.view(step)
    view.step_to("Agent → Tools tools refund")
    edit_field(view, "12900", "2900")
    view.press("Step with edit")
    view.press("Continue")
    tutorial.expect_done(step)
    expect(tutorial.lab.outputs(step)).to_contain_text("We have paid back 29.00 euros.")
    paid = tutorial.sources.index("paid")
    tutorial.run(paid)
    expect(tutorial.lab.outputs(paid)).to_contain_text("[2900]")
    assert tutorial.lab.errors == []


@pytest.mark.soak  # test_fleet has an inbox
@pytest.mark.timeout(600)  # it starts two hundred processes
def test_three_of_two_hundred_agents(open_tutorial: Open) -> None:
    tutorial = open_tutorial("08_fleet")
    edit = tutorial.find("press('e")
    tutorial.run_until(edit)
    fleet = FleetView(tutorial.lab, tutorial.find("%agentstepper fleet"))
    for number in (17, 64, 151):
        expect(fleet.halted(f".{number}")).to_contain_text("Breakpoint")
    fleet.halted(".17").click()
    panel = tutorial.lab.panel_view()
    panel.expect_state("Halted before tool call")
    edit_field(panel, "200900", "2650")
    panel.press("Continue with edit")
    panel.expect_state("Finished", timeout=60_000)
    tutorial.run(edit)
    expect(tutorial.lab.outputs(edit)).to_contain_text("2650")
    fleet.press("Continue all")
    tutorial.run_until(len(tutorial.sources), after=edit)
    expect(tutorial.lab.outputs(tutorial.find("lost:"))).to_contain_text("200 done")
    assert tutorial.lab.errors == []
