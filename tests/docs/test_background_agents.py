"""`docs/guide/background-agents.md`: its programs run as they are printed, and its tables are whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import Struct

from agentstepper_nb.coding.moniker import CodingConfig
from agentstepper_nb.hub.runtime.service import CALLS
from agentstepper_nb.protocol.coding_settings import CodingSettings
from agentstepper_nb.protocol.runtime import ActionKind, AgentLimits
from agentstepper_nb.protocol.runtime_requests import CreateAgentPayload
from agentstepper_nb.runtime.client import AsyncAgents
from agentstepper_nb.runtime.monikers.joke import JokeConfig
from agentstepper_nb.runtime.monikers.llm import LlmConfig
from tests.docs.conftest import (
    Environment,
    ServeCommand,
    install,
    start_core,
    start_worker,
    stranger,
)
from tests.docs.pages import GUIDE, ROOT, blocks, prose, write_files
from tests.docs.programs import ForkedPrograms
from tests.helpers.serve_process import ServeProcess

PAGE = GUIDE / "background-agents.md"
#: The worker runs all sessions: a process for each imports for longer than a session takes.
SERVE = "agentstepper serve --client-port 0 --ui-port 0 --worker-isolation none"
#: Asks for the page's countdown, from what stands on the command line.
LAUNCH = """\
import json, sys
from agentstepper_nb import Agents

with Agents.connect() as agents:
    session = agents.create_agent("launch", "countdown", json.loads(sys.argv[1]))
    state = agents.wait_for(session, lambda state: state.status in ("done", "error"))
    print(state.status.value, state.last_error)
    print(*(step.text for step in agents.list_agent_steps(session)))
"""
#: Lets the page's listener read: something is said before it begins, and more after its first step.
LISTEN = """\
from agentstepper_nb import Agents

with Agents.connect() as agents:
    where = agents.create_conversation("A talk").conversation_id
    agents.post(where, "otters")
    session = agents.create_agent("ear", "listener", conversation_id=where, delivery="pull")
    agents.wait_for(session, iteration=1)
    agents.pause(session_id=session)
    agents.wait_for(session, status="paused")
    agents.post(where, "foxes")
    agents.post(where, "that is all")
    agents.resume(session_id=session)
    print(agents.wait_for(session, status="done").status.value)
    print(*(step.text for step in agents.list_agent_steps(session) if step.text), sep="\\n")
