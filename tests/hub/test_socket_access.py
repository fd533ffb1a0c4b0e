"""Who may open a socket: tokens, origins, loopback."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agentstepper_nb.discover import CoreTokens
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.hub.access import is_loopback
from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from tests.helpers.forked_python import fork_programs
from tests.hub.conftest import SocketHarness

NO_TOKEN: dict[str, str] = {}


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refusal(socket_harness: SocketHarness, port: int, **options: Any) -> tuple[int, str]:
    """The status and the text that a handshake is refused with."""
    with pytest.raises(InvalidStatus) as refused:
        socket_harness.socket(port, **options)
    body = refused.value.response.body
    return refused.value.response.status_code, (body or b"").decode()


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(request: pytest.FixtureRequest) -> int:
    return request.param


# ---- origins ----------------------------------------------------------------------------------------


FOREIGN = [
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
    "http://localhost",
    "http://localhost:3000",
    "http://127.0.0.1:4567",
]


def test_a_page_that_nobody_named_is_refused(socket_harness: SocketHarness, version: int) -> None:
    for origin in FOREIGN:
        status, text = refusal(
            socket_harness,
            socket_harness.core.ui_port,
            version=version,
            additional_headers={"Origin": origin},
        )
        assert status == 403
        assert text.startswith("foreign_origin: ")
        named = re.escape(origin).replace(
            "é", r"\?{1,2}"
        )  # as many bytes as the client makes of it
        assert re.search(rf" start the Core with: agentstepper serve --ui-origin {named}\n$", text)


def test_a_named_origin_is_let_in(
    new_socket_harness: Callable[..., SocketHarness], version: int
) -> None:
    socket_harness = new_socket_harness(ui_origins=["https://lab.example"])
    assert socket_harness.ui(version, origin="https://lab.example").runs == {}
    original = socket_harness.socket(
        socket_harness.core.ui_port, origin="https://lab.example", additional_headers={}
    )
    assert "init_app_state" in str(original.recv(timeout=30))
    status, _ = refusal(
        socket_harness, socket_harness.core.ui_port, origin="https://lab.example.evil"
    )
    assert status == 403


@pytest.mark.parametrize("origin", ["http://localhost", "https://evil.example", ""])
def test_no_web_page_is_an_agent(socket_harness: SocketHarness, version: int, origin: str) -> None:
    status, text = refusal(
        socket_harness,
        socket_harness.core.client_port,
        version=version,
        additional_headers={"Origin": origin},
    )
    assert (status, text) == (
        403,
        "foreign_origin: this address accepts programs, not web pages.\n",
    )


@pytest.mark.parametrize("path", ["/runtime", "/worker"])
@pytest.mark.parametrize("origin", ["http://localhost", "https://lab.example"])
def test_no_web_page_controls_or_works(
    new_socket_harness: Callable[..., SocketHarness], path: str, origin: str
) -> None:
    core = (socket_harness := new_socket_harness(ui_origins=["https://lab.example"])).core
    for port in (core.client_port, core.ui_port):
        if path == "/worker" and port == core.ui_port:
            continue  # there every other path is a UI's
        for token in core.tokens:
            headers = bearing(token) | {"Origin": origin}
            assert refusal(socket_harness, port, path=path, additional_headers=headers)[0] == 403


def test_two_origins_are_none(socket_harness: SocketHarness) -> None:
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    origins = "Origin: http://localhost\r\nOrigin: https://evil.example\r\n"
    request = f"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{key}"
    with socket.create_connection(("127.0.0.1", socket_harness.core.ui_port)) as raw:
        raw.sendall(f"{request}{origins}\r\n".encode())
        assert raw.recv(4096).startswith(b"HTTP/1.1 403 ")


# ---- tokens -----------------------------------------------------------------------------------------

#: What each address asks for, and who else may come: the token's owner, the path and the other owners.
ADDRESSES = [
    ("client_port", "/", {"agent", "control"}),
    ("client_port", "/worker", {"worker"}),
    ("client_port", "/runtime", {"control"}),
    ("ui_port", "/", {"control"}),
    ("ui_port", "/runtime", {"control"}),
]


@pytest.mark.parametrize("offered", [[SUBPROTOCOL], None], ids=["version 2", "version 1"])
@pytest.mark.parametrize(("port", "path", "owners"), ADDRESSES)
def test_each_address_takes_its_own_token_alone(
    socket_harness: SocketHarness, port: str, path: str, owners: set[str], offered: list[str] | None
) -> None:
    version = 2 if offered else 1
    number = getattr(socket_harness.core, port)
    for owner, token in socket_harness.core.tokens._asdict().items():
        how: dict[str, Any] = {"path": path, "additional_headers": bearing(token)}
        if owner in owners:
            socket = socket_harness.socket(number, version, **how)
            assert socket.subprotocol == (SUBPROTOCOL if offered else None)
        else:
            status, text = refusal(socket_harness, number, version=version, **how)
            assert (status, text.partition(":")[0]) == (401, "unauthorized")


WRONG = ["", "Bearer", "Bearer ", "Bearer wrong", "Bearer w\xffr\xfeng", "Basic dTpw"]


def test_a_wrong_token_is_refused(socket_harness: SocketHarness, version: int) -> None:
    for port, path, owners in ADDRESSES:
        for header in WRONG:
            status, text = refusal(
                socket_harness,
                getattr(socket_harness.core, port),
                version=version,
                path=path,
                additional_headers={"Authorization": header},
            )
            assert status == 401, (port, path, header)
            assert text.startswith("unauthorized: send the ")
            files = [f"the file {owner}-token of the Core's data folder" for owner in owners]
            assert any(file in text for file in files), text


@pytest.mark.parametrize("port", ["client_port", "ui_port"])
def test_a_wrong_token_in_the_address(socket_harness: SocketHarness, port: str) -> None:
    number = getattr(socket_harness.core, port)
    for path in ("/?token=", "/?token=wrong", "//[?token=%ff", "/?token"):
        status, _ = refusal(socket_harness, number, path=path, additional_headers=NO_TOKEN)
        assert status == 401, path


@pytest.mark.parametrize("path", ["/worker", "/runtime"])
def test_without_a_token_nobody_works_or_controls(
    socket_harness: SocketHarness, version: int, path: str
) -> None:
    how: dict[str, Any] = {"version": version, "path": path, "additional_headers": NO_TOKEN}
    assert refusal(socket_harness, socket_harness.core.client_port, **how)[0] == 401
    if path == "/runtime":
        assert refusal(socket_harness, socket_harness.core.ui_port, **how)[0] == 401


@pytest.mark.parametrize("port", ["client_port", "ui_port"])
def test_without_a_token_version_1_is_spoken(
    socket_harness: SocketHarness, version: int, port: str
) -> None:
    number = getattr(socket_harness.core, port)
    for path in ("/", "/any/path", "/?other=1", "/?"):
        socket = socket_harness.socket(number, version, path, additional_headers=NO_TOKEN)
        assert socket.subprotocol is None, path


def test_an_agent_of_ours_without_a_token_speaks_version_1(
    socket_harness: SocketHarness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As another account's, which finds no token: in a process of its own."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "ws").mkdir()
    program = (
        "import sys; from agentstepper_nb import AgentStepper\n"
        "with AgentStepper('A', 'localhost', int(sys.argv[1]), sys.argv[2]) as dbg:\n"
        "    print(dbg.begin_llm_query_breakpoint('p'))\n"
    )
    command = [
        sys.executable,
        "-c",
        program,
        str(socket_harness.core.client_port),
        str(tmp_path / "ws"),
    ]
    ui = socket_harness.ui(2)
    with fork_programs(), subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        run = ui.find_run("A")
        while agent.poll() is None and ui.runs[run]["state"] != "idle":
            if ui.pending(run):
                ui.step(run)
            else:
                ui.apply(ui.receive())
        assert agent.communicate()[0] == "p\n"
    assert not ui.runs[run]["can_stop"]  # as of version 1


def test_a_browser_may_send_the_token_in_the_address(socket_harness: SocketHarness) -> None:
    path = f"/?token={socket_harness.core.tokens.control}"
    socket = socket_harness.socket(
        socket_harness.core.ui_port, path=path, additional_headers=NO_TOKEN
    )
    assert "init_app_state" in str(socket.recv(timeout=30))


def test_the_token_is_no_leave_for_a_foreign_page(socket_harness: SocketHarness) -> None:
    headers = bearing(socket_harness.core.tokens.control) | {"Origin": "https://evil.example"}
    assert (
        refusal(socket_harness, socket_harness.core.ui_port, additional_headers=headers)[0] == 403
    )


def test_tokens_may_be_chosen(new_socket_harness: Callable[..., SocketHarness]) -> None:
    socket_harness = new_socket_harness(token="a", control_token="c", worker_token="w")
    assert socket_harness.core.tokens == CoreTokens("a", "c", "w")


@pytest.mark.parametrize("token", ["the tökén", "two words", "new\nline"])
def test_a_token_that_cannot_be_sent_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        AgentStepperCore(control_token=token)


def test_two_tokens_must_differ(tmp_path: Path) -> None:
    """The agent token would control."""
    with pytest.raises(ValueError, match="must differ, since each grants different rights"):
        AgentStepperCore(token="same", control_token="same")
    (tmp_path / "control-token").write_text("kept\n")
    with pytest.raises(ValueError, match="must differ"):
        AgentStepperCore(client_port=0, ui_port=0, data=tmp_path, token="kept").start()


def test_the_data_folder_keeps_the_tokens(tmp_path: Path) -> None:
    core = AgentStepperCore(client_port=0, ui_port=0, data=tmp_path, token="chosen")
    with core:
        first = core.tokens
        files = {name: tmp_path / f"{name}-token" for name in first._fields}
        assert first == CoreTokens(
            **{name: file.read_text().strip() for name, file in files.items()}
        )
        assert {file.stat().st_mode & 0o777 for file in files.values()} == {0o600}
        assert len(set(first)) == 3
    assert first.agent == "chosen"
    with AgentStepperCore(client_port=0, ui_port=0, data=tmp_path) as core:
        assert core.tokens == first


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


@pytest.fixture
def open_to_all() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("0.0.0.0", 0, 0) as core:
        yield core


def test_a_core_that_others_reach_demands_tokens_of_both_versions(
    open_to_all: AgentStepperCore, version: int
) -> None:
    with ExitStack() as stack:
        socket_harness = SocketHarness(open_to_all, stack)
        for port in (open_to_all.ui_port, open_to_all.client_port):
            assert (
                refusal(socket_harness, port, version=version, additional_headers=NO_TOKEN)[0]
                == 401
            )
        assert socket_harness.ui(version).runs == {}
        socket_harness.started(version)


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
    socket_harness: SocketHarness, offered: list[str] | None, chosen: str | None
) -> None:
    url = f"ws://127.0.0.1:{socket_harness.core.ui_port}/any/path?token={socket_harness.core.tokens.control}"
    with connect(url, subprotocols=offered, proxy=None, max_queue=None) as socket:
        assert socket.subprotocol == chosen
        if chosen is None:
            assert "init_app_state" in str(socket.recv(timeout=30))
