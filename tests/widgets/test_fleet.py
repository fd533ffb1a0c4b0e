"""The widget of all agents: what travels, how it reaches the Core, and the text in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb import Agents, FleetWidget, discover
from agentstepper_nb.hub.standalone import AgentStepperCore
from agentstepper_nb.protocol.runtime import SessionStatus
from tests.runtime.manual_worker import ManualWorker


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


@pytest.fixture
def own_core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=None) as core:
        yield core


def test_only_what_the_view_needs_to_begin_is_state(own_core: AgentStepperCore) -> None:
    widget = FleetWidget(own_core.url(own_core.client_port), own_core.tokens.control, height=300)
    inherited = {"layout", "tabbable", "tooltip"}
    state = {k: v for k, v in widget.get_state().items() if not k.startswith("_")}
    assert {key: state[key] for key in state.keys() - inherited} == {
        "height": 300,
        "direct": False,
        "page": "",
    }
    widget.close()


def test_a_servers_own_core_is_reached_past_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    own = discover.CoreEndpoint("ws://127.0.0.1:8888/user/ada/agentstepper/agent")
    url = "ws://127.0.0.1:8888/user/ada/agentstepper/runtime"
    monkeypatch.setattr(discover, "find_own_core", lambda: own)
    widget = FleetWidget(url, "token")
    assert (widget.direct, widget.page) == (True, "http://127.0.0.1:8888/user/ada/")
    widget.close()


def test_where_no_view_is_shown_the_counts_and_errors_are_listed(
    own_core: AgentStepperCore,
) -> None:
    url = own_core.url(own_core.client_port)
    widget = FleetWidget(url, own_core.tokens.control)
    assert "0 sessions." in repr(widget)
    worker = ManualWorker(own_core)
    with Agents.connect(url, own_core.tokens.control) as agents:
        agents.create_agent("a", "joke", session_id="s")
        agents.create_agent("b", "joke", session_id="t")
        assert worker.finish_next_action().session_id == "s"
        worker.set_status("s", SessionStatus.ERROR, "Boom\x1b[31m 7")
    text = repr(widget)
    assert "2 sessions: 1 created, 1 error." in text
    assert "Errors (1):\n  1 × Boom [31m 7" in text
    widget.close()


def test_without_a_core_the_text_says_what_to_do() -> None:
    widget = FleetWidget()
    assert "agentstepper serve" in repr(widget)
    widget.close()
