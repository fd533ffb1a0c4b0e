"""Agents of the debugger on a Dask cluster: each a run, begun once."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from distributed import Client, LocalCluster

import agentstepper_nb.fleet as fleet_package
from agentstepper_nb import discover
from agentstepper_nb.errors import AgentStopped, DiscoveryError, ProtocolError
from agentstepper_nb.fleet import Fleet, LostAgentError, MappedAgent
from agentstepper_nb.fleet.core_access import CoreAccess
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.data_model import Run
from tests.fleet.conftest import OPTIONS, PAUSE, start_cluster
from tests.helpers.certificates import CertificateAuthority
from tests.helpers.sampling import select_sample
from tests.worker.processes import gone

# Each starts a cluster: ten processes that import Dask, or us.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]


class SharedFleet(NamedTuple):
    """What the tests of this file share: Dask takes seconds to start."""

    core: AgentStepperCore
    cluster: LocalCluster
    fleet: Fleet
    folder: Path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedFleet]:
    with pytest.MonkeyPatch.context() as patch, AgentStepperCore("127.0.0.1", 0, 0) as core:
        folder = tmp_path_factory.mktemp("fleet")
        patch.setenv("TMPDIR", str(folder))
        with start_cluster() as cluster, Fleet(cluster, core, worker_options=OPTIONS) as fleet:
            yield SharedFleet(core, cluster, fleet, folder)


@pytest.fixture(autouse=True)
def same_folder(home: Path, shared: SharedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Dask worker that is started again looks for its worker where the one before had it."""
    monkeypatch.setenv("TMPDIR", str(shared.folder))


@pytest.fixture
def core(shared: SharedFleet) -> AgentStepperCore:
    return shared.core


@pytest.fixture
def cluster(shared: SharedFleet) -> LocalCluster:
    return shared.cluster


@pytest.fixture
def fleet(shared: SharedFleet) -> Iterator[Fleet]:
    """The fleet, without a trace of the test before."""
    yield shared.fleet
    shared.fleet._agents.clear()
    while run_on_core(shared.core, lambda: shared.core.hub.debugger.breakpoints):
        time.sleep(PAUSE)


def run_on_core(core: AgentStepperCore, call: Callable[[], Any]) -> Any:
    """Call something on the Core's loop."""

    async def calling() -> Any:
        found = call()
        return await found if asyncio.iscoroutine(found) else found

    return asyncio.run_coroutine_threadsafe(calling(), core.loop).result()


def find_run(core: AgentStepperCore, agent: MappedAgent) -> Run:
    found: Run = run_on_core(core, lambda: core.hub.run(agent.run_id))
    return found


def wait_for_halts(core: AgentStepperCore, count: int) -> set[str]:
    """The runs that are halted, once there are so many."""
    while len(halted := set(run_on_core(core, lambda: core.hub.debugger.halted_runs))) < count:
        time.sleep(PAUSE)
    return halted


def double(number: int, dbg: Any) -> int:
    """An agent that calls a tool."""
    with dbg.tool("double", {"n": number}) as tool:
        tool.result = 2 * tool.args["n"]
    result: int = tool.result
    return result


async def double_async(number: int, dbg: Any) -> int:
    """The same as a coroutine."""
    async with dbg.tool("double", {"n": number}) as tool:
        tool.result = 2 * tool.args["n"]
    result: int = tool.result
    return result


