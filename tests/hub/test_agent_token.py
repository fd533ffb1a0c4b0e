"""The agent token never controls, whatever address it comes to: an agent could else approve itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from agentstepper_nb.widgets.kernel_core import REASON_REQUESTED, KernelCore

STOP = {"id": "s1", "name": "*"}
#: What a program may ask on the agents' socket by the control token alone.
QUESTIONS: dict[str, dict[str, Any]] = {
    "set_stop": {"stop": STOP},
    "delete_stop": {"stop": "s1"},
    "set_prices": {"prices": []},
    "try_stop": {"stop": STOP},
    "take_run": {"data": "{}"},
}


@pytest.fixture(params=["serve", "reached from elsewhere", "kernel"])
def core(request: pytest.FixtureRequest) -> Iterator[AgentStepperCore]:
    if request.param == "kernel":
        kernel = KernelCore(REASON_REQUESTED)
        yield kernel._core
        kernel.stop()
    else:
        with AgentStepperCore("localhost" if request.param == "serve" else "0.0.0.0", 0, 0) as core:
            yield core


def headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


ADDRESSES = [
    ("ui_port", "/"),
    ("ui_port", "/runtime"),
    ("ui_port", "/worker"),
    ("client_port", "/runtime"),
    ("client_port", "/worker"),
    ("client_port", "/chat/any"),
]


@pytest.mark.parametrize("version", [1, 2])
def test_it_opens_no_other_address(core: AgentStepperCore, version: int) -> None:
    protocols: Any = [SUBPROTOCOL] if version == 2 else None
    for port, path in ADDRESSES:
        number = getattr(core, port)
        if number is None:
            assert port == "ui_port"  # in a kernel views come by comm
            continue
        where = f"ws://127.0.0.1:{number}{path}"
        for url, sent in (
            (where, headers(core.tokens.agent)),
            (f"{where}?token={core.tokens.agent}", None),
        ):
            with pytest.raises(InvalidStatus) as refused:
                with connect(url, subprotocols=protocols, additional_headers=sent, proxy=None):
                    pass
            assert refused.value.response.status_code in (401, 404), where


def test_it_asks_nothing_that_controls(core: AgentStepperCore) -> None:
    def ask(token: str, question: str) -> Any:
        with connect(
            f"ws://127.0.0.1:{core.client_port}",
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
            additional_headers=headers(token),
            proxy=None,
        ) as socket:
            message = {"n": 1, "type": question, "id": "q", "body": QUESTIONS[question]}
            socket.send(json.dumps(message))
            return json.loads(socket.recv(timeout=30))

    for question in QUESTIONS:
        refused = ask(core.tokens.agent, question)
        assert (refused["type"], refused["body"]["code"]) == ("error", "watch_only"), question
        assert "AGENTSTEPPER_CONTROL_TOKEN" in refused["body"]["message"]
        assert ask(core.tokens.control, question)["body"].get("code") != "watch_only", question
