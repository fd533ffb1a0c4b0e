"""The chat in JupyterLab: what is said comes at once, is answered by clicks, and is only ever text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.widgets import hostile

from .axe import expect_clean
from .conftest import NewLab
from .lab import DebuggerView, Lab
from .pictures import Pictures
from .test_hostile import WatchedPage

_AGENTS = """
import asyncio, base64, threading
from agentstepper_nb import ChatWidget, Chat
from agentstepper_nb.chat.connectors.registry import make_connector
from agentstepper_nb.chat.outputs import *
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARww4OQCvbg/xnnCmoQAAAABJRU5ErkJggg=="
)
TEXT, HIDDEN = {text!r}, {hidden!r}
free, more = threading.Event(), threading.Event()

def helper(message):
    if message == "show":
        yield "Look at `this`:\\n```python\\nprint(1)\\n```"
        yield code("{{\\"n\\": 1}}", "json", format="result")
        yield console("\\x1b[31m10 %\\r100 %\\x1b[0m\\n")
        yield image(PNG, alt="four dots")
        yield call("add", {{"n": 12345678901234567890}}, call_id="1")
        yield result("1", [1, 2])
        yield image("/etc/passwd.png")
        chosen = yield confirmation("Shall I **go on**?", ["Yes", "No"])
        yield f"So you chose {{chosen}}."
    elif message == "harm":
        for evil in (TEXT, HIDDEN):
            yield evil + "\\n```" + evil + "\\n" + evil + "\\n```\\n"
            yield code(evil, "x")
            yield console(evil)
            yield call("f", {{"a": evil, "__proto__": {{"hacked": 1}}}}, call_id=evil[:50])
            yield result(evil[:50], evil, ok=False)
        yield image(b"\\x89PNG\\r\\n\\x1a\\n" + b"junk", alt=TEXT)
        yield confirmation(TEXT, [TEXT[:900], "No"])
    elif message == "slowly":
        yield "First"
        more.wait()
        yield ", then this"
    elif message == "free":
        free.set()
        yield "It is free."
    else:
        yield f"You said {{message}}"

async def endless(message):
    yield "Without"
    await asyncio.Event().wait()

