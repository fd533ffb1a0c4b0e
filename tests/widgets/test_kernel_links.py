"""Links of views by comm: sessions, parts, bounds, and what is wrong with a message."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from agentstepper_nb.protocol import ui as v2
from agentstepper_nb.protocol.envelope import VERSION
from agentstepper_nb.widgets.comm_links import (
    DEFAULT_LINK_BATCHES,
    MAX_LINKS,
    CommLinks,
    LinkBatches,
)
from agentstepper_nb.widgets.kernel_core import KernelCore

TIMEOUT_S = 30
HELLO = v2.from_ui.encode(v2.UiHello(version=VERSION, client="test"), 1, "hello")


class LinkedWidget:
    """A widget's links, and what they send."""

    def __init__(self, core: KernelCore, batches: LinkBatches = DEFAULT_LINK_BATCHES) -> None:
        self.posted: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.links = CommLinks(core, self.posted.put, batches)

    def send_message(self, link: str, op: str, **more: Any) -> None:
        self.links.receive({"link": link, "op": op, **more})

    def open_link(self, link: str) -> None:
        """Open a link, and see its session answer."""
        self.send_message(link, "open")
        self.send_message(link, "text", text=HELLO)
        message = self.received()
        assert (message["link"], message["op"]) == (link, "texts")
        assert '"hello"' in message["texts"][0]

    def received(self) -> dict[str, Any]:
        return self.posted.get(timeout=TIMEOUT_S)

    def closed(self, link: str) -> tuple[int, str]:
        """See a link closed, and give the code and the reason."""
        message = self.received()
        assert (message["link"], message["op"]) == (link, "closed")
        return message["code"], message["reason"]


@pytest.fixture
def core() -> Iterator[KernelCore]:
    core = KernelCore("A test wants it.")
    yield core
    core.stop()


@pytest.fixture
def widget(core: KernelCore) -> LinkedWidget:
    return LinkedWidget(core)


def test_a_session(widget: LinkedWidget) -> None:
    widget.open_link("a")


def test_parts_are_joined(widget: LinkedWidget) -> None:
    widget.send_message("a", "open")
    for letter in HELLO:
        widget.send_message("a", "text", text=letter, more=True)
    widget.send_message("a", "text", text="")
    assert '"hello"' in widget.received()["texts"][0]


def test_links_do_not_mix(widget: LinkedWidget) -> None:
    widget.send_message("a", "open")
    widget.send_message("b", "open")
    widget.send_message("a", "text", text=HELLO[:5], more=True)
    widget.send_message("b", "text", text=HELLO)
    assert widget.received()["link"] == "b"
    widget.send_message("a", "text", text=HELLO[5:])
    assert widget.received()["link"] == "a"


@pytest.mark.slow
def test_what_is_said_together_is_sent_together(core: KernelCore) -> None:
    widget = LinkedWidget(core, LinkBatches(delay_s=2.0))
    widget.send_message("a", "open")
    widget.send_message("a", "text", text=HELLO)
    for number in range(2, 30):
        widget.send_message(
            "a", "text", text=v2.from_ui.encode(v2.HaltRun(run="none"), number, f"c{number}")
        )
    texts = widget.received()["texts"]
    assert len(texts) == 29
    assert [json.loads(text)["n"] for text in texts] == list(range(1, 30))


def test_what_is_large_is_sent_at_once(core: KernelCore) -> None:
    widget = LinkedWidget(core, LinkBatches(delay_s=3600, max_chars=10))
    widget.open_link("a")


def test_a_text_before_open(widget: LinkedWidget) -> None:
    widget.send_message("a", "text", text=HELLO)
    assert widget.closed("a") == (1001, "This link isn't open. Open the link first.")


def test_opening_again_begins_anew(widget: LinkedWidget, core: KernelCore) -> None:
    widget.open_link("a")
    widget.send_message("a", "text", text="half a mess", more=True)
    widget.open_link("a")


def test_closing(widget: LinkedWidget) -> None:
    widget.open_link("a")
    widget.send_message("a", "close")
    widget.send_message("a", "close")
    widget.send_message("a", "text", text=HELLO)
    assert widget.closed("a")[0] == 1001


def test_the_widget_closes(widget: LinkedWidget) -> None:
    widget.open_link("a")
    widget.links.close()
    widget.send_message("a", "text", text=HELLO)
    assert widget.closed("a")[0] == 1001


def test_a_message_that_is_too_large(core: KernelCore) -> None:
    widget = LinkedWidget(core, LinkBatches(max_received_bytes=2 * 1024 * 1024))
    widget.open_link("a")
    for _ in range(3):
        widget.send_message("a", "text", text="ä" * 400_000, more=True)  # 800,000 bytes
    code, reason = widget.closed("a")
    assert code == 1009
    assert "2 MiB" in reason


def test_half_a_character(widget: LinkedWidget) -> None:
    widget.open_link("a")
    widget.send_message("a", "text", text='{"n": 2, "type": "\ud800"}')
    assert widget.closed("a") == (1007, "A message wasn't valid Unicode.")


def test_pages_that_left_without_a_word(widget: LinkedWidget) -> None:
    for number in range(MAX_LINKS + 1):
        widget.send_message(f"page {number}", "open")
    code, reason = widget.closed("page 0")
    assert code == 1008
    assert "Run its cell again" in reason
    widget.send_message("page 1", "text", text=HELLO)
    assert widget.received()["link"] == "page 1"


@pytest.mark.parametrize("open", [True, False])
def test_a_view_that_is_not_understood(widget: LinkedWidget, open: bool) -> None:
    if open:
        widget.open_link("a")
    widget.send_message("a", "levitate")
    code, reason = widget.closed("a")
    assert code == 1008
    assert "levitate" in reason
    assert "Reload the page" in reason


@pytest.mark.parametrize(
    "content", [None, 7, "a", [], {}, {"op": "open"}, {"link": {}, "op": "open"}]
)
def test_what_names_no_link_is_noted(
    widget: LinkedWidget, content: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="agentstepper_nb.kernel_core"):
        widget.links.receive(content)
        widget.open_link("a")  # after it
    assert "a view's message was refused" in caplog.text


def test_what_the_core_does_not_understand_is_answered(widget: LinkedWidget) -> None:
    widget.open_link("a")
    widget.send_message("a", "text", text="no JSON")
    assert '"malformed"' in widget.received()["texts"][0]


def test_the_core_stops(widget: LinkedWidget, core: KernelCore) -> None:
    widget.open_link("a")
    core.stop()
    assert widget.closed("a") == (1001, "The Core is stopping.")
    widget.send_message("a", "text", text=HELLO)  # into the void
    assert widget.posted.empty()


def test_a_channel_that_fails(core: KernelCore, caplog: pytest.LogCaptureFixture) -> None:
    """A kernel that ends: the Core goes on with whoever else there is."""
    tried: SimpleQueue[object] = SimpleQueue()

    def post(content: dict[str, Any]) -> None:
        tried.put(content)
        raise OSError("gone")

    links = CommLinks(core, post)
    with caplog.at_level(logging.WARNING, logger="agentstepper_nb.kernel_core"):
        links.receive({"link": "a", "op": "open"})
        links.receive({"link": "a", "op": "text", "text": HELLO})
        tried.get(timeout=TIMEOUT_S)
        widget = LinkedWidget(core)
        widget.open_link("b")
    assert "a message could not be sent to a view" in caplog.text