@pytest.mark.parametrize("count", select_sample((20, 8), 8))
def test_agents_three_of_which_halt(count: int, fleet: Fleet, core: AgentStepperCore) -> None:
    agents = fleet.map(
        double, range(count), breakpoints=["before tool double where args.n in [1, 3, 5]"]
    )
    halted = wait_for_halts(core, 3)
    assert halted == {agents[n].run_id for n in (1, 3, 5)}
    done = [agent for agent in agents if agent.run_id not in halted]
    assert [agent.result(60) for agent in done] == [2 * agent.input for agent in done]
    assert repr(agents) == f"<MappedAgents: {count - 3} done, 3 running>"
    (rule,) = run_on_core(core, lambda: core.hub.debugger.breakpoints)
    for agent in (agents[1], agents[3]):
        run_on_core(core, lambda id=agent.run_id: core.continue_execution(id))
        assert agent.result(60) == 2 * agent.input
    edited = {"Tool": "double", "Argument": {"n": 100}}
    run_on_core(core, lambda: core.step_over(edited, agents[5].run_id))
    run_on_core(core, lambda: core.continue_execution(agents[5].run_id))
    assert agents[5].result(60) == 200
    assert agents.results(60)[:3] == [0, 2, 4]
    assert fleet.lost == agents.lost == []
    runs = [find_run(core, agent) for agent in agents]
    assert [run.program for run in runs] == [agent.program for agent in agents]
    assert {run.ending for run in runs} == {"finished"}
    while run_on_core(core, lambda: core.hub.debugger.breakpoints):
        time.sleep(PAUSE)  # the rule goes with the last agent
    assert rule.program.startswith("double ")


def test_breakpoints_are_for_these_agents_alone(fleet: Fleet, core: AgentStepperCore) -> None:
    with pytest.raises(ProtocolError, match="isn't understood"):
        fleet.map(double, [1], breakpoints=["nonsense"])
    with pytest.raises(ProtocolError, match="The condition can't be read"):
        fleet.map(double, [1], breakpoints=["before llm", "any where )"])
    assert run_on_core(core, lambda: core.hub.debugger.breakpoints) == ()
    with pytest.raises(ValueError, match="'fast' isn't a mode"):
        fleet.map(double, [1], mode="fast")
    halting = fleet.map(double, [1], name="a [b]*", breakpoints=["before tool double"])
    wait_for_halts(core, 1)
    assert fleet.map(double, [2], name="a b").results(60) == [4]
    run_on_core(core, lambda: core.continue_execution(halting[0].run_id))
    assert halting.results(60) == [2]


def test_coroutines_and_what_agents_raise(fleet: Fleet, core: AgentStepperCore) -> None:
    assert fleet.map(double_async, [1, 2]).results(60) == [2, 4]

    def fail(number: int) -> None:
        if number == 0:
            raise KeyError("nothing")
        raise SystemExit(number)

    failed = fleet.map(fail, [0, 3])
    assert len(failed.wait(60)) == 2
    assert [agent.status for agent in failed] == ["failed", "failed"]
    with pytest.raises(KeyError, match="nothing"):
        failed[0].result()
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        failed[1].result()
    assert find_run(core, failed[0]).ending == "crashed"


def test_a_stopped_agent(fleet: Fleet, core: AgentStepperCore) -> None:
    agents = fleet.map(double, [1], mode="step")
    wait_for_halts(core, 1)
    assert not agents[0].cancel()  # that stops no process
    run_on_core(
        core, lambda: core.hub.perform(core.hub.commands.stop(agents[0].run_id, core.hub.clock()))
    )
    with pytest.raises(AgentStopped):
        agents[0].result(60)
    assert find_run(core, agents[0]).ending == "stopped"


def test_agents_reach_a_core_by_tls(
    home: Path, cluster: LocalCluster, new_fleet: Callable[..., Fleet]
) -> None:
    certificate = CertificateAuthority(home).sign("core", "DNS:core.example")
    with AgentStepperCore("127.0.0.1", 0, 0, **certificate._asdict()) as core:
        fleet = new_fleet(cluster, core)
        assert fleet.map(double, [1]).results(60) == [2]
        fleet.close()


def test_each_has_a_workspace_of_its_own(home: Path, fleet: Fleet, core: AgentStepperCore) -> None:
    workspace = home / "work"
    workspace.mkdir()
    (workspace / "notes.txt").write_text("begin\n")

    def write(number: int, dbg: Any) -> str:
        with dbg.tool("write", {}) as tool:
            with open("notes.txt", "a") as file:
                file.write(f"{number}\n")
            tool.result = None
        return os.getcwd()

    agents = fleet.map(write, [1, 2], workspace=workspace)
    folders = agents.results(60)
    assert (workspace / "notes.txt").read_text() == "begin\n"
    assert folders == [agent.workspace for agent in agents]
    assert [Path(each, "notes.txt").read_text() for each in folders] == ["begin\n1\n", "begin\n2\n"]
    for agent in agents:
        run = find_run(core, agent)
        assert run.workspace == agent.workspace
        assert run.commits == 1
    with pytest.raises(NotADirectoryError, match="isn't a folder"):
        fleet.map(write, [1], workspace=workspace / "notes.txt")