chat = Chat(
    make_connector(helper, name="helper", continuation_prompt="Go on."),
    make_connector(endless, name="endless", role="THOUGHT"),
    title="A talk",
)
ChatWidget(chat)
"""
AGENTS = _AGENTS.format(text=hostile.TEXT, hidden=hostile.HIDDEN.replace("\ud800", ""))
BUSY = "print('busy', flush=True); free.wait()"


class ChatView:
    """The view, found by what a person and a screen reader find it by.

    Args:
        lab: The tab that it is in.
        cell: The cell that it stands under.
    """

    def __init__(self, lab: Lab, cell: int) -> None:
        self.root = lab.outputs(cell).locator(".as-Root")

    @property
    def log(self) -> Locator:
        """What was said."""
        return self.root.get_by_role("log", name="Conversation")

    def list_messages(self, words: str | re.Pattern[str]) -> Locator:
        """The messages that say so."""
        return self.log.get_by_role("article").filter(has_text=words)

    def send_message(self, words: str, to: str | None = None) -> None:
        """Write a message and send it."""
        if to is not None:
            self.root.get_by_role("combobox").select_option(to)
        field = self.root.get_by_role("textbox", name="Message")
        field.fill(words)
        self.press("Send")
        expect(field).to_have_value("")

    def press(self, name: str) -> None:
        """Press a button once it can be pressed."""
        button = self.root.get_by_role("button", name=name, exact=True)
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()

    def expect_state(self, words: str) -> None:
        """Wait for a state, in words."""
        expect(self.root.get_by_role("status").first).to_contain_text(words)


def test_all_that_agents_say_is_shown_and_answered(own_lab: NewLab) -> None:
    """Each type; a choice by a click; AutoChat to its bound; Stop; a Halt; while a cell runs."""
    lab = own_lab([AGENTS, "more.set()", BUSY])
    lab.run(0)
    view = ChatView(lab, 0)
    expect(view.log).to_contain_text("No messages yet", timeout=60_000)

    view.send_message("slowly")
    expect(view.list_messages("First")).to_have_attribute("aria-busy", "true")
    view.expect_state("Answering…")
    lab.run(1)
    expect(view.list_messages("First, then this")).to_have_attribute("aria-busy", "false")

    view.send_message("show")
    view.expect_state("Waits for your choice")
    expect(view.list_messages("print(1)").locator(".as-CodeBox pre")).to_have_text("print(1)")
    expect(view.list_messages("100 %").locator("pre")).to_have_text("100 %\n")
    picture = view.log.get_by_role("img", name="four dots")
    picture.scroll_into_view_if_needed()
    expect(view.list_messages("4 × 4")).to_be_visible()
    expect(view.list_messages("The picture can’t be shown")).to_contain_text("/etc/passwd.png")
    call = view.list_messages("add(n=12345678901234567890)").get_by_role("button").first
    call.click()
    expect(view.list_messages("add(")).to_contain_text("Result")
    expect_clean(lab.page)
    view.press("Yes")
    expect(view.list_messages("So you chose Yes.")).to_be_visible()
    expect(view.root.get_by_role("button", name="Yes: chosen")).to_be_visible()
    view.expect_state("Ready")

    lab.run(2)
    expect(lab.outputs(2)).to_contain_text("busy")
    view.send_message("hello")
    expect(view.list_messages("You said hello")).to_be_visible()
    view.root.get_by_role("switch", name="AutoChat, 0 of 3").click()
    expect(view.list_messages("You said Go on.")).to_have_count(3)
    view.root.get_by_role("switch", name="AutoChat, 3 of 3").click()
    view.expect_state("Ready")
    view.send_message("go", to="endless")
    expect(view.list_messages("Without")).to_have_attribute("aria-busy", "true")
    view.press("Stop")
    view.expect_state("Stopped")
    view.send_message("free", to="")
    expect(lab.prompt(2)).to_have_text("[3]:")

    lab.save()
    lab.reload()
    expect(view.list_messages("You said hello")).to_be_attached()
    view.press("Open the run in the debugger")
    panel = lab.panel_view()
    expect(panel.root).to_contain_text("helper")
    # The debugger's stylesheet has come after the chat's.
    expect(view.root.locator(".as-ChatStrip")).to_have_css("align-items", "center")
    panel.press("Halt")
    # The message takes another way, and may be faster.
    expect(panel.button("Halt")).to_have_attribute("aria-disabled", "true")
    view.send_message("once more")
    view.expect_state("Halted")
    expect(view.log).to_contain_text("helper is halted in the debugger")
    panel.press(re.compile("^Continue"))
    expect(view.list_messages("You said once more")).to_be_visible()
    view.expect_state("Ready")
    assert lab.errors == []


@pytest.mark.soak  # in each run vitest and the gallery have it
def test_what_agents_say_to_do_harm_is_text(new_lab: NewLab, pictures: Pictures) -> None:
    lab = new_lab([AGENTS])
    watched = WatchedPage(lab.page)
    lab.run(0)
    view = ChatView(lab, 0)
    view.send_message("harm")
    view.expect_state("Waits for your choice")
    expect(view.list_messages("<script>window.hacked=1</script>")).not_to_have_count(0)
    for line in view.log.locator("[aria-expanded]").all():
        line.click()
    expect(view.list_messages("⟨U+202E⟩gnp.exe")).not_to_have_count(0)
    expect(view.list_messages("bytes are damaged")).to_have_count(1)
    watched.expect_harmless(DebuggerView(view.log))
    expect_clean(lab.page)
    pictures.take(view.root, "hostile-chat")
    view.press("No")
    view.expect_state("Ready")
    watched.expect_harmless(DebuggerView(view.log))
