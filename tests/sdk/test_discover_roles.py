"""The addresses beside the agents': where workers and who controls their agents find a Core."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentstepper_nb import discover
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.errors import DiscoveryError
from tests.helpers.core_announcement import announce

JUPYTER = "ws://127.0.0.1:8888/user/ada/agentstepper/agent"
SERVE = "ws://localhost:8765"


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    for name in list(os.environ):
        if name.startswith("AGENTSTEPPER_"):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize(
    ("agents", "worker", "runtime"),
    [
        (SERVE, f"{SERVE}/worker", f"{SERVE}/runtime"),
        (f"{SERVE}/", f"{SERVE}/worker", f"{SERVE}/runtime"),
        (JUPYTER, f"{JUPYTER[:-5]}worker", f"{JUPYTER[:-5]}runtime"),
        ("wss://my-agent", "wss://my-agent/worker", "wss://my-agent/runtime"),
        ("ws://worker", "ws://worker/worker", "ws://worker/runtime"),
        ("wss://h/myagent", "wss://h/myagent/worker", "wss://h/myagent/runtime"),
    ],
)
def test_the_doors_of_a_core(agents: str, worker: str, runtime: str) -> None:
    assert discover.to_worker_url(agents) == worker
    assert discover.to_runtime_url(agents) == runtime
    for stepper_kind in (worker, runtime):
        assert discover.to_agents_url(stepper_kind) == agents.rstrip("/")
    assert discover.to_worker_url(worker) == worker
    assert discover.to_runtime_url(runtime) == runtime
    for url in (agents, worker):
        assert discover.make_chat_url(url, "c") == f"{worker.removesuffix('/worker')}/chat/c"


def test_without_a_core_it_says_what_to_start() -> None:
    for find in (discover.find_runtime_endpoint, discover.find_worker_endpoint):
        with pytest.raises(DiscoveryError, match="Start `agentstepper serve`, or JupyterLab"):
            find()


def test_programs_control_by_the_control_token() -> None:
    path = announce(JUPYTER, agent="agents", control="control", worker="workers")
    found = CoreEndpoint(discover.to_runtime_url(JUPYTER), "control")
    assert discover.find_runtime_endpoint() == found
    assert discover.find_runtime_endpoint(JUPYTER.replace("ws", "http", 1)) == found
    assert discover.find_runtime_endpoint(found.url) == found
    assert discover.find_runtime_endpoint(token="mine") == CoreEndpoint(found.url, "mine")
    assert discover.find_worker_endpoint() == CoreEndpoint(
        discover.to_worker_url(JUPYTER), "workers"
    )
    discover.remove_core_info(path)


def test_the_agent_token_never_goes_where_the_control_token_is_asked_for() -> None:
    path = announce(SERVE, agent="agents", worker="workers")
    assert discover.find_runtime_endpoint() == CoreEndpoint(f"{SERVE}/runtime", None)
    assert discover.find_worker_endpoint(SERVE) == CoreEndpoint(f"{SERVE}/worker", "workers")
    assert discover.find_worker_endpoint(SERVE, "given") == CoreEndpoint(f"{SERVE}/worker", "given")
    discover.remove_core_info(path)


def test_a_kernel_finds_the_one_that_its_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", JUPYTER)
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "agents")
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "control")
    found = CoreEndpoint(discover.to_runtime_url(JUPYTER), "control")
    assert discover.find_runtime_endpoint() == found
    assert discover.find_runtime_endpoint(found.url) == found
    elsewhere = discover.find_runtime_endpoint("ws://elsewhere:1")
    assert elsewhere == CoreEndpoint("ws://elsewhere:1/runtime", None)


def test_what_a_worker_starts_is_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_WORKER_URL", f"{SERVE}/worker")
    monkeypatch.setenv("AGENTSTEPPER_WORKER_TOKEN", "workers")
    assert discover.find_worker_endpoint() == CoreEndpoint(f"{SERVE}/worker", "workers")
    assert "AGENTSTEPPER_WORKER_TOKEN" not in os.environ


def test_of_two_cores_that_take_workers_the_named_one_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So `chat.address` is where the chat's turns are debugged."""
    announce("ws://127.0.0.1:8800", worker="others", pid=os.getppid())
    announce(SERVE, agent="agents", control="control", worker="workers", pid=1)
    monkeypatch.setattr("agentstepper_nb.discover.core_info._is_alive", lambda pid: True)
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:8765")
    assert discover.find_worker_endpoint() == CoreEndpoint(f"{SERVE}/worker", "workers")
    assert discover.find_runtime_endpoint() == CoreEndpoint(f"{SERVE}/runtime", "control")
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://localhost:8800")
    assert discover.find_worker_endpoint() == CoreEndpoint("ws://127.0.0.1:8800/worker", "others")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ws://localhost:8765", "ws://127.0.0.1:8765/", True),
        ("ws://localhost:8765", "ws://[::1]:8765", True),
        ("http://localhost:8765", "ws://localhost:8765", True),
        ("ws://localhost", "ws://127.0.0.1:80", True),
        ("ws://localhost:8765", "ws://localhost:8766", False),
        ("ws://localhost:8765", "wss://localhost:8765", False),
        ("ws://localhost:8765", "ws://localhost.example:8765", False),
        ("ws://localhost:8765", "ws://[not-an-address:8765", False),
        ("ws://localhost:8765/a", "ws://localhost:8765/b", False),
    ],
)
def test_one_address_has_many_spellings(one: str, other: str, same: bool) -> None:
    announce(one, agent="t")
    assert discover.discover(other).token == ("t" if same else None)


def test_a_token_goes_to_the_address_that_its_core_is_known_by() -> None:
    """The same port of ::1 may be another user's."""
    announce("ws://127.0.0.1:8765", agent="t")
    assert discover.discover("ws://[::1]:8765") == CoreEndpoint("ws://127.0.0.1:8765", "t")
    assert discover.make_endpoint("localhost", 8765) == CoreEndpoint("ws://127.0.0.1:8765", "t")
