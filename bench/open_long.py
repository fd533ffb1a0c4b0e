"""`python -m bench.open_long`: from a click on a long run in the list until its end is drawn.

A Jupyter server that keeps its runs on disk, and the view on a page of its own in Chromium. The run is
opened again and again, another in between. What is timed begins with the click's own time stamp and ends
when the frame that shows the run's last row is over. Nothing of the run is known to the page before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, WebSocket, expect

from tests.e2e.conftest import launched
from tests.e2e.jupyter import Jupyter, running_jupyter
from tests.e2e.lab import DebuggerView
from tests.e2e.test_several_agents import choose

from .report import describe_machine

RUN_EVENTS = 100_000
#: Bytes, milliseconds and elements.
MAX_OPENING_BYTES, MAX_PAINT_MS, MAX_ROWS = 256 * 1024, 500.0, 200

#: Says so many things, each with about as much to read as a tool's short answer has.
AGENT = """
import sys
from agentstepper_nb import AgentStepper
with AgentStepper(sys.argv[1]) as dbg:
    for number in range(2, int(sys.argv[2])):
        dbg.post_debug_message(f"step {number}: " + "looked at one more file of the project; " * 3)
"""

#: Opens a run by a click; gives milliseconds, and how many rows are in the document then.
OPEN_JS = """async ({ program, length }) => {
    const item = [...document.querySelectorAll(".as-RunItem-name")].find(
        each => each.textContent.includes(program));
    let pressed = 0;
    item.addEventListener("click", event => { pressed = event.timeStamp; }, { capture: true });
    item.click();
    const shown = () => document.querySelector(`.as-Row[aria-rowindex="${length}"]`);
    while (shown()?.classList.contains("as-mod-blank") ?? true) {
        await new Promise(requestAnimationFrame);
    }
    await new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)));
    return [performance.now() - pressed, document.querySelectorAll(".as-Row").length];
}"""


@dataclass(frozen=True)
class BrowserOpening:
    """What opening a long run took."""

    length: int
    milliseconds: Sequence[float]
    message_bytes: int  # bytes of the largest that brings it
    rows: int  # the most in the document


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_long", description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="how often (%(default)s)")
    parser.add_argument("--length", type=int, default=RUN_EVENTS, help="events (%(default)s)")
    options = parser.parse_args(arguments)
    seen = measure(options.times, options.length)
    print(
        f"A run of {seen.length:,} events, {options.times} times: the last are drawn after "
        f"{statistics.median(seen.milliseconds):.0f} ms (median), at most "
        f"{max(seen.milliseconds):.0f} ms; {seen.message_bytes / 1024:.0f} KB, "
        f"{seen.rows} rows in the document. {describe_machine()}"
    )


def measure(times: int, length: int = RUN_EVENTS) -> BrowserOpening:
    """Open a long run.

    Args:
        times: How often.
        length: How many events it has.
    """
    with (
        tempfile.TemporaryDirectory() as home,
        running_jupyter(Path(home)) as jupyter,
        launched() as browser,
    ):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        sizes: list[int] = []
        page.on("websocket", lambda socket: _record_sizes(socket, sizes))
        page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
        view = DebuggerView(page.locator(".as-Root"))
        lengths = {"short": 10, "long": length}
        for program, size in lengths.items():
            _make_run(view, jupyter, program, size)
        sizes.clear()
        opened = [
            _time_opening(page, program, lengths[program])
            for _ in range(times)
            for program in ("short", "long")
        ][1::2]
    return BrowserOpening(
        length, [paint for paint, _ in opened], max(sizes), max(rows for _, rows in opened)
    )


def _record_sizes(socket: WebSocket, sizes: list[int]) -> None:
    def note(frame: str | bytes) -> None:
        if json.loads(frame)["type"] == "run_opened":
            sizes.append(len(frame))

    socket.on("framereceived", note)


def _make_run(view: DebuggerView, jupyter: Jupyter, program: str, length: int) -> None:
    """Have an agent make a run, to its end."""
    command = [sys.executable, "-c", AGENT, program, str(length)]
    with subprocess.Popen(command, env=jupyter.environment()) as process:
        choose(view, program)
        view.expect_state("Halted")
        view.press("Continue")
        expect(view.state).to_contain_text("Finished", timeout=600_000)
        process.wait()


def _time_opening(page: Page, program: str, length: int) -> tuple[float, int]:
    page.locator(".as-Run").click()
    page.locator(".as-RunItem-name").filter(has_text=program).wait_for()
    milliseconds, rows = page.evaluate(OPEN_JS, {"program": program, "length": length})
    return milliseconds, rows


if __name__ == "__main__":
    main()
