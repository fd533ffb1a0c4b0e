from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, DiscoveryError, discover
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.sdk.environment import make_environment
from tests.helpers.core_announcement import announce
from tests.helpers.ports import find_ports
from tests.sdk.scripted_core import ScriptedCore


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "jupyter-runtime"  # as conftest sets it
    folder.mkdir()
    return folder


def write(pid: int, url: str, token: str | None = "t") -> Path:
    return announce(url, agent=token or "", name=f"server {pid}", pid=pid)


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def other() -> Iterator[int]:
    """A process of this user's that is alive, and no ancestor of ours."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate(b"\n")


def test_arguments_come_first(monkeypatch: pytest.MonkeyPatch, runtime: Path) -> None:
    write(os.getpid(), "ws://here")
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://env")
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "of the env")
    assert discover.discover("ws://arg", "mine") == CoreEndpoint("ws://arg", "mine")
    assert discover.discover() == CoreEndpoint("ws://env", "of the env")
    assert discover.discover(token="mine") == CoreEndpoint("ws://env", "mine")


def test_a_token_goes_only_where_it_belongs(monkeypatch: pytest.MonkeyPatch, runtime: Path) -> None:
    write(os.getpid(), "ws://here", "of-the-file")
    monkeypatch.setenv("AGENTSTEPPER_URL", "http://env/x")
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "of the env")
    assert discover.discover("ws://env/x") == CoreEndpoint("ws://env/x", "of the env")
    assert discover.discover("ws://elsewhere") == CoreEndpoint("ws://elsewhere", None)
    assert discover.discover("ws://here") == CoreEndpoint("ws://here", "of-the-file")
    assert discover.make_endpoint("localhost", 1) == CoreEndpoint("ws://localhost:1", None)
    monkeypatch.delenv("AGENTSTEPPER_URL")
    assert discover.discover("ws://any") == CoreEndpoint("ws://any", "of the env")


@pytest.mark.parametrize(
    ("address", "port", "url"),
    [
        ("localhost", 1234, "ws://localhost:1234"),
        (None, 1234, "ws://localhost:1234"),
        ("box", None, "ws://box:8765"),
        ("::1", 0, "ws://[::1]:0"),
        ("[::1]", 7, "ws://[::1]:7"),
    ],
)
def test_address_and_port(address: str | None, port: int | None, url: str) -> None:
    assert discover.make_endpoint(address, port) == CoreEndpoint(url, None)


@pytest.mark.parametrize(
    ("url", "as_websocket"),
    [
        ("http://h:1/a", "ws://h:1/a"),
        ("https://h/", "wss://h/"),
        ("ws://h", "ws://h"),
        ("h:1", "h:1"),
    ],
)
def test_web_addresses_become_websocket_ones(url: str, as_websocket: str) -> None:
    assert discover.to_websocket_url(url) == as_websocket


def test_the_only_running_server(runtime: Path, other: int) -> None:
    write(other, "ws://one")
    assert discover.discover() == CoreEndpoint("ws://one", "t")


def test_none_says_what_to_do(runtime: Path) -> None:
    with pytest.raises(DiscoveryError, match="agentstepper serve"):
        discover.discover()
    with pytest.raises(DiscoveryError):
        AgentStepper("T")


def test_several_are_listed_and_never_guessed(runtime: Path, other: int) -> None:
    write(os.getpid(), "ws://one")
    write(other, "ws://two")
    with pytest.raises(DiscoveryError) as caught:
        discover.discover()
    text = str(caught.value)
    assert "ws://one" in text
    assert f"ws://two  server {other} (pid {other}, since" in text
    assert "AGENTSTEPPER_URL" in text


def test_several_are_told_apart_and_may_be_stopped(runtime: Path, other: int) -> None:
    for pid, url in ((os.getpid(), "ws://one"), (other, "ws://two")):
        folder = runtime / f"runs of {pid}"
        discover.write_core_info(
            url=url, data_dir=folder, name="agentstepper serve", pid=pid, started=1e9
        )
    with pytest.raises(DiscoveryError) as caught:
        discover.discover()
    text = str(caught.value)
    assert f"agentstepper serve (pid {other}, since 2001-09-0" in text
    assert f"runs in {runtime}/runs of {other})" in text
    assert "kill PID" in text


def test_the_file_of_one_that_was_killed_counts_for_nothing(runtime: Path, other: int) -> None:
    """Its process id is another program's by now."""
    (closed,) = find_ports(1)
    stale = f"ws://127.0.0.1:{closed}"
    write(os.getpid(), stale)
    with socket.create_server(("127.0.0.1", 0)) as server:
        live = f"ws://127.0.0.1:{server.getsockname()[1]}"
        write(other, live)
        assert discover.discover().url == live


