"""The Core as a class: its life, its ports, and its runs on disk."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.hub.limits import HubLimits
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.records import EndedRunLoaded
from agentstepper_nb.store import open_store
from tests.helpers.ports import find_ports
from tests.helpers.sampling import select_sample
from tests.hub.conftest import SocketHarness, limited_core
from tests.hub.socket_uis import ViewV1, ViewV2

#: How a Core's threads are called; agents of other tests, which ran before, may have left theirs.
THREADS = tuple(f"agentstepper-{what}" for what in ("core", "store", "reader", "search"))

SHAKE_HANDS = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def core_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith(THREADS)]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


# ---- life -------------------------------------------------------------------------------------------


def test_without_a_port_for_uis() -> None:
    core = AgentStepperCore("127.0.0.1", client_port=0, ui_port=None)
    with core:
        assert core.ui_port is None
        assert core._ports is not None and len(core._ports._servers) == 1
    assert is_free(core.client_port)


def test_start_and_stop_may_be_called_again() -> None:
    core = AgentStepperCore(client_port=0, ui_port=0)
    core.stop()
    core.start()
    ports = core.client_port, core.ui_port
    assert 0 not in ports
    core.start()
    assert (core.client_port, core.ui_port) == ports
    assert core_threads().count("agentstepper-core") == 1
    assert not any(is_free(port) for port in ports)
    core.stop()
    core.stop()
    assert core_threads() == []
    assert all(is_free(port) for port in ports)
    with core:  # and once more, on the same ports
        assert (core.client_port, core.ui_port) == ports
    assert core_threads() == []


def test_threads_that_start_and_stop_at_once_do_it_once() -> None:
    core = AgentStepperCore(client_port=0, ui_port=0)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            for done in [pool.submit(core.start) for _ in range(4)]:
                done.result()
            assert core_threads().count("agentstepper-core") == 1
            for done in [pool.submit(core.stop) for _ in range(4)]:
                done.result()
            assert core_threads() == []


def test_the_guides_arguments_may_come_by_position() -> None:
    with AgentStepperCore("localhost", 0, 0, None, logging.getLogger("mine")) as core:
        assert core.hub.runs() == []


def test_before_the_start_there_is_neither_hub_nor_loop() -> None:
    core = AgentStepperCore()
    with pytest.raises(RuntimeError, match=r"call start\(\)"):
        _ = core.hub
    with pytest.raises(RuntimeError, match=r"call start\(\)"):
        _ = core.loop


@pytest.mark.parametrize("taken", ["client_port", "ui_port"])
def test_a_taken_port_leaves_nothing_running(taken: str) -> None:
    (port,) = find_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        core = AgentStepperCore(**{"client_port": 0, "ui_port": 0} | {taken: port})
        with pytest.raises(OSError, match="address already in use"):
            core.start()
        assert core_threads() == []
    core.start()  # the port is free now
    core.stop()


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(
        ValueError, match=f"{port} isn't a port. Use a number from 1 to 65535, or 0"
    ):
        AgentStepperCore(ui_port=port)


def test_stop_ends_runs_and_tells_everybody_why(tmp_path: Path) -> None:
    core = AgentStepperCore(client_port=0, ui_port=0, data=tmp_path)
    core.start()
    options: dict[str, Any] = {"proxy": None, "compression": None}
    with (
        connect(f"ws://127.0.0.1:{core.ui_port}", **options) as ui_socket,
        connect(f"ws://127.0.0.1:{core.client_port}", **options) as agent_socket,
    ):
        ui = ViewV1(ui_socket)
        ui.connect()
        agent_socket.send(
            '{"message": "event", "data": {"uuid": "e", "type": "PROGRAM_STARTED", "time": 1.0, '
            '"data": "Halted"}}'
        )
        ui.find_run("Halted")
        core.stop()
        for each in (ui_socket, agent_socket):
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    each.recv(timeout=30)
            assert closed.value.rcvd is not None
            code = 1001 if each is ui_socket else 1011  # as the original's client has to hear it
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
                code,
                "The Core is stopping.",
            )
    assert core_threads() == []
    with contextlib.closing(open_store(tmp_path)) as store:
        (found,) = store.load()
    assert isinstance(found, EndedRunLoaded)
    assert (found.run.name, found.run.ending) == ("Run #1 of Halted", RunEnding.LOST)


def test_stop_does_not_wait_for_who_says_nothing() -> None:
    limits = HubLimits(open_timeout_s=600, close_timeout_s=0.1)
    core = limited_core(limits)(client_port=0, ui_port=0)
    core.start()
    with socket.create_connection(("127.0.0.1", core.ui_port)) as silent:
        with socket.create_connection(("127.0.0.1", core.client_port)) as half:
            # One shakes hands and then doesn't answer the closing; one says nothing at all.
            half.sendall(SHAKE_HANDS)
            assert half.recv(4096).startswith(b"HTTP/1.1 101")
            core.stop()
        silent.settimeout(30)
        silent.recv(4096)
    assert core_threads() == []


@pytest.mark.parametrize("turns", select_sample(range(5), 1, 3))
def test_a_connection_that_comes_as_the_core_stops_is_closed(turns: int) -> None:
    """However far it has got: nothing of it outlives the Core, which pytest would tell."""
    limits = HubLimits(close_timeout_s=0.1)
    core = limited_core(limits)("127.0.0.1", client_port=0, ui_port=None)
    core.start()
    close = core.hub.close
    with socket.socket() as peer:

        async def close_meanwhile() -> None:
            await close()
            peer.connect(("127.0.0.1", core.client_port))
            peer.sendall(SHAKE_HANDS)
            for _ in range(turns):
                await asyncio.sleep(0)

        core.hub.close = close_meanwhile  # type: ignore[method-assign]
        core.stop()
        with contextlib.suppress(ConnectionResetError):  # nobody had accepted it yet
            while peer.recv(4096):
                pass
    gc.collect()


# ---- runs on disk -----------------------------------------------------------------------------------


def test_runs_that_ended_are_there_again_after_a_restart(
    new_socket_harness: Callable[..., SocketHarness], tmp_path: Path
) -> None:
    socket_harness = new_socket_harness(data=tmp_path)
    ui = socket_harness.ui(2)
    for version in (1, 2):
        agent = socket_harness.started(version, f"P{version}")
        run = ui.find_run(f"P{version}")
        asked = agent.begin_query({"n": version})
        ui.wait_until_halted(run, asked)
        ui.edit(run, asked, None if version == 1 else "edited")
        ui.step(run)
        agent.receive_answer()
        agent.finish()
        ui.wait_for_state(run, "idle")
    deleted = socket_harness.started(2, "Deleted")
    deleted.finish()
    ui.wait_for_state(ui.find_run("Deleted"), "idle")
    ui.run_command("delete_run", run=ui.find_run("Deleted"))
    socket_harness.core.stop()
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in tmp_path.iterdir())

    again = new_socket_harness(data=tmp_path).ui(2)
    assert isinstance(again, ViewV2)
    assert [(run["name"], run["state"]) for run in again.runs.values()] == [
        ("Run #1 of P1", "idle"),
        ("Run #1 of P2", "idle"),
    ]
    rows = [again.open_run(run)["rows"] for run in again.runs]
    assert [[row["summary"] for row in each] for each in rows] == [
        ["Asks with an empty prompt", "Agent execution finished"],
        ["edited", "Agent execution finished"],
    ]


def test_a_run_file_is_taken_in(socket_harness: SocketHarness, wire: Path, tmp_path: Path) -> None:
    socket_harness.core.import_file(wire / "recorded.run")
    assert [run["name"] for run in socket_harness.ui(1).runs.values()] == ["Recorded run"]
    (tmp_path / "bad.run").write_bytes(b"x")
    with pytest.raises(ProtocolError, match=r"no \.run file"):
        socket_harness.core.import_file(tmp_path / "bad.run")
    with pytest.raises(FileNotFoundError):
        socket_harness.core.import_file(tmp_path / "none.run")


# ---- the log ----------------------------------------------------------------------------------------


def test_the_log_has_a_line_a_connection_run_commit_and_refusal(
    new_socket_harness: Callable[..., SocketHarness], caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("test_standalone")
    with caplog.at_level(logging.INFO, logger.name):
        socket_harness = new_socket_harness(logger=logger)
        ui, agent = socket_harness.ui(1), socket_harness.started(1, "two\nlines \x1b[31m")
        run = ui.find_run("two\nlines \x1b[31m")
        agent.commit("Add\nb.txt")
        agent.send("na\nture")
        agent.receive_error()
        assert ui.expect_refusal("ju\nmp")["code"] == "unknown_command"
        agent.finish()
        ui.wait_for_state(run, "idle")
        ui.disconnect()
        with pytest.raises(InvalidStatus):
            socket_harness.socket(
                socket_harness.core.ui_port, additional_headers={"Origin": "http://evil.example"}
            )
        socket_harness.core.stop()
    lines = [record.getMessage() for record in caplog.records if record.name == logger.name]
    said = "\n".join(lines)
    for words in (
        f"agents: ws://localhost:{socket_harness.core.client_port}",
        "UI connected, version 1",
        "agent connected, version 1",
        f"run {run} of two started",
        ": Add",
        "an agent's message was refused, malformed: ",
        "a UI's message was refused, unknown_command: “ju",
        f"run {run} ended: finished",
        "UI disconnected",
        "a connection was refused, foreign_origin: web pages of http://evil.example may not",
        "stopped",
    ):
        assert words in said
    assert all(len(line.splitlines()) == 1 and line.isprintable() for line in lines)