"""


class ServedPage(NamedTuple):
    """A Core that starts workers, and a reader's folder with the page's programs."""

    home: Path
    environment: Environment
    served: ServeProcess
    programs: ForkedPrograms

    def run(self, command: str) -> list[str]:
        """What a command prints, which ends well."""
        imported = "agentstepper_nb.runtime.client"
        done = self.programs.run(command, self.environment, self.home, imported)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()


@pytest.fixture(scope="module")
def page(
    tmp_path_factory: pytest.TempPathFactory, programs: ForkedPrograms
) -> Iterator[ServedPage]:
    home = tmp_path_factory.mktemp("home")
    write_files(PAGE, home)
    install(home)
    (points,) = home.glob("countdown-*.dist-info/entry_points.txt")
    (listener,) = re.findall(r'`(listener) = "(listener:Listener)"`', PAGE.read_text())
    points.write_text(f"{points.read_text()}{' = '.join(listener)}\n")
    environment = stranger(home, PYTHONPATH=f"{ROOT}:{home}")
    served = start_core(SERVE, environment)
    yield ServedPage(home, environment, served, programs)
    served.stop()


# ---- in Python -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_comedian(page: ServedPage) -> None:
    status, *steps = map(str.lower, page.run("python comedian.py"))
    assert status == "stopped"
    assert [int(step.split()[0]) for step in steps] == list(range(len(steps)))
    (guided,) = [number for number, step in enumerate(steps) if step.split()[1] == "foxes"]
    assert guided >= 2
    assert all("otters" in step for step in steps[:guided])
    assert all("foxes" in step for step in steps[guided:])


@pytest.mark.slow
def test_a_moniker_of_ones_own(page: ServedPage) -> None:
    (page.home / "launch.py").write_text(LAUNCH)
    assert page.run("""python launch.py '{"from": 3}'""") == ["done None", "3 2 1 0"]
    (error, _) = page.run("""python launch.py '{"from": "x"}'""")
    assert "`from` has to be a whole number." in error


def test_a_moniker_is_twenty_lines() -> None:
    (block,) = [block for block in blocks(PAGE) if block.name == "countdown.py"]
    assert len(block.lines) <= 20


@pytest.mark.slow
def test_a_moniker_that_reads(page: ServedPage) -> None:
    (page.home / "listen.py").write_text(LISTEN)
    assert page.run("python listen.py") == ["done", "otters", "foxes, that is all"]


@pytest.mark.slow
def test_the_meeting(page: ServedPage) -> None:
    assert page.run("python meeting.py") == ["agent system user"]


@pytest.mark.slow
def test_the_schedule(page: ServedPage) -> None:
    write_files(GUIDE / "operations.md", page.home)
    assert page.run("python schedule.py") == ["03:00", "stopped"]


@pytest.mark.slow
def test_the_watcher(page: ServedPage) -> None:
    lines = page.run("python watcher.py")
    numbers, events = zip(*(line.split()[:2] for line in lines), strict=True)
    first = int(numbers[0])
    assert list(map(int, numbers)) == list(range(first, first + len(lines)))
    assert events[0] == "begin"
    assert {"state", "step"} <= set(events)


def test_the_line(page: ServedPage) -> None:
    control = page.home / "jupyter" / "data" / "agentstepper" / "control-token"
    token = {"AGENTSTEPPER_CONTROL_TOKEN": control.read_text().strip()}
    page = page._replace(environment=page.environment | token)
    (first,) = page.run(f"python line.py {page.served.uis}/runtime sessions 1")
    assert re.fullmatch(r"\d+ begin", first)
    refused = page.programs.run(
        f"python line.py {page.served.uis}/runtime nothing 1",
        page.environment,
        page.home,
    )
    assert refused.returncode == 1
    assert "session:ID" in refused.stderr


@pytest.mark.slow
def test_a_worker_by_hand(home: Path, serve: ServeCommand, programs: ForkedPrograms) -> None:
    """The page's two terminals, and its first program in a third."""
    commands = [block.text.strip() for block in blocks(PAGE)]
    serving, working = "agentstepper serve --no-worker", "agentstepper worker"
    assert {serving, working} <= set(commands)
    write_files(PAGE, home)
    serve(serving)
    environment = stranger(home)
    with start_worker(f"{working} --isolation none", environment) as worker:
        done = programs.run("python comedian.py", environment, home)
        worker.terminate()
    assert (done.returncode, done.stdout.split()[0]) == (0, "stopped"), done.stderr
    assert worker.returncode == 0


# ---- the tables ------------------------------------------------------------------------------------


def test_every_method_is_named() -> None:
    text = PAGE.read_text()
    methods = {name for name in dir(AsyncAgents) if not name.startswith("_")} - {"close", "find"}
    assert {name for name in methods if not re.search(rf"\b{name}\b", text)} == set()


def test_every_limit_and_kind_is_named() -> None:
    text = prose(PAGE)
    words = {
        *AgentLimits.__struct_fields__,
        *CreateAgentPayload.__struct_fields__,
        *map(str, ActionKind),
    }
    assert {word for word in words if word not in text} == set()


@pytest.mark.parametrize("config", [JokeConfig, LlmConfig, CodingConfig])
def test_every_config_is_named(config: type[Struct]) -> None:
    text = prose(PAGE)
    # The coding agent's settings stand in one table, to which this page leads.
    elsewhere = CodingSettings.__struct_fields__ if issubclass(config, CodingSettings) else ()
    named = {name for name in config.__struct_fields__ if name not in elsewhere}
    assert {name for name in named if f"`{name}`" not in text} == set()


def test_what_clients_ask_the_line_is_named() -> None:
    text = prose(PAGE)
    asked = {
        name for name, call in CALLS.items() if call.right < max(c.right for c in CALLS.values())
    }
    assert {name for name in asked if f"`{name}`" not in text} == set()
