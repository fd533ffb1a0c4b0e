"""The event that decides is found from the view, and a run becomes a test: real commands, a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .axe import expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView, open_page
from .test_several_agents import choose, run_of

#: It asks four times what a file says, and the third answer decides. Where the file says so, it waits.
AGENT = """
import time
from pathlib import Path
from agentstepper_nb import AgentStepper

def look(number):
    said = Path("world").read_text()
    while said == "slow":
        time.sleep(1000)
    return said

def answer():
    with AgentStepper("PROGRAM", mode="continue", stop_on_entry=False) as dbg:
        ask = dbg.traced_llm(look, model="m")
        came = [ask(number) for number in range(4)]
    return "passed" if came[2] == "good" else "failed"

if __name__ == "__main__":
    print(answer())
"""


class Searched:
    """A view of a run that passed, in a world that is bad since.

    Args:
        page: The view's page.
        view: The view.
        folder: The folder of the agent.
        run: The run's id.
    """

    def __init__(self, page: Page, view: DebuggerView, folder: Path, run: str) -> None:
        self.page, self.view, self.folder, self.run = page, view, folder, run

    @property
    def search(self) -> Locator:
        """The section of the search."""
        return self.view.root.get_by_role("region", name="Which event decided?")

    @property
    def export(self) -> Locator:
        """The section of the test."""
        return self.view.root.get_by_role("region", name="This run as a test")

    def open_tab(self) -> None:
        self.view.root.get_by_role("tab", name="Forks").click()

    def estimate(self, check: str) -> None:
        """Fill the form and press, until the search asks."""
        self.search.get_by_role("textbox", name="Check").fill(check)
        self.search.get_by_role("spinbutton").fill("1")
        self.view.press("Estimate…")
        expect(self.search.get_by_role("status")).to_contain_text("LLM queries")


@pytest.fixture
def searched(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Searched]:
    program = request.node.name
    page, view = open_page(context, jupyter)
    (tmp_path / "looker.py").write_text(AGENT.replace("PROGRAM", program))
    (tmp_path / "world").write_text("good")
    command = [sys.executable, "-m", "agentstepper_nb", "run", "--", sys.executable, "looker.py"]
    subprocess.run(command, cwd=tmp_path, env=jupyter.environment(), check=True, timeout=60)
    (tmp_path / "world").write_text("bad")
    choose(view, program)
    view.expect_state("Finished")
    made = Searched(page, view, tmp_path, run_of(jupyter, program))
    made.open_tab()
    yield made


@pytest.mark.slow
def test_the_event_is_found_after_the_person_has_agreed(
    searched: Searched, context: BrowserContext, jupyter: Jupyter
) -> None:
    view, search = searched.view, searched.search
    searched.estimate("test -e looker.py && grep -qx passed")
    expect(search.get_by_role("status")).to_contain_text("Begin?")
    # Somebody who comes later is asked the same, and may answer.
    _, other = open_page(context, jupyter)
    choose(other, "test_the_event_is_found")
    other.root.get_by_role("tab", name="Forks").click()
    other.press("Begin")
    expect(search.get_by_role("status")).to_contain_text("decides", timeout=60_000)
    expect(search.get_by_role("listitem").first).to_be_visible()
    expect(search.get_by_role("button", name="Passed: show its run").first).to_be_visible()
    expect(search.get_by_role("button", name="Failed: show its run").first).to_be_visible()
    expect_clean(searched.page)
    # The row that decides, by a key: forks that come to the tree above move it from under a click.
    search.get_by_role("status").get_by_role("button").press("Enter")
    selected = view.root.locator(".as-Row[aria-selected=true]")
    expect(selected.locator(".as-Row-n")).to_have_text("7")  # the end of the third query
    searched.open_tab()
    # The good run and its executions: at least four.
    expect(view.root.locator(".as-ForkNode").nth(3)).to_be_attached()


@pytest.mark.soak  # tests/replay/test_view_searches has it without a browser
def test_a_search_is_cancelled_with_the_agent_that_it_executes(searched: Searched) -> None:
    (searched.folder / "world").write_text("slow")
    searched.estimate("true")
    searched.view.press("Begin")
    expect(searched.search.get_by_role("button", name="Show its run")).to_be_visible()
    expect(searched.search.get_by_role("status")).to_contain_text("Executing the agent")
    searched.view.press("Cancel the search")
    expect(searched.search.get_by_role("status")).to_contain_text("The search was cancelled.")
    expect(searched.view.button("Estimate…")).to_be_visible()  # it can be started again


@pytest.mark.slow
def test_a_failure_shows_what_the_program_said(searched: Searched) -> None:
    searched.estimate("no-such-program-here")
    searched.view.press("Begin")
    failed = searched.search.get_by_role("alert")
    expect(failed).to_contain_text("can't be executed")


@pytest.mark.slow
def test_a_run_becomes_a_test(searched: Searched) -> None:
    export, view = searched.export, searched.view
    export.get_by_role("textbox", name="The agent’s function").fill("looker:nobody")
    export.get_by_role("textbox", name="File").fill("test_looker.py")
    view.press("Write the test")
    expect(export.get_by_role("alert")).to_contain_text("The module looker has no nobody.")
    export.get_by_role("textbox", name="The agent’s function").fill("looker:answer")
    view.press("Write the test")
    written = searched.folder / "test_looker.py"
    expect(export.get_by_role("status").first).to_contain_text(str(written))
    assert "assert result == 'passed'" in written.read_text()
    expect_clean(searched.page)
