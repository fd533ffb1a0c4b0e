"""What is too large or too slow for a socket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from agentstepper_nb.hub.limits import HubLimits
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES
from tests.helpers.sampling import select_sample
from tests.hub.conftest import SocketHarness
from tests.hub.isolation_scene import TwoRuns
from tests.hub.socket_agents import SocketPeer
from tests.hub.socket_uis import ViewV1, ViewV2

MB = 1_000_000
SMALL_BACKLOG = HubLimits(max_backlog_bytes=MB)

NewSocketHarness = Callable[..., SocketHarness]


def closing(peer: SocketPeer) -> tuple[int, str]:
    """The code and the reason that a connection is closed with."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            peer.socket.recv(timeout=30)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


def test_the_limit_is_that_of_the_design() -> None:
    assert MAX_MESSAGE_BYTES == 64 * 1024 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("version", select_sample((1, 2), 2))
@pytest.mark.parametrize("who", select_sample(("agent", "ui"), "agent"))
def test_too_large_a_message_closes_and_says_the_limit(
    socket_harness: SocketHarness, who: str, version: int
) -> None:
    scene = TwoRuns(socket_harness, **{"agent": 2, "ui": 2} | {who: version})
    run = scene.start()
    peer = scene.agent if who == "agent" else scene.ui

    # Just as large as it may be: it is no JSON, and that is all that is said.
    peer.send(" " * MAX_MESSAGE_BYTES)
    assert peer.receive_error()["code"] == "malformed"

    with suppress(ConnectionClosed):  # the Core doesn't wait for all of it
        peer.send(" " * (MAX_MESSAGE_BYTES + 1))
    code, reason = closing(peer)
    assert code == 1009
    assert f"exceeds limit of {MAX_MESSAGE_BYTES} bytes" in reason

    if who == "agent":
        scene.ui.wait_for_state(run, "idle" if version == 1 else "detached")
        scene.agent = socket_harness.agent(version)
    else:
        scene.ui = socket_harness.ui(version)
    scene.check_isolation()


@pytest.mark.slow
def test_pieces_count_together(socket_harness: SocketHarness) -> None:
    ui = socket_harness.ui(2)
    half = " " * (MAX_MESSAGE_BYTES // 2 + 1)
    with suppress(ConnectionClosed):
        ui.socket.send([half, half])
    assert closing(ui)[0] == 1009


@pytest.mark.slow
def test_large_contents_travel_whole(socket_harness: SocketHarness) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started(1)
    assert isinstance(ui, ViewV2)
    run = ui.find_run("P")
    text = "é" * (5 * MB)
    ui.wait_until_halted(run, agent.begin_query(text))
    (row,) = ui.open_run(run)["rows"]
    assert row["size"] == 30 * MB + 2  # as the agent wrote it, escaped
    assert row["summary"] == "30.0 MB of JSON"
    ui.step(run)
    assert agent.receive_answer() == text


# ---- too slow ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_ui_that_does_not_read_is_let_go(new_socket_harness: NewSocketHarness) -> None:
    socket_harness = new_socket_harness(SMALL_BACKLOG)
    ui, agent = socket_harness.ui(2), socket_harness.started()
    assert isinstance(ui, ViewV2)
    run = ui.find_run("P")
    deaf = SocketPeer(
        socket_harness.socket(socket_harness.core.ui_port, max_queue=1, close_timeout=0)
    )
    for _ in range(100):
        agent.post_debug_message("x" * MB)
    asked = agent.begin_query("hi")
    assert ui.wait_until_halted(run) == asked
    # What is left of it is what the system had taken.
    with pytest.raises(ConnectionClosed) as closed:
        for _ in range(100):
            deaf.receive_text()
    assert closed.value.rcvd is None
    ui.step(run)
    assert agent.receive_answer() == "hi"


@pytest.mark.slow
def test_one_large_message_is_no_sign_of_a_ui_that_does_not_read(
    new_socket_harness: NewSocketHarness,
) -> None:
    """A snapshot may be larger than what may wait, and more is told right behind it."""
    socket_harness = new_socket_harness(SMALL_BACKLOG)
    agent = socket_harness.started(1)
    for _ in range(4):
        agent.reach("x" * (10 * MB), agent.begin())
    seer = socket_harness.ui(2)
    assert isinstance(seer, ViewV2)
    run = seer.find_run("P")
    while len(seer.runs[run]["pending"]) < 4:
        seer.apply(seer.receive())
    late = ViewV1(socket_harness.socket(socket_harness.core.ui_port))
    for turn in range(5):
        agent.post_debug_message(f"look {turn}")
    late.connect()
    while len(late.runs[run]["messages"]) < 9:
        late.apply(late.receive())
    assert [m["summary"] for m in late.runs[run]["messages"][4:]] == [
        f"look {turn}" for turn in range(5)
    ]


def test_an_agent_that_does_not_read_loses_its_run_only(
    new_socket_harness: NewSocketHarness,
) -> None:
    socket_harness = new_socket_harness(SMALL_BACKLOG)
    ui, other = socket_harness.ui(2), socket_harness.started(1, "Other")
    deaf = socket_harness.agent(1, max_queue=1, close_timeout=0)
    deaf.start("Deaf")
    run = ui.find_run("Deaf")
    ui.resume(run)
    with suppress(ConnectionClosed):
        for _ in range(60):
            deaf.begin()
            deaf.reach("x" * MB)
    assert ui.wait_for_state(run, "idle")["ending"] == "finished"
    asked = other.begin_query("hi")
    ui.wait_until_halted(ui.find_run("Other"), asked)
    ui.step(ui.find_run("Other"))
    assert other.receive_answer() == "hi"
