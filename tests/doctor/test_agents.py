"""What the doctor says of background agents, asked of real Cores."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import Agents, discover
from agentstepper_nb.doctor import examine_store
from agentstepper_nb.doctor.agent_facts import collect_agent_facts
from agentstepper_nb.doctor.agent_findings import make_agent_findings
from agentstepper_nb.doctor.fact_collection import collect_facts
from agentstepper_nb.doctor.facts import BackgroundAgentFacts as Facts
from agentstepper_nb.doctor.findings import FindingStatus, format_findings
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.routes import OfferedMoniker, WorkerOffer
from agentstepper_nb.protocol.runtime_requests import SubscribeWakes
from tests.helpers.core_announcement import announce_core
from tests.runtime.manual_worker import ManualWorker
from tests.sdk.scripted_core import ScriptedCore

Start = Callable[..., AgentStepperCore]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is looked at."""
    for name in ("DATA", "RUNTIME", "CONFIG"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    for name in ("URL", "TOKEN", "NAME", "CONTROL_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    return tmp_path


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a Core that starts no worker, and announces it."""
    with contextlib.ExitStack() as stack:

        def started(**options: Any) -> AgentStepperCore:
            given = {"data": home / "kept"} | options
            core = stack.enter_context(AgentStepperCore("127.0.0.1", 0, None, **given))
            announce_core(core)
            return core

        yield started


def found() -> Facts:
    """What is gathered of the one Core that runs."""
    (core,) = collect_facts().cores
    assert core.agents is not None
    return core.agents


def describe_findings(facts: Facts) -> list[tuple[FindingStatus, str]]:
    return [
        (each.status, f"{each.text} {each.advice}")
        for each in make_agent_findings(facts, "ws://here")
    ]


def test_a_core_without_agents(start: Start, home: Path) -> None:
    start()
    facts = found()
    file = home / "kept" / "runtime.sqlite"
    assert facts == Facts("sqlite", str(file), size_bytes=facts.size_bytes)
    assert facts.size_bytes >= file.stat().st_size > 0
    kept, work = describe_findings(facts)
    assert kept[0] is work[0] is FindingStatus.OK
    assert f"are stored in {file} (sqlite, 0." in kept[1]
    assert "No background agent at" in work[1]
    assert format_findings(list(make_agent_findings(facts, "here"))).endswith("Nothing is wrong.")
    assert "agents" not in {finding.subject for finding in examine_store(file.parent)}


def test_agents_that_wait_and_a_worker_that_comes(start: Start) -> None:
    core = start(control_token="secret")
    with Agents.connect(core.url(core.client_port), "secret") as program:
        session = program.create_agent("a", "joke")
        program.send_input("cats", session_id=session)
    facts = found()
    assert (facts.live_sessions, facts.open_actions, facts.workers) == (1, 2, 0)
    (_, (sign, text)) = describe_findings(facts)
    assert sign is FindingStatus.PROBLEM
    assert "wait for a worker, and none is connected" in text
    assert "or run `agentstepper worker`" in text

    manual_worker = ManualWorker(core)
    wakes: list[Any] = []

    async def listen(runtime: Any) -> None:
        wakes.append(runtime.wakes(SubscribeWakes(owner="one")))
        await anext(wakes[0])

    manual_worker.call_runtime(listen)
    facts = found()
    assert (facts.live_sessions, facts.open_actions, facts.workers) == (1, 2, 1)
    assert describe_findings(facts)[1] == (
        FindingStatus.OK,
        "At ws://here: 1 worker for 1 session and 2 actions. ",
    )
    manual_worker.call_runtime(lambda runtime: wakes[0].aclose())
    assert found().workers == 0
    assert "secret" not in repr(collect_facts())


def test_sessions_that_no_worker_fits(start: Start) -> None:
    core = start(control_token="secret")
    with Agents.connect(core.url(core.client_port), "secret") as program:
        for _ in range(2):
            program.create_agent("a", "joke", requires="gpu")
        program.create_agent("a", "jok")
    offer = WorkerOffer(monikers=(OfferedMoniker(name="joke"),))

    wakes: list[Any] = []

    async def listen(runtime: Any) -> None:
        wakes.append(runtime.wakes(SubscribeWakes(owner="one", offer=offer)))
        await anext(wakes[0])

    assert found().waiting == ((2, "no worker is connected"), (1, "no worker is connected"))
    assert len(describe_findings(found())) == 2  # that there is no worker says it all
    ManualWorker(core).call_runtime(listen)
    facts = found()
    (gpu, misspelt) = describe_findings(facts)[2:]
    assert gpu[0] is misspelt[0] is FindingStatus.PROBLEM
    assert "2 sessions at ws://here wait: no worker with the moniker 'joke' has" in gpu[1]
    assert "1 session at ws://here waits: the moniker 'jok' isn't installed in" in misspelt[1]


def test_agents_whose_time_has_not_come_wait_for_no_worker(start: Start) -> None:
    core = start()
    with Agents.connect(core.url(core.client_port)) as agents:
        agents.create_agent("nightly", "joke", not_before=4e9)
    facts = found()
    assert (facts.live_sessions, facts.open_actions, facts.workers) == (0, 0, 0)
    assert "wait for a worker" not in format_findings(make_agent_findings(facts, "ws://here"))


def test_a_file_that_was_put_aside(start: Start, home: Path) -> None:
    (home / "kept").mkdir()
    (home / "kept" / "runtime.sqlite").write_bytes(b"no database" * 500)
    start()
    facts = found()
    (aside,) = facts.set_aside_files
    assert Path(aside).read_bytes().startswith(b"no database")
    *_, (sign, text) = describe_findings(facts)
    assert sign is FindingStatus.PROBLEM
    assert f"{aside} couldn't be read, so the Core began a new file" in text
    assert f"`sqlite3 {aside} .recover`" in text
    (finding,) = (each for each in examine_store(home / "kept") if each.subject == "damaged agents")
    assert aside in finding.text


def test_a_file_that_is_damaged_inside(start: Start, home: Path) -> None:
    file = home / "kept" / "runtime.sqlite"
    with AgentStepperCore("127.0.0.1", 0, None, data=home / "kept"):
        pass
    with contextlib.closing(sqlite3.connect(file)) as connection:
        ((size,),) = connection.execute("PRAGMA page_size")
        pages = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'agent_state' AND rootpage"
        ).fetchall()
    whole = bytearray(file.read_bytes())
    for (page,) in pages:
        whole[(page - 1) * size : page * size] = b"\xff" * size
    file.write_bytes(whole)
    (finding,) = (each for each in examine_store(home / "kept") if each.subject == "agents")
    assert finding.status is FindingStatus.PROBLEM
    assert "The file of background agents is damaged: " in finding.text
    assert f"Stop the Core, and move {file} away" in finding.advice
    start()
    ((sign, text),) = describe_findings(found())
    assert sign is FindingStatus.PROBLEM
    assert f"{file} is damaged: " in text
    assert "Stop the Core and move the file away, so that a new file begins;" in text


def test_agents_in_memory(start: Start) -> None:
    start(data=None)
    (sign, text), _ = describe_findings(found())
    assert (sign, "are in memory only, and are lost when that Core ends." in text) == (
        FindingStatus.NOTE,
        True,
    )


def test_a_core_that_takes_agents_and_no_clients() -> None:
    """Its token isn't the right one, say; the rest of the doctor goes on."""
    with ScriptedCore(token="right") as core:
        told = discover.CoreInfo(1, core.url, tokens=discover.CoreTokens("right", "wrong"))
        facts = collect_agent_facts(told)
    assert "(401)" in facts.problem
    ((sign, text),) = describe_findings(facts)
    assert (sign, "background agents: The server at" in text) == (FindingStatus.NOTE, True)


def test_a_core_that_takes_no_workers_is_not_asked() -> None:
    with ScriptedCore() as core:
        discover.write_core_info(url=core.url, data_dir=None)
        (found,) = collect_facts().cores
    assert (found.problem, found.agents) == ("", None)
