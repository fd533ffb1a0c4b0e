"""Who may open a socket: tokens, origins, loopback."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.hub.gate import is_loopback
from agentstepper_nb.protocol.frame import SUBPROTOCOL
from tests.hub.conftest import Stand

TOKEN = "the-tökén"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def refusal(stand: Stand, port: int, **options: Any) -> tuple[int, str]:
    """The status and the text that a handshake is refused with."""
    with pytest.raises(InvalidStatus) as refused:
        stand.socket(port, **options)
    body = refused.value.response.body
    return refused.value.response.status_code, (body or b"").decode()


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(request: pytest.FixtureRequest) -> int:
    return request.param


# ---- origins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://evil.example:4567",
        "null",
        "",
        "file://",
        "https://localhost",
        "http://localhost.evil.example",
        "http://localhost:80@evil.example",
        "http://localhost:",
        "http://127.0.0.1.evil.example",
        "http://127.0.0.12",
        "http://[::1]:80",
        "http://évil.example",
        "HTTP://LOCALHOST",
    ],
)
def test_a_foreign_page_controls_nobody(stand: Stand, version: int, origin: str) -> None:
    status, text = refusal(
        stand, stand.core.ui_port, version=version, additional_headers={"Origin": origin}
    )
    assert status == 403
    assert text.startswith("foreign_origin: ")
    assert "--ui-origin" in text


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://localhost:3000", "http://127.0.0.1:4567"]
)
def test_a_page_of_this_machine_is_let_in(stand: Stand, version: int, origin: str) -> None:
    assert stand.ui(version, origin=origin).runs == {}


def test_a_named_origin_is_let_in(new_stand: Callable[..., Stand], version: int) -> None:
    stand = new_stand(ui_origins=["https://lab.example"])
    assert stand.ui(version, origin="https://lab.example").runs == {}
    status, _ = refusal(stand, stand.core.ui_port, origin="https://lab.example.evil")
    assert status == 403


@pytest.mark.parametrize("origin", ["http://localhost", "https://evil.example", ""])
def test_no_web_page_is_an_agent(stand: Stand, version: int, origin: str) -> None:
    status, text = refusal(
        stand, stand.core.client_port, version=version, additional_headers={"Origin": origin}
    )
    assert (status, text) == (403, "foreign_origin: agents are programs, not web pages.\n")


def test_two_origins_are_none(stand: Stand) -> None:
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    origins = "Origin: http://localhost\r\nOrigin: https://evil.example\r\n"
    request = f"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{key}"
    with socket.create_connection(("127.0.0.1", stand.core.ui_port)) as raw:
        raw.sendall(f"{request}{origins}\r\n".encode())
        assert raw.recv(4096).startswith(b"HTTP/1.1 403 ")


# ---- tokens -----------------------------------------------------------------------------------------


@pytest.fixture
def guarded(new_stand: Callable[..., Stand]) -> Stand:
    return new_stand(token=TOKEN)


@pytest.fixture(params=["client_port", "ui_port"])
def port(request: pytest.FixtureRequest, guarded: Stand) -> int:
    return getattr(guarded.core, request.param)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer w\xffr\xfeng"},
        {"Authorization": "Basic dTpw"},
        {"Authorization": BEARER["Authorization"] + "x"},
    ],
    ids=range(8),
)
def test_without_the_token_nobody_is_let_in(
    guarded: Stand, port: int, version: int, headers: dict[str, str]
) -> None:
    status, text = refusal(guarded, port, version=version, additional_headers=headers)
    assert status == 401
    assert text.startswith("unauthorized: send the token")


@pytest.mark.parametrize("path", ["/?token=", "/?token=wrong", "/?other=1", "//[?token=%ff", "/?"])
def test_a_wrong_token_in_the_address(guarded: Stand, port: int, path: str) -> None:
    assert refusal(guarded, port, path=path)[0] == 401


def test_with_the_token_all_is_as_ever(guarded: Stand, version: int) -> None:
    ui = guarded.ui(version, additional_headers=BEARER)
    agent = guarded.agent(version, additional_headers=BEARER)
    agent.start("P")
    agent.ask("hi")
    run = ui.find("P")
    ui.halted(run)
    ui.step(run)
    assert agent.answer() == "hi"


def test_a_browser_may_send_the_token_in_the_address(guarded: Stand) -> None:
    socket = guarded.socket(guarded.core.ui_port, path="/?token=the-t%C3%B6k%C3%A9n")
    assert "init_app_state" in str(socket.recv(timeout=30))


def test_the_token_is_no_leave_for_a_foreign_page(guarded: Stand) -> None:
    headers = BEARER | {"Origin": "https://evil.example"}
    assert refusal(guarded, guarded.core.ui_port, additional_headers=headers)[0] == 403


# ---- hosts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    if not loopback:
        with pytest.raises(ValueError, match="reached from other machines: pass a token"):
            AgentStepperCore(host)
    AgentStepperCore(host, token="t")


@pytest.fixture
def open_to_all() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("0.0.0.0", 0, 0, token="t") as core:
        yield core


def test_a_core_that_others_reach_demands_the_token(open_to_all: AgentStepperCore) -> None:
    with ExitStack() as stack:
        stand = Stand(open_to_all, stack)
        assert refusal(stand, open_to_all.ui_port)[0] == 401
        assert refusal(stand, open_to_all.client_port)[0] == 401
        assert stand.ui(2, additional_headers={"Authorization": "Bearer t"}).runs == {}


# ---- subprotocols -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, None),
        (["other"], None),
        ([SUBPROTOCOL], SUBPROTOCOL),
        (["other", SUBPROTOCOL], SUBPROTOCOL),
        (["agentstepper.v3", SUBPROTOCOL], SUBPROTOCOL),
        (["agentstepper.v3"], None),
    ],
)
def test_the_subprotocol_chooses_the_version(
    stand: Stand, offered: list[str] | None, chosen: str | None
) -> None:
    url = f"ws://127.0.0.1:{stand.core.ui_port}/any/path"
    with connect(url, subprotocols=offered, proxy=None, max_queue=None) as socket:
        assert socket.subprotocol == chosen
        if chosen is None:
            assert "init_app_state" in str(socket.recv(timeout=30))
