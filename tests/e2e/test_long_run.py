"""A long run in a browser, on a real Core: opened at its end, read anywhere, filtered and searched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, WebSocket, expect

from .axe import expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView, listen, open_page
from .test_several_agents import choose

#: Says many things without a halt, one of them about marmalade; then it calls a tool.
AGENT = """
import sys
from agentstepper_nb import AgentStepper
length = int(sys.argv[2])
with AgentStepper(sys.argv[1]) as dbg:
    for number in range(2, length):
        what = "marmalade" if number == length // 3 else "note"
        dbg.post_debug_message(f"{what} {number}")
    print("said", flush=True)
    dbg.post_debug_message(input())
    with dbg.tool("look", {"for": "nothing"}) as tool:
        tool.result = "nothing of the kind"
"""

#: What may travel before the view shows a run, however long that is.
MOST_BYTES = 256 * 1024
MOST_ROWS = 200
#: Most events that a view watches as they come; drawing each of 100,000 takes longer than all the rest.
WATCHED = 2_000


@contextmanager
def long_agent(jupyter: Jupyter, program: str, length: int) -> Iterator[subprocess.Popen[str]]:
    """An agent that waits for a line once it has said all but the last of so many things."""
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, program, str(length)],
        env=jupyter.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


class MessageSizes:
    """The sizes of what a page's view hears, by the types of messages."""

    def __init__(self, page: Page) -> None:
        self.sizes: dict[str, list[int]] = {}
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        if socket.url.partition("?")[0].endswith("/agentstepper/ui"):
            socket.on("framereceived", self._record)

    def _record(self, frame: str | bytes) -> None:
        kind = json.loads(frame)["type"]
        self.sizes.setdefault(kind, []).append(len(frame))


def row(view: DebuggerView, seq: int) -> Locator:
    """The row of a number."""
    number = view.root.page.locator(".as-Row-n", has_text=f"{seq}")
    return view.rows().filter(has=number).filter(has_text=f" {seq}").first


def selected(view: DebuggerView) -> Locator:
    return view.root.locator(".as-Row[aria-selected='true']")


def scroll_to(view: DebuggerView, part: float) -> None:
    """Drag the scrollbar there."""
    view.root.locator(".as-mod-timeline").evaluate(
        "(element, part) => { element.scrollTop = part * element.scrollHeight; }", part
    )


def expect_length(view: DebuggerView, length: int) -> None:
    grid = view.root.get_by_role("treegrid", name="Events")
    expect(grid).to_have_attribute("aria-rowcount", str(length), timeout=60_000)


@pytest.mark.soak  # test_fleet draws what is in sight alone, js/tests/model/window a long run
@pytest.mark.parametrize("length", [2_000, pytest.param(100_000, marks=pytest.mark.timeout(600))])
def test_a_long_run(
    context: BrowserContext, jupyter: Jupyter, screenshots: Path, length: int
) -> None:
    program = f"long-{length}"
    with long_agent(jupyter, program, length) as process:
        page, view = open_page(context, jupyter)
        errors = [listen(page)]
        choose(view, program)
        view.expect_state("Halted")
        view.press("Continue")
        expect(view.button("Continue")).to_have_attribute("aria-disabled", "true")
        if length > WATCHED:  # how long that takes is the machine's: the agent says when
            page.close()
            assert process.stdout and process.stdout.readline() == "said\n"
            page, view = open_page(context, jupyter)
            errors.append(listen(page))
            choose(view, program)
        expect(view.root.locator(".as-Events")).to_have_text(
            f"{length - 1:,} events", timeout=60_000
        )

        # Somebody comes later: the end is there at once, and small.
        page.close()
        page = context.new_page()
        received = MessageSizes(page)
        errors.append(listen(page))
        page.goto(f"{jupyter.url}agentstepper/app")
        view = DebuggerView(page.locator(".as-Root"))
        choose(view, program)
        expect_length(view, length - 1)
        expect(row(view, length - 1)).to_be_in_viewport()
        assert max(received.sizes["run_opened"]) <= MOST_BYTES
        assert "rows" not in received.sizes, "a page that nobody looks at was asked for"

        # What is read stays where it is while the run goes on.
        view.rows().last.focus()
        page.keyboard.press("Home")
        expect(selected(view).locator(".as-Row-n")).to_have_text("1")
        expect(selected(view)).to_be_focused()
        page.keyboard.press("PageDown")
        page.keyboard.press("ArrowUp")
        expect(selected(view)).to_be_focused()
        scroll_to(view, 0.5)
        middle = row(view, length // 2)
        expect(middle).to_contain_text(f"note {length // 2}")
        expect(view.root.locator(".as-mod-blank")).to_have_count(0)
        page.screenshot(path=screenshots / f"long-{length}-middle.png")
        expect_clean(page)
        place = middle.bounding_box()
        process.communicate("go on\n", timeout=60)
        expect_length(view, length + 3)
        view.expect_state("Finished")
        assert middle.bounding_box() == place
        assert view.rows().count() <= MOST_ROWS

        # The Core finds what isn't here.
        field = view.root.get_by_label("Filter events")
        field.fill(f"note {length // 4}")
        expect(view.root.locator(".as-Filter-count")).not_to_have_text("…", timeout=60_000)
        expect(view.rows().first).to_contain_text(f"note {length // 4}")
        page.screenshot(path=screenshots / f"long-{length}-filtered.png")
        field.fill("nothing like it")
        expect(view.root).to_contain_text("No event matches", timeout=60_000)
        view.press("Clear the filter")
        expect_length(view, length + 3)

        # So does a search in what was said.
        page.keyboard.press("Control+f")
        expect(view.root.get_by_role("search").get_by_role("textbox")).to_be_focused()
        page.keyboard.type("marmalade")
        page.keyboard.press("Enter")
        expect(selected(view)).to_contain_text(f"marmalade {length // 3}")
        expect(selected(view)).to_be_in_viewport()
        expect(view.root.locator(".as-Find [role=status]")).to_have_text("1 of 1")
        expect_clean(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=screenshots / f"long-{length}-found-{scheme}.png")
        expect_clean(page)
        page.keyboard.press("Escape")
        expect(selected(view)).to_be_focused()
        page.keyboard.press("End")
        expect(selected(view)).to_contain_text("finished")
        assert view.rows().count() <= MOST_ROWS
        assert not any(errors), errors
