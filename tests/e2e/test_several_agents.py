"""Several agents, several people: every tab shows what the Core knows, and a late click is told so."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, WebSocketRoute, expect

from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, listen, open_page

AGENT = """
import sys
from agentstepper_nb import AgentStepper
with AgentStepper(sys.argv[1]) as dbg:
    for number in range(100):
        with dbg.tool("count", {"number": number}) as tool:
            tool.result = tool.args["number"]
"""

SHOW = ["%load_ext agentstepper_nb\n%agentstepper"]


@contextmanager
def agent(jupyter: Jupyter, program: str) -> Iterator[None]:
    """An agent in a process of its own, which finds the server by itself."""
    process = subprocess.Popen([sys.executable, "-c", AGENT, program], env=jupyter.environment())
    try:
        yield
    finally:
        process.kill()
        process.wait()


def api(jupyter: Jupyter, path: str, body: bytes | None = None) -> Any:
    """What the Core says over REST; a body is posted."""
    request = urllib.request.Request(
        f"{jupyter.url}agentstepper/api/{path}",
        data=body,
        headers={
            "Authorization": f"token {jupyter.token}",
            "Content-Type": "application/octet-stream",
        },
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def run_of(jupyter: Jupyter, program: str) -> str:
    """The id of a program's newest run."""
    runs = [run for run in api(jupyter, "runs")["runs"] if run["program"] == program]
    return str(runs[-1]["id"])


def as_shown(row: dict[str, Any]) -> str:
    """A row's summary as the timeline writes it: a call without its brackets."""
    summary, name = str(row["summary"]), str(row["name"])
    if summary.startswith(f"{name}(") and summary.endswith(")"):
        return f"{name} {summary[len(name) + 1 : -1]}"
    return summary


def expect_rows_of_core(view: DebuggerView, jupyter: Jupyter, run: str) -> None:
    """The timeline has the Core's rows: their numbers and summaries."""
    rows = api(jupyter, f"runs/{run}")["rows"]
    expect(view.rows()).to_have_count(len(rows))
    for shown, row in zip(view.rows().all(), rows, strict=True):
        expect(shown).to_contain_text(as_shown(row))
        expect(shown.locator(".as-Row-n")).to_have_text(str(row["seq"]))


@pytest.fixture
def other_context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened.set_default_timeout(20_000)
    yield opened
    opened.close()


def choose(view: DebuggerView, program: str) -> None:
    """Switch to a program's run."""
    view.root.locator(".as-Run").click()
    view.root.locator(".as-RunItem-name").filter(has_text=program).first.click()
    # Until it is here, the run before is shown, which may be halted or finished as well.
    expect(view.root.locator(".as-Run")).to_contain_text(program, ignore_case=True)


def expect_halted_at(views: list[DebuggerView], seq: int) -> None:
    for view in views:
        halted = view.root.locator(".as-Row.as-mod-halted .as-Row-n")
        expect(halted).to_have_text(str(seq))


@pytest.mark.soak  # test_page has two tabs on one run, tests/hub what each view is told
def test_two_tabs_and_two_agents(
    new_lab: NewLab, jupyter: Jupyter, other_context: BrowserContext
) -> None:
    lab = new_lab(SHOW)
    page, beside = open_page(other_context, jupyter)
    errors = listen(page)
    with agent(jupyter, "first"), agent(jupyter, "second"):
        lab.run(0)
        views = [lab.view(0), beside]
        for program in ("first", "second"):
            for view in views:
                choose(view, program)
                view.expect_state("Halted")
            run = run_of(jupyter, program)
            expect_halted_at(views, 1)
            for number in range(4):
                views[number % 2].press("Step")
                expect_halted_at(views, number + 2)
                for view in views:
                    expect_rows_of_core(view, jupyter, run)
    for view in views:
        view.expect_state("Crashed")
    assert lab.errors + errors == []


def test_a_stale_click_says_so(
    context: BrowserContext, jupyter: Jupyter, other_context: BrowserContext
) -> None:
    held: list[Callable[[], None]] = []
    holding = [False]

    def hold(view: WebSocketRoute) -> None:
        core = view.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            if holding[0]:
                held.append(lambda: view.send(message))
            else:
                view.send(message)

        core.on_message(pass_on)

    other_context.route_web_socket("**/agentstepper/ui", hold)
    _, fast = open_page(context, jupyter)
    page, late = open_page(other_context, jupyter)
    with agent(jupyter, "raced"):
        for view in (fast, late):
            choose(view, "raced")
            view.expect_state("Halted")
        holding[0] = True
        fast.press("Step")
        expect(fast.root.locator(".as-mod-halted .as-Row-n")).to_have_text("2")
        late.press("Step")
        run = run_of(jupyter, "raced")
        assert [row["pending"] for row in api(jupyter, f"runs/{run}")["rows"]] == [False, True]
        holding[0] = False
        page.wait_for_timeout(0)  # lets Playwright hand over what was held
        while held:
            held.pop(0)()
        expect(late.root).to_contain_text("has been answered already")
        expect(late.root.locator(".as-mod-halted .as-Row-n")).to_have_text("2")
