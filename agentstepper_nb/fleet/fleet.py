"""`Fleet`: workers and agents of a Core on a Dask cluster."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, get_args

import cloudpickle
from distributed import Client
from msgspec.structs import replace

from .. import discover
from ..breakpoints.breakpoint import Breakpoint
from ..breakpoints.core_request import send_request
from ..discover import CoreEndpoint
from ..errors import AgentStepperError, CommandError
from ..protocol.breakpoint_rules import BreakpointRule, DeleteBreakpoint, SetBreakpoint
from ..protocol.program_requests import DebuggerConfig
from ..protocol.runtime_methods import STATUS
from ..protocol.runtime_requests import GetRuntimeStatus, RuntimeStatus
from ..rpc.loop_thread import LoopThread
from ..rpc.service_client import ServiceClient
from ..sdk.base_stepper import InitialMode
from ..sdk.run_events import make_id
from .adaptation import ScaleBounds, ScaleDecision, scale_cluster
from .agent_jobs import KEY_PREFIX, AgentJob, MappedAgentsPlugin, get_outcome, run_agent_job
from .core_access import CoreAccess, RunningCore, find_core
from .mapped_agents import MappedAgent, MappedAgents, call_when_all_ended
from .worker_placement import WorkerPlacement

#: Seconds without a Core, or with nothing to do, after which a worker ends.
ORPHAN_TIMEOUT_S: Final = 600.0
#: Seconds between two looks at the queue, and that the Core has to answer one.
_ADAPT_INTERVAL_S: Final = 5.0
_STATUS_TIMEOUT_S: Final = 10.0

log = logging.getLogger("agentstepper_nb.fleet")


class Fleet:
    """Places workers of a Core on a Dask cluster, and runs agents of the debugger there.

    ::

        with LocalCluster(n_workers=4) as cluster, Fleet(cluster) as fleet:
            fleet.adapt(1, 16)
            agents = fleet.map(solve, tasks, breakpoints=["before tool submit"])
            print(agents.results())

    A worker process outlives its Dask worker where that is killed or loses its scheduler, and ends by
    itself once it has had no Core, or nothing to do, for `orphan_timeout_s`. Where a Dask worker
    retires, its worker hands its sessions over.

    The agent token and the worker token travel to the cluster's machines through Dask: give Dask TLS of
    its own (`distributed.Security`) on a network that isn't yours alone.

    Args:
        cluster_or_client: A Dask cluster of any kind, or a `Client` of one.
        core: The Core: an `AgentStepperCore`, or the address for agents of one elsewhere. None: the
            running one.
        node_url: Where the cluster's machines reach the Core, where that is another address.
        workers_per_node: Worker processes of a machine; None: one for each Dask worker; 0: none, for
            mapped agents alone.
        orphan_timeout_s: Seconds without a Core, or with nothing to do, after which a worker ends.
        worker_options: What else `agentstepper worker` is told: `("--data", "/scratch/agents")`.

    Attributes:
        name: The fleet's, by which Dask knows its plugin: the same for one Core and the same options.
        client: Dask's client.

    Raises:
        DiscoveryError: There is no Core, or its tokens aren't known here.
        ValueError: The client is asynchronous, or `workers_per_node` is below 0.
    """

    def __init__(
        self,
        cluster_or_client: Any,
        core: str | RunningCore | None = None,
        *,
        node_url: str | None = None,
        workers_per_node: int | None = None,
        orphan_timeout_s: float = ORPHAN_TIMEOUT_S,
        worker_options: Sequence[str] = (),
    ) -> None:
        if workers_per_node is not None and workers_per_node < 0:
            raise ValueError("workers_per_node must be at least 0.")
        self._has_workers = workers_per_node != 0
        own_url, tokens = find_core(core, needs_worker_token=self._has_workers)
        self._control = CoreEndpoint(own_url, tokens.control)
        node_url = discover.to_websocket_url(node_url or own_url)
        self._access = CoreAccess.make(node_url, tokens, own_url)
        options = ["--orphan-timeout", f"{orphan_timeout_s:g}", *worker_options]
        self.name = _make_name(node_url, options, workers_per_node)
        self._owns_client = not isinstance(cluster_or_client, Client)
        self.client = (
            Client(cluster_or_client, set_as_default=False)
            if self._owns_client
            else cluster_or_client
        )
        if self.client.asynchronous:
            raise ValueError(
                "The Dask client is asynchronous. Pass a cluster, or Client(…, asynchronous=False)."
            )
        self._agents: list[MappedAgent] = []
        self._tasks: dict[str, Any] = {}
        self._stop_adapting: Callable[[], None] = lambda: None
        self.client.register_plugin(MappedAgentsPlugin())
        if self._has_workers:
            self.client.register_plugin(
                WorkerPlacement(self.name, self._access, options, workers_per_node)
            )

    # ---- workers ------------------------------------------------------------------------------------

    def list_workers(self) -> list[dict[str, Any]]:
        """The worker processes that are there: host, process id, log file on that host."""
        described = self.client.run(partial(_describe_workers, self.name), on_error="ignore")
        found = (worker for workers in described.values() for worker in workers)
        return list({(each["host"], each["pid"]): each for each in found}.values())

    def adapt(
        self,
        minimum: int,
        maximum: int,
        *,
        sessions_per_worker: int = 50,
        agents_per_worker: int = 4,
        interval_s: float = _ADAPT_INTERVAL_S,
    ) -> None:
        """Scale the cluster by the Core's queue from now on, in place of what was said before.

        Args:
            minimum: Dask workers that there are at least.
            maximum: Dask workers that there are at most.
            sessions_per_worker: Background sessions for one Dask worker.
            agents_per_worker: Mapped agents for one Dask worker.
            interval_s: Seconds between two looks at the queue. A third look in a row that finds less to
                do lets Dask workers retire.

        Raises:
            ValueError: The bounds don't work, or this fleet knows no cluster that can be scaled.
            ConnectionLostError: The Core can't be reached.
        """
        bounds = ScaleBounds(minimum, maximum, sessions_per_worker, agents_per_worker)
        cluster = self.client.cluster
        if cluster is None or not hasattr(cluster, "scale"):
            raise ValueError(
                "This fleet has no cluster to scale: it was made with the client of a scheduler. "
                "Make it with the cluster."
            )
        self._stop_adapting()
        decision = ScaleDecision(len(self.client.nthreads()))
        stop = threading.Event()
        thread = threading.Thread(
            target=self._adapt,
            args=(cluster, bounds, decision, interval_s, stop),
            name="agentstepper-fleet-adapt",
            daemon=True,
        )

        def stop_adapting() -> None:
            stop.set()
            thread.join()

        self._stop_adapting = stop_adapting
        thread.start()

    def _adapt(
        self,
        cluster: Any,
        bounds: ScaleBounds,
        decision: ScaleDecision,
        interval_s: float,
        stop: threading.Event,
    ) -> None:
        while not stop.is_set():
            try:
                count = decision.decide(self._count_wanted(bounds))
                if count is not None:
                    log.info("the cluster is scaled to %d Dask workers", count)
                    scale_cluster(self.client, cluster, count)
                    decision.note_scaled(count)
            except Exception as error:
                log.warning(
                    "the cluster can't be scaled by the Core's queue, and stays as it is for %g "
                    "seconds, until the next try: %s",
                    interval_s,
                    error,
                    exc_info=not isinstance(error, OSError | AgentStepperError),
                )
            stop.wait(interval_s)

    def _request_status(self) -> RuntimeStatus:
        thread = LoopThread("agentstepper-fleet")
        try:
            return thread.run(self._ask_status)
        finally:
            thread.close()

    async def _ask_status(self) -> RuntimeStatus:
        url, token = self._control.url, self._control.token
        core = await ServiceClient.connect_runtime(url, token, _STATUS_TIMEOUT_S)
        try:
            return await core.call(STATUS, GetRuntimeStatus())
        finally:
            await core.close()

    # ---- mapped agents ------------------------------------------------------------------------------

    @property
    def lost(self) -> list[MappedAgent]:
        """The mapped agents whose process ended without a result: a person decides about them."""
        return [agent for agent in self._agents if agent.status == "lost"]

    def map(
        self,
        agent: Callable[..., Any],
        inputs: Iterable[Any],
        *,
        name: str | None = None,
        breakpoints: Sequence[str | Breakpoint] = (),
        workspace: str | Path | None = None,
        mode: str = "continue",
    ) -> MappedAgents:
        """Run an agent for each input, each in a process of its own and as a run of its own.

        The function is called with its input, and with `dbg=`, its AgentStepper, where it has such an
        argument. It may be a coroutine. Its LLM queries and tool calls halt as in any attached program.
        An agent is begun once: where its process or its Dask worker ends before it has a result, it is
        listed in `lost`, and not run again. A halted agent keeps its thread of the Dask worker.

        Args:
            agent: The agent; it travels by cloudpickle.
            inputs: The inputs.
            name: What the runs are called after; None: the function's name.
            breakpoints: Where these agents halt, and no others, in words or made; they are deleted when
                all agents have ended.
            workspace: A folder that each agent gets a copy of, to work in: `WORKSPACE-agents/…/INDEX`
                beside it, on a path that the cluster's machines share. Its changes stand in the run.
            mode: "continue": they halt at breakpoints. "step": they halt from their start on.

        Raises:
            ProtocolError: `invalid_stop`: a breakpoint isn't understood.
            ValueError: There is no such mode.
            NotADirectoryError: The workspace isn't a folder.
            TypeError: The agent or an input can't be pickled. Nothing is set or begun then.
            ConnectionError: The Core can't be reached.
        """
        if mode not in get_args(InitialMode):
            raise ValueError(f'{mode!r} isn\'t a mode. Choose "continue" or "step".')
        title = f"{name or getattr(agent, '__name__', 'agent')} {secrets.token_hex(3)}"
        folder = None if workspace is None else Path(workspace).resolve(strict=True)
        if folder is not None and not folder.is_dir():
            raise NotADirectoryError(f"The workspace {folder} isn't a folder.")
        agents = [
            MappedAgent(index, each, f"{title}.{index}", make_id())
            for index, each in enumerate(inputs)
        ]
        mapped = MappedAgents(agents)
        topic = f"agentstepper-{title.rpartition(' ')[2]}"
        access = dataclasses.replace(self._access, worker_token="")
        workspaces = None
        if folder is not None:
            workspaces = str(folder.parent / f"{folder.name}-agents" / title.replace("/", "_"))
        pickled = cloudpickle.dumps(agent)
        jobs = [
            AgentJob(
                index=each.index,
                program=each.program,
                run_id=each.run_id,
                agent=pickled,
                input=cloudpickle.dumps(each.input),
                mode=mode,
                access=access,
                topic=topic,
                workspace=None if folder is None else str(folder),
                workspaces=workspaces,
            )
            for each in agents
        ]
        rules = self._set_breakpoints(breakpoints, title)
        try:
            self.client.subscribe_topic(topic, partial(_record_start, mapped))
            self._submit(agents, jobs)
        except BaseException:
            self._delete_breakpoints(rules)
            raise
        self._agents += agents
        call_when_all_ended(agents, partial(self._delete_breakpoints, rules))
        return mapped

    def _submit(self, agents: Sequence[MappedAgent], jobs: Sequence[AgentJob]) -> None:
        """Submit all jobs in one message, in which they share the agent's function.

        As hundreds of messages they fill the connection's buffers on a busy machine, and Dask gives a
        connection up that takes nothing for 30 seconds, and all tasks of its client with it.
        """
        keys = [f"{KEY_PREFIX}{each.run_id}" for each in agents]
        tasks = (
            self.client.map(run_agent_job, jobs, key=keys, pure=False, retries=0) if jobs else []
        )
        for each, task in zip(agents, tasks, strict=True):
            self._tasks[each.run_id] = task  # Dask forgets a task that nobody refers to
            task.add_done_callback(partial(self._set_outcome, each))

    def _set_breakpoints(
        self, breakpoints: Sequence[str | Breakpoint], title: str
    ) -> list[BreakpointRule]:
        made = [each if isinstance(each, Breakpoint) else Breakpoint(each) for each in breakpoints]
        program = f"{glob.escape(title)}.*"
        rules = [replace(each.value, id=secrets.token_hex(6), program=program) for each in made]
        try:
            for rule in rules:
                send_request(SetBreakpoint(breakpoint=rule), DebuggerConfig, self._control)
        except BaseException:
            self._delete_breakpoints(rules)
            raise
        return rules

    def _delete_breakpoints(self, rules: Sequence[BreakpointRule]) -> None:
        for rule in rules:
            try:
                send_request(DeleteBreakpoint(breakpoint=rule.id), DebuggerConfig, self._control)
            except CommandError:
                pass  # a person has deleted it
            except (OSError, AgentStepperError) as error:
                log.warning("the breakpoint of mapped agents stays set: %s", error)

    def _set_outcome(self, agent: MappedAgent, task: Any) -> None:
        """A Dask task is over: give its agent what became of it."""
        self._tasks.pop(agent.run_id, None)
        try:
            outcome = get_outcome(task)
        except BaseException as error:  # it was never begun: no workspace, say
            agent.set_exception(error)
        else:
            agent.set_outcome(outcome)

    def _count_wanted(self, bounds: ScaleBounds) -> int:
        unfinished = [agent for agent in self._agents if not agent.done()]
        busy = {agent.dask_worker for agent in unfinished if agent.dask_worker is not None}
        return bounds.count_wanted(self._request_status(), len(unfinished), len(busy))

    # ---- the end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let the workers hand over their sessions and end; the cluster stays. Idempotent.

        Mapped agents go on as long as the Dask client is there.
        """
        self._stop_adapting()
        self._stop_adapting = lambda: None
        if self.client.status == "running":
            with suppress(ValueError):  # another fleet of this name has taken it away
                self.client.unregister_worker_plugin(self.name)
            if self._owns_client:
                self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_name(url: str, options: Sequence[str], workers_per_node: int | None) -> str:
    text = repr((url, list(options), workers_per_node))
    return f"agentstepper-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _describe_workers(name: str, dask_worker: Any) -> list[dict[str, Any]]:
    """Run on a Dask worker: what its placement says."""
    placement: WorkerPlacement | None = dask_worker.plugins.get(name)
    return [] if placement is None else placement.describe()


def _record_start(agents: MappedAgents, event: tuple[float, dict[str, Any]]) -> None:
    """Dask tells that an agent's process was started."""
    _, told = event
    agent: MappedAgent = agents[told["index"]]
    agent.workspace, agent.dask_worker = told["workspace"], told["dask_worker"]
    agent.host = told["host"]
