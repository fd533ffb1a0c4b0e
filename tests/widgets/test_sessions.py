"""The widget of background agents: what travels, how it reaches the Core, what stands where
it can't be shown."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from agentstepper_nb import Agents, SessionsWidget, discover
from agentstepper_nb.hub.standalone import AgentStepperCore
from agentstepper_nb.protocol.runtime import AgentState, SessionStatus
from agentstepper_nb.widgets import sessions_widget
from agentstepper_nb.widgets.comm_links import CommLinks
from agentstepper_nb.widgets.core_relay import CoreRelay

TIMEOUT_S = 30
HELLO = {"version": 1, "worker": "test", "pid": 0, "services": []}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Core is to be found but a test's own."""
    for name in (
        discover.URL_VARIABLE,
        discover.AGENT_TOKEN_VARIABLE,
        discover.CONTROL_TOKEN_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))


@pytest.fixture(scope="module")
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=None) as core:
        yield core


@pytest.fixture
def served(core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Core's address, where this process looks for it."""
    url = f"ws://127.0.0.1:{core.client_port}"
    monkeypatch.setenv(discover.URL_VARIABLE, url)
    return url


class RelayedView:
    """A view that is relayed.

    Args:
        find: Looks for the Core.
    """

    def __init__(self, find: Any = discover.find_runtime_endpoint) -> None:
        self.posted: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.relay = CoreRelay(find)
        self.links = CommLinks(self.relay, self.posted.put)
        self._n = 0

    def open_link(self) -> None:
        self.links.receive({"link": "a", "op": "open"})
        self.send_message("hello", HELLO)

    def send_message(self, kind: str, body: dict[str, Any], id: str | None = None) -> None:
        self._n += 1
        named = {} if id is None else {"id": id}
        text = json.dumps({"n": self._n, "type": kind, "body": body} | named)
        self.links.receive({"link": "a", "op": "text", "text": text})

    def received(self) -> dict[str, Any]:
        return self.posted.get(timeout=TIMEOUT_S)

    def list_received(self) -> dict[str, Any]:
        """The next message of the Core, which came alone."""
        (text,) = self.received()["texts"]
        message: dict[str, Any] = json.loads(text)
        return message


@pytest.fixture
def view() -> Iterator[RelayedView]:
    view = RelayedView()
    yield view
    view.links.close()
    view.relay.close()


@pytest.mark.usefixtures("served")
def test_the_kernel_hands_messages_on_as_they_are(view: RelayedView) -> None:
    view.open_link()
    welcome = view.list_received()
    assert (welcome["type"], welcome["body"]["version"]) == ("welcome", 1)
    ask = {"service": "runtime", "method": "states", "params": {"limit": 1}, "window": 0}
    view.send_message("request", ask, "v1")
    answer = view.list_received()
    assert (answer["type"], answer["id"]) == ("result", "v1")
    assert answer["n"] == 2  # the view counts them, to see whether one was lost


def test_without_a_core_the_view_is_told_what_to_do(view: RelayedView) -> None:
    view.open_link()
    closed = view.received()
    assert (closed["op"], closed["code"]) == ("closed", 1008)
    assert "agentstepper serve" in closed["reason"]


def test_a_core_that_is_away_is_tried_again_by_the_view(
    view: RelayedView, monkeypatch: pytest.MonkeyPatch, free_tcp_port: int
) -> None:
    monkeypatch.setenv(discover.URL_VARIABLE, f"ws://127.0.0.1:{free_tcp_port}")
    view.open_link()
    closed = view.received()
    assert (closed["op"], closed["code"]) == ("closed", 1013)
    assert "can't be reached: " in closed["reason"]


def test_a_core_that_ends_is_told() -> None:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=None) as core:
        url = discover.to_runtime_url(f"ws://127.0.0.1:{core.client_port}")
        view = RelayedView(lambda: discover.CoreEndpoint(url, core.tokens.control))
        view.open_link()
        assert view.list_received()["type"] == "welcome"
    assert view.received()["op"] == "closed"
    view.relay.close()


@pytest.mark.usefixtures("served")
def test_a_relay_that_nobody_needs_has_no_thread(view: RelayedView) -> None:
    def threads() -> list[str]:
        return [each.name for each in threading.enumerate() if "relay" in each.name]

    assert threads() == []
    view.open_link()
    assert view.list_received()["type"] == "welcome"
    assert threads() == ["agentstepper-relay"]
    view.relay.close()
    assert threads() == []
    view.open_link()  # a view that hasn't heard
    with pytest.raises(RuntimeError, match="closed"):
        _ = view.relay.loop


def test_only_what_the_view_needs_to_begin_is_state(served: str) -> None:
    widget = SessionsWidget("c-1", height=300)
    inherited = {"layout", "tabbable", "tooltip"}
    state = {k: v for k, v in widget.get_state().items() if not k.startswith("_")}
    assert {key: state[key] for key in state.keys() - inherited} == {
        "conversation": "c-1",
        "height": 300,
        "direct": False,
        "page": "",
    }
    widget.close()


def test_a_servers_own_core_is_reached_past_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    own = discover.CoreEndpoint("ws://127.0.0.1:8888/user/ada/agentstepper/agent")
    url = "ws://127.0.0.1:8888/user/ada/agentstepper/runtime"
    monkeypatch.setattr(discover, "find_own_core", lambda: own)
    monkeypatch.setattr(discover, "find_runtime_endpoint", lambda: discover.CoreEndpoint(url))
    widget = SessionsWidget()
    assert (widget.direct, widget.page) == (True, "http://127.0.0.1:8888/user/ada/")
    widget.close()
    monkeypatch.setattr(discover, "find_own_core", lambda: None)
    widget = SessionsWidget()
    assert (widget.direct, widget.page) == (False, "http://127.0.0.1:8888/user/ada/")
    widget.close()


def test_where_no_view_is_shown_the_newest_sessions_are_listed(served: str) -> None:
    widget = SessionsWidget()
    assert "Agents.connect().create_agent(" in repr(widget)
    with Agents.connect(served) as agents:
        session = agents.create_agent("joker", "joke")
        bundle, _ = widget._repr_mimebundle_() or ({}, {})
        other = SessionsWidget(agents=agents)
        assert session in repr(other)
        other.close()
    assert f"created   joker {session} #0" in bundle["text/plain"]
    widget.close()


def test_without_a_core_the_text_says_what_to_do() -> None:
    widget = SessionsWidget()
    assert "agentstepper serve" in repr(widget)
    widget.close()


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"result": {"text": "one\n  two\x1b[31m"}}, "one two [31m"),
        ({"result": {"text": "x" * 100}}, "x" * 59 + "…"),
        ({"result": {"text": 7}}, ""),
        ({"result": [1]}, ""),
        ({"status": SessionStatus.ERROR, "last_error": "broke", "result": {"text": "x"}}, "broke"),
    ],
)
def test_last_words_do_nothing_to_a_terminal(fields: dict[str, Any], shown: str) -> None:
    state = AgentState(
        agent_id="a", session_id="s", moniker="joke", created_at=1, updated_at=1, **fields
    )
    assert sessions_widget._last_words(state) == shown
