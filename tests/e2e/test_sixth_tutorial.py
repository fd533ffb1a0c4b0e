"""The sixth tutorial in JupyterLab: its reader clicks what it says, in the chat and in the debugger."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from .jupyter import Jupyter
from .lab import Lab
from .pictures import Pictures
from .test_chat import ChatView
from .test_step_in_jupyterlab import edit_field

#: The tutorial's cells that do something, by their place.
LOAD, FOLDER, MODEL, CHAT, VIEW, DRAW, ALLOW, AUTO, STOP, DEBUGGER, HALT, TURN, HEARD, END = (
    *range(1, 8, 2),
    *range(8, 28, 2),
)
PROMPTS = {
    cell: f"[{number}]:"
    for number, cell in enumerate((LOAD, FOLDER, MODEL, CHAT, *range(VIEW, END + 1, 2)), 1)
}

pytestmark = pytest.mark.soak


@pytest.fixture
def lab(context: BrowserContext, demo: Jupyter) -> Iterator[Lab]:
    lab = Lab(context, demo, "notebooks/06_chat.ipynb")
    lab.open()
    lab.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    yield lab
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def expect_done(lab: Lab, cell: int) -> None:
    """Wait until a cell has run to its end."""
    expect(lab.prompt(cell)).to_have_text(PROMPTS[cell], timeout=60_000)


def run(lab: Lab, cell: int) -> None:
    """Run a cell to its end."""
    lab.run(cell)
    expect_done(lab, cell)


def test_a_chat_and_its_run_in_the_debugger(lab: Lab, pictures: Pictures) -> None:
    for cell in (LOAD, FOLDER, MODEL, CHAT, VIEW):
        run(lab, cell)
    chat = ChatView(lab, VIEW)

    lab.run(DRAW)
    chat.expect_state("Waits for your choice")
    picture = chat.log.get_by_role("img").first
    picture.scroll_into_view_if_needed()
    expect(chat.list_messages("280 × 130")).to_be_visible()
    expect_done(lab, DRAW)
    chat.root.evaluate("root => root.style.setProperty('--as-height', '820px')")
    chat.log.evaluate("log => log.scrollTo(0, log.scrollHeight)")
    expect(chat.root.locator(".as-Log-end")).to_have_count(0)
    pictures.take(chat.root, "chat-light")
    chat.press("Allow")
    chat.press("Yes, call it")
    expect(chat.list_messages("old is gone")).to_be_visible()
    run(lab, ALLOW)
    expect(lab.outputs(ALLOW)).to_contain_text("plot.py week.png week.txt")

    run(lab, AUTO)
    expect(chat.list_messages("Thu: 24 degrees.")).to_be_visible()
    expect(lab.outputs(AUTO)).to_contain_text("3 turns by itself, STATE_STOP")
    run(lab, STOP)
    chat.expect_state("Stopped")

    lab.run(DEBUGGER)
    debugger = lab.view(DEBUGGER)
    chosen = debugger.root.locator(".as-Row[aria-selected=true]")
    debugger.rows().filter(has_text="Thu: 24 degrees.").first.click()
    expect(chosen).to_contain_text("Thu: 24 degrees.")
    lab.page.keyboard.press("ArrowUp")
    expect(chosen).to_contain_text("Go on.")
    debugger.press("Halt")
    # The cell takes another way, and may be faster.
    expect(debugger.button("Halt")).to_have_attribute("aria-disabled", "true")
    lab.run(TURN)
    debugger.expect_state("Halted before tool call")
    edit_field(debugger, "coldest", "warmest")
    debugger.press(re.compile("^Continue"))
    expect(lab.outputs(TURN)).to_have_text("Thursday, with 24 degrees.\n", timeout=30_000)
    expect(chat.list_messages("Which day was the warmest?")).to_be_visible()
    assert lab.errors == []