def test_a_killed_agent_is_listed_and_not_run_again(
    home: Path, fleet: Fleet, core: AgentStepperCore
) -> None:
    def die(number: int) -> int:
        with open(home / "begun", "a") as file:
            file.write(f"{number}\n")
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    agents = fleet.map(die, [0, 1, 2])
    agents.wait(60)
    assert [agent.status for agent in agents] == ["done", "lost", "done"]
    assert fleet.lost == agents.lost == [agents[1]]
    with pytest.raises(LostAgentError, match="its process was killed by signal 9"):
        agents[1].result()
    with pytest.raises(LostAgentError, match=f"Look at its run {agents[1].run_id}"):
        agents.results(60)
    assert sorted((home / "begun").read_text().split()) == ["0", "1", "2"]
    while (run := find_run(core, agents[1])).live:
        time.sleep(PAUSE)
    assert run.ending in ("crashed", "lost")


def test_an_agent_whose_dask_worker_is_killed_is_not_run_again(
    home: Path, fleet: Fleet, core: AgentStepperCore
) -> None:
    def wait(number: int, dbg: Any) -> None:
        with open(home / "begun", "a") as file:
            file.write(f"{number} {os.getpid()}\n")
        with dbg.tool("wait", {}) as tool:
            tool.result = None

    agents = fleet.map(wait, range(4), breakpoints=["before tool wait"])
    wait_for_halts(core, 4)
    killed, *_ = fleet.client.run(os.getpid).values()
    begun = [line.split() for line in (home / "begun").read_text().splitlines()]
    os.kill(killed, signal.SIGKILL)
    lost = agents.wait_any(60)
    while len(fleet.client.nthreads()) < 2:
        time.sleep(PAUSE)
    fleet.client.run(os.getpid)  # whoever could run one again is there
    for agent in (agent for agent in agents if not agent.done()):
        run_on_core(core, lambda id=agent.run_id: core.continue_execution(id))
    agents.wait(60)
    assert fleet.lost == agents.lost
    assert set(lost) <= set(fleet.lost)
    for agent in fleet.lost:
        with pytest.raises(LostAgentError, match="its Dask worker ended"):
            agent.result()
        (pid,) = (int(pid) for number, pid in begun if int(number) == agent.index)
        assert gone(pid)  # nobody could take its result
    assert [line.split() for line in (home / "begun").read_text().splitlines()] == begun
    while any(find_run(core, agent).live for agent in agents):
        time.sleep(PAUSE)


def test_the_function_of_all_agents_travels_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fills the connection for long on a busy machine costs all tasks: Dask gives it up."""
    sent: list[int] = []
    submit_all = fleet.client.map

    def weigh(function: Any, jobs: list[Any], **options: Any) -> Any:
        sent.append(len(pickle.dumps(jobs)))
        return submit_all(function, jobs, **options)

    monkeypatch.setattr(fleet.client, "map", weigh)
    text = os.urandom(100_000)

    def measure(number: int) -> int:
        return len(text) + number

    assert fleet.map(measure, range(4)).results(60) == [100_000 + number for number in range(4)]
    assert fleet.map(measure, []).results(1) == []
    assert len(sent) == 1
    assert sent[0] < 110_000


def test_the_core_refuses_an_agent_that_was_begun_before(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where Dask would run its task again after all: as for a result that a Dask worker lost."""
    from agentstepper_nb.fleet import agent_jobs

    jobs: list[agent_jobs.AgentJob] = []
    submit_all = fleet.client.map

    def keep(function: Any, given: list[agent_jobs.AgentJob], **options: Any) -> Any:
        jobs.extend(given)
        return submit_all(function, given, **options)

    monkeypatch.setattr(fleet.client, "map", keep)
    assert fleet.map(double, [1]).results(60) == [2]
    outcome = fleet.client.submit(agent_jobs.run_agent_job, jobs[0], pure=False).result(60)
    assert outcome.lost == "it was begun before, at a Dask worker that is gone"