@pytest.mark.slow
def test_the_server_whose_kernel_this_is(
    monkeypatch: pytest.MonkeyPatch, runtime: Path, other: int
) -> None:
    write(other, "ws://other")
    write(os.getpid(), "ws://ours")
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    assert discover.discover().url == "ws://ours"
    monkeypatch.setenv("JPY_PARENT_PID", "no number")
    program = "from agentstepper_nb import discover; print(discover.discover().url)"
    # A child, and a child's child: found by their ancestors.
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    for code in (program, nested):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == "ws://ours\n", done.stderr


def test_a_core_of_our_own_is_never_another_one(
    monkeypatch: pytest.MonkeyPatch, runtime: Path, other: int
) -> None:
    assert discover.find_own_core() is None
    write(other, "ws://other")
    assert discover.find_own_core() is None
    write(os.getppid(), "ws://parent")
    assert discover.find_own_core() == CoreEndpoint("ws://parent", "t")
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://env")
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "of the env")
    assert discover.find_own_core() == CoreEndpoint("ws://env", "of the env")


def test_a_kernels_own_core_is_its_servers(
    monkeypatch: pytest.MonkeyPatch, runtime: Path, other: int
) -> None:
    write(other, "ws://server")
    monkeypatch.setenv("JPY_PARENT_PID", str(other))
    assert discover.find_own_core() == CoreEndpoint("ws://server", "t")


def test_files_of_the_dead_are_removed_and_of_others_passed_over(runtime: Path, other: int) -> None:
    stale = write(dead_pid(), "ws://gone")
    live = write(other, "ws://one")
    (runtime / "agentstepper-x.json").write_text("{not json")
    (runtime / "agentstepper-y.json").write_text('{"pid": 1}')
    (runtime / "agentstepper-z.json").write_text('{"pid": "1", "url": "ws://text"}')
    (runtime / "jpserver-1.json").write_text('{"pid": 1, "url": "ws://jupyter"}')
    assert [server.url for server in discover.list_announced_cores()] == ["ws://one"]
    assert not stale.exists()
    assert live.exists()


def test_a_file_of_a_newer_version_is_read_as_far_as_it_is_known(runtime: Path) -> None:
    path = write(os.getpid(), "ws://here")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "colour": "blue"}))
    assert discover.discover().url == "ws://here"


def test_what_a_runtime_file_says(runtime: Path) -> None:
    path = discover.write_core_info(
        url="ws://here",
        ui_url="ws://there",
        data_dir=runtime.parent / "kept",
        name="n",
        base_url="/b/",
        root_dir="/r",
        version="1",
    )
    assert path == runtime / f"agentstepper-{os.getpid()}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    document = json.loads(path.read_text())
    assert document.pop("started") > 0
    assert document == {
        "pid": os.getpid(),
        "url": "ws://here",
        "ui_url": "ws://there",
        "data_dir": str(runtime.parent / "kept"),
        "name": "n",
        "base_url": "/b/",
        "root_dir": "/r",
        "version": "1",
    }
    assert [p.name for p in runtime.iterdir()] == [path.name]
    discover.remove_core_info(path)
    discover.remove_core_info(path)
    assert list(runtime.iterdir()) == []


