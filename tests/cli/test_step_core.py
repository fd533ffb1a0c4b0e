"""`agentstepper step` without an address: the Core that agents here would find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from agentstepper_nb import discover
from tests.e2e.jupyter import Server, running
from tests.helpers.forked_python import run_python

from .agent import SocketAgent
from .conftest import COMMAND, ServeProcess, Step


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Jupyter server with the extension, as a person starts it."""
    server = Server(tmp_path_factory.mktemp("jupyter"), lab=False)
    with running(server):
        yield server


def quits(step: pexpect.spawnbase.SpawnBase) -> None:
    step.sendline("q")
    step.expect(pexpect.EOF)
    assert step.wait() == 0


@pytest.mark.slow
def test_serve_is_found_at_whatever_port(
    through_pipes: Step, serve: Callable[..., ServeProcess], home: Path
) -> None:
    served = serve("--data", str(home / "data"))
    token = discover.discover().token
    agent = SocketAgent(served.agents, token=token)
    agent.begin_query("a prompt")
    step = through_pipes()
    step.expect("Halted at 1, Agent → LLM:")
    step.sendline("n")
    assert agent.receive_answer() == "resume"
    quits(step)


@pytest.mark.slow
def test_a_jupyter_server_is_found(
    jupyter: Server, through_pipes: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in jupyter.jupyter.environment().items():
        if name.startswith("JUPYTER_"):
            monkeypatch.setenv(name, value)
    found = discover.discover()
    agent = SocketAgent(found.url, token=found.token)
    agent.begin_query("from Jupyter")
    step = through_pipes()
    step.expect("Halted at 1, Agent → LLM:")
    step.expect("from Jupyter")
    step.sendline("n")
    assert agent.receive_answer() == "resume"
    quits(step)


@pytest.mark.slow
def test_several_are_listed(serve: Callable[..., ServeProcess], home: Path) -> None:
    served = [serve("--data", str(home / name)) for name in ("one", "two")]
    step = run_python([*COMMAND, "step"])
    assert step.returncode == 1
    assert step.stderr.startswith("agentstepper step: Several AgentStepper Cores are running:")
    assert all(each.agents in step.stderr for each in served)