def test_logs_show_no_tokens(fleet: Fleet, core: AgentStepperCore) -> None:
    access = CoreAccess.make("ws://127.0.0.1:8765", core.tokens, core.url(core.client_port))
    assert not any(token in repr(access) for token in core.tokens)

    def show_environment(number: int) -> dict[str, str]:
        return dict(os.environ)

    (seen,) = fleet.map(show_environment, [1]).results(60)
    assert seen["AGENTSTEPPER_TOKEN"] == core.tokens.agent
    assert not {core.tokens.worker, core.tokens.control} & set(seen.values())


def test_authorities_travel_whatever_comments_their_file_has(
    home: Path, core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = CertificateAuthority(home)
    content = b"# \xe9, \xc3\xa9\n" + authority.file.read_bytes()
    authority.file.write_bytes(content)
    monkeypatch.setenv(discover.CA_FILE_VARIABLE, str(authority.file))
    access = CoreAccess.make("wss://core.example:8765", core.tokens, core.url(core.client_port))
    folder = home / "job"
    folder.mkdir()
    written = access.make_agent_environment(folder)[discover.CA_FILE_VARIABLE]
    assert Path(written).parent == folder
    assert Path(written).read_bytes() == content
    assert discover.read_first_certificate(Path(written)) in content.decode(errors="replace")


def test_a_loopback_address_is_refused_on_another_machine(core: AgentStepperCore) -> None:
    access = CoreAccess.make("ws://127.0.0.1:8765", core.tokens, core.url(core.client_port))
    access.check_reachable()
    elsewhere = CoreAccess(**{**vars(access), "origin": "another.example"})
    with pytest.raises(
        DiscoveryError, match=r"can't be reached from .*pass its address as node_url"
    ):
        elsewhere.check_reachable()
    CoreAccess(**{**vars(elsewhere), "url": "ws://core.example:8765"}).check_reachable()


def test_a_fleet_needs_a_core_and_its_tokens(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DiscoveryError, match="No AgentStepper Core is running"):
        Fleet(cluster)
    with pytest.raises(DiscoveryError, match=r"The control token of the Core .* isn't known here"):
        Fleet(cluster, "ws://127.0.0.1:1")
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        with pytest.raises(ValueError, match="workers_per_node"):
            Fleet(cluster, core, workers_per_node=-1)
        with Fleet(cluster, core.url(core.client_port)) as fleet:
            assert fleet.map(double, [1]).results(60) == [2]
        # Of a Core elsewhere the environment tells all.
        discover.remove_process_core(core.url(core.client_port))
        environment = {"URL": core.url(core.client_port), "TOKEN": core.tokens.agent}
        environment |= {"CONTROL_TOKEN": core.tokens.control, "WORKER_TOKEN": core.tokens.worker}
        for name, value in environment.items():
            monkeypatch.setenv(f"AGENTSTEPPER_{name}", value)
        with monkeypatch.context() as patch:
            patch.delenv("AGENTSTEPPER_WORKER_TOKEN")
            with pytest.raises(DiscoveryError, match="The worker token of the Core"):
                Fleet(cluster)
            with Fleet(
                cluster, workers_per_node=0
            ) as fleet:  # starts none, and needs no such token
                assert fleet.map(double, [1]).results(60) == [2]
                assert fleet.list_workers() == []
        with Fleet(cluster) as fleet:
            agents = fleet.map(double, [1], breakpoints=["before tool other"])
            assert agents.results(60) == [2]
        assert os.environ["AGENTSTEPPER_WORKER_TOKEN"] == core.tokens.worker


def test_an_agents_process_loads_no_dask() -> None:
    program = "import sys, agentstepper_nb.fleet.agent_process; print('distributed' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout == b"False\n"


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agentstepper_nb.fleet.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'agentstepper_nb\[dask\]'"):
        fleet_package.Fleet  # noqa: B018


async def test_an_asynchronous_client_is_refused(
    cluster: LocalCluster, core: AgentStepperCore
) -> None:
    async with Client(cluster.scheduler_address, asynchronous=True) as client:
        with pytest.raises(ValueError, match="The Dask client is asynchronous"):
            Fleet(client, core)