@pytest.mark.parametrize("fork", [False, True])
def test_it_goes_with_its_process(runtime: Path, fork: bool) -> None:
    program = """
import os, sys
from agentstepper_nb import discover
path = discover.write_core_info(url="ws://here", data_dir=None)
if len(sys.argv) > 1 and os.fork() == 0:
    sys.exit()
if len(sys.argv) > 1:
    os.wait()
assert path.exists()
"""
    command = [sys.executable, "-c", program, *(["fork"] if fork else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(runtime.iterdir()) == []


def test_an_agent_finds_its_core(core: ScriptedCore, runtime: Path) -> None:
    write(os.getpid(), core.url)
    with AgentStepper("T") as dbg:
        assert dbg.begin_llm_query_breakpoint("p") == "p"
    assert core.peers[0].socket.request is not None
    assert core.peers[0].socket.request.headers["Authorization"] == "Bearer t"


# ---- the control token ------------------------------------------------------------------------------


def test_the_control_token_of_a_runtime_file(
    monkeypatch: pytest.MonkeyPatch, runtime: Path, other: int
) -> None:
    write(os.getpid(), "ws://old")
    announce("ws://here", agent="t", control="mine", pid=other)
    monkeypatch.setenv("AGENTSTEPPER_URL", "http://here")  # as a kernel has it
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "of the env")
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "another's")
    assert discover.discover_control_endpoint() == CoreEndpoint("ws://here", "mine")
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://old")
    monkeypatch.delenv("AGENTSTEPPER_CONTROL_TOKEN")
    assert discover.discover_control_endpoint() == CoreEndpoint("ws://old", "of the env")


def test_a_control_token_goes_only_where_it_belongs(
    monkeypatch: pytest.MonkeyPatch, runtime: Path
) -> None:
    write(os.getpid(), "ws://here")
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "mine")
    assert discover.discover_control_endpoint() == CoreEndpoint("ws://here", "t")
    monkeypatch.setenv("AGENTSTEPPER_URL", "https://elsewhere/x")
    assert discover.discover_control_endpoint() == CoreEndpoint("wss://elsewhere/x", "mine")
    assert discover.discover() == CoreEndpoint("wss://elsewhere/x", None)


def test_agents_never_present_nor_inherit_it(
    core: ScriptedCore, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce(core.url, agent="t", control="mine")
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "mine")
    with AgentStepper("T") as dbg:
        assert dbg.begin_llm_query_breakpoint("p") == "p"
    assert core.peers[0].socket.request is not None
    assert core.peers[0].socket.request.headers["Authorization"] == "Bearer t"
    inherited = make_environment(os.environ, discover.discover())
    assert inherited["AGENTSTEPPER_TOKEN"] == "t"
    assert "mine" not in inherited.values()


# ---- the tokens of a data folder --------------------------------------------------------------------


TOKENS = ("agent-token", "control-token", "worker-token")


def test_tokens_outlive_their_process(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    tokens = set()
    for file in TOKENS:
        assert discover.read_token(folder, file) is None
        token = discover.load_or_create_token(folder, file)
        assert len(token) >= 32
        assert discover.load_or_create_token(folder, file) == token
        assert discover.read_token(folder, file) == token
        assert stat.S_IMODE((folder / file).stat().st_mode) == 0o600
        tokens.add(token)
    assert len(tokens) == 3
    assert {path.name for path in folder.iterdir()} == {*TOKENS, "tokens.lock"}


def test_of_many_that_start_at_once_all_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        tokens = list(pool.map(discover.load_or_create_token, [tmp_path / "data"] * 64))
    assert len(set(tokens)) == 1
    made = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert made == ["agent-token", "tokens.lock"]


def test_an_empty_token_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "agent-token").write_text("")
    token = discover.load_or_create_token(tmp_path)
    assert token == discover.read_token(tmp_path)


def test_the_data_folder(tmp_path: Path) -> None:
    assert discover.data_dir() == tmp_path / "jupyter-data" / "agentstepper"
