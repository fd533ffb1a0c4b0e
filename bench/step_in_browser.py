"""`python -m bench.step_in_browser`: from a click on Step in a browser until the agent goes on.

JupyterLab with its side panel, an agent in a process of its own, and a Core that keeps the run on disk
(`durable`): the answer is committed before it is sent. A click's time is that of the input event, as the
browser stamped it; the agent says when the call that waited is back. Both read this machine's clock.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.conftest import launched
from tests.e2e.jupyter import Jupyter, running_jupyter
from tests.e2e.lab import DebuggerView, Lab, notebook
from tests.e2e.test_several_agents import choose

from .report import describe_machine

GOAL_MS = 10.0  # milliseconds

#: Says when each of its halt points let it go on; what it sends is a small call and its result.
AGENT = """
import sys, time
from agentstepper_nb import AgentStepper

def print_time():
    print(time.time(), flush=True)

with AgentStepper("clicked") as dbg:
    print_time()
    for number in range(int(sys.argv[1])):
        with dbg.tool("count", {"number": number}) as tool:
            print_time()
            tool.result = number
        print_time()
"""

#: The page's clock counts from a moment of its own, which is found where the system's clock ticks.
LISTEN_JS = """() => {
    const start = Date.now();
    while (Date.now() === start);
    const origin = Date.now() - performance.now();
    window.clicks = [];
    document.addEventListener("click", event => {
        if (event.target.closest(".as-Button")) window.clicks.push(origin + event.timeStamp);
    }, true);
}"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.step_in_browser", description=__doc__)
    parser.add_argument("--clicks", type=int, default=60, help="how many (%(default)s)")
    times = measure(parser.parse_args(arguments).clicks)
    median = statistics.median(times)
    print(
        f"{len(times)} clicks on Step in JupyterLab, until the agent goes on: "
        f"median {median:.1f} ms, max {max(times):.1f} ms; goal ≤ {GOAL_MS:.0f} ms: "
        f"{'held' if median <= GOAL_MS else 'missed'}. {describe_machine()}"
    )


def measure(clicks: int) -> list[float]:
    """The milliseconds from each click until the agent went on.

    Args:
        clicks: How many, an even number; the one that lets the agent start is not among them.
    """
    with _open_lab() as lab:
        page, view = lab.page, _open_panel(lab)
        with _start_agent(lab.jupyter, clicks // 2) as process:
            choose(view, "clicked")
            view.expect_state("Halted")
            page.evaluate(LISTEN_JS)
            for seq in range(1, clicks + 2):
                expect(view.root.locator(".as-mod-halted .as-Row-n")).to_have_text(str(seq))
                view.press("Step")
            output, _ = process.communicate(timeout=60)
            pressed: list[float] = page.evaluate("window.clicks")
    resumed = [float(line) * 1000 for line in output.splitlines()]
    pairs = list(zip(pressed, resumed, strict=True))[1:]
    return [went - click for click, went in pairs]


@contextmanager
def _open_lab() -> Iterator[Lab]:
    with (
        tempfile.TemporaryDirectory() as home,
        running_jupyter(Path(home)) as jupyter,
        launched() as browser,
    ):
        notebook(jupyter.folder / "bench.ipynb", ["1"])
        lab = Lab(browser.new_context(), jupyter, "bench.ipynb")
        lab.open()
        yield lab


def _open_panel(lab: Lab) -> DebuggerView:
    lab.toggle_panel()
    return lab.panel_view()


@contextmanager
def _start_agent(jupyter: Jupyter, calls: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", AGENT, str(calls)]
    process = subprocess.Popen(
        command, env=jupyter.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
