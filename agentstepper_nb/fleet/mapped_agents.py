"""What a person has of agents that run on the cluster: a future each, and a list of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from typing import Any

import cloudpickle

from ..errors import AgentStepperError
from .agent_outcome import AgentOutcome


class LostAgentError(AgentStepperError, RuntimeError):
    """A mapped agent's process ended without a result. It isn't run again: a person decides.

    Args:
        program: The agent's program name.
        run_id: Its run in the debugger.
        why: How it was lost, for a person.
    """

    def __init__(self, program: str, run_id: str, why: str) -> None:
        super().__init__(
            f"The agent {program} was lost: {why}. Look at its run {run_id} in the debugger, and "
            "map its input again if it may run a second time."
        )
        self.run_id = run_id


class UnreadableResultError(AgentStepperError, RuntimeError):
    """What a mapped agent returned or raised can't be read in this process; the cause says why.

    Args:
        program: The agent's program name.
        run_id: Its run in the debugger.
        verb: What it did: "returned" or "raised".
        pickled: What can't be read, by cloudpickle.
        cause: What was raised in reading it.

    Attributes:
        pickled: The same, for another try.
    """

    def __init__(
        self, program: str, run_id: str, verb: str, pickled: bytes, cause: BaseException
    ) -> None:
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        needed = (
            f"the module {missing}" if missing else "the modules of the agent, in its versions,"
        )
        super().__init__(
            f"What the agent {program} {verb} can't be read here: {type(cause).__name__}: {cause}. "
            f"Install {needed} in this Python and call cloudpickle.loads(error.pickled), or look at its "
            f"run {run_id} in the debugger."
        )
        self.run_id = run_id
        self.pickled = pickled


class MappedAgent(Future[Any]):
    """One agent on the cluster: a future of what it returns.

    Made by `Fleet.map`. `result()` raises what the agent raised, `AgentStopped` where a person stopped
    it, `LostAgentError` where its process ended without a result, and `UnreadableResultError` where
    what it returned or raised can't be read here.

    Args:
        index: The number of its input.
        input: Its input.
        program: What its run is called after.
        run_id: The id of its run.

    Attributes:
        host: The machine that it runs on, once it does.
        workspace: Its own folder there, once it runs; None where it has none.
        dask_worker: The address of the Dask worker that it runs at, once it does.
    """

    def __init__(self, index: int, input: Any, program: str, run_id: str) -> None:
        super().__init__()
        self.set_running_or_notify_cancel()  # nothing here can cancel it: a person stops its run
        self.index = index
        self.input = input
        self.program = program
        self.run_id = run_id
        self.host: str | None = None
        self.workspace: str | None = None
        self.dask_worker: str | None = None

    @property
    def status(self) -> str:
        """`waiting`, `running`, `done`, `failed` or `lost`."""
        if not self.done():
            return "running" if self.host is not None else "waiting"
        error = self.exception()
        if error is None:
            return "done"
        return "lost" if isinstance(error, LostAgentError) else "failed"

    def set_outcome(self, outcome: AgentOutcome) -> None:
        """The agent has ended, or is lost.

        Args:
            outcome: What became of it.
        """
        try:
            if outcome.lost is not None:
                self.set_exception(LostAgentError(self.program, self.run_id, outcome.lost))
            elif outcome.error is not None:
                self.set_exception(self._load("raised", outcome.error))
            else:
                self.set_result(
                    None if outcome.value is None else self._load("returned", outcome.value)
                )
        except UnreadableResultError as error:
            self.set_exception(error)

    def _load(self, verb: str, pickled: bytes) -> Any:
        try:
            return cloudpickle.loads(pickled)
        except BaseException as error:  # also a module that exits: somebody waits for this future
            raise UnreadableResultError(self.program, self.run_id, verb, pickled, error) from error

    def __repr__(self) -> str:
        return f"<MappedAgent {self.program!r}, {self.status}, run {self.run_id}>"


class MappedAgents(Sequence[MappedAgent]):
    """The agents of one `Fleet.map`, in the order of their inputs.

    Args:
        agents: The agents.
    """

    def __init__(self, agents: Sequence[MappedAgent]) -> None:
        self._agents = tuple(agents)

    def __getitem__(self, index: Any) -> Any:
        return self._agents[index]

    def __len__(self) -> int:
        return len(self._agents)

    def __repr__(self) -> str:
        statuses = [agent.status for agent in self]
        counts = ", ".join(f"{statuses.count(each)} {each}" for each in dict.fromkeys(statuses))
        return f"<MappedAgents: {counts}>"

    @property
    def lost(self) -> list[MappedAgent]:
        """Those whose process ended without a result."""
        return [agent for agent in self if agent.status == "lost"]

    def results(self, timeout_s: float | None = None) -> list[Any]:
        """What each has returned, once all have.

        Args:
            timeout_s: Seconds to wait for all of them; None: as long as it takes.

        Raises:
            TimeoutError: Some haven't ended.
            Exception: What the first that failed or was lost raised.
        """
        self.wait(timeout_s)
        return [agent.result(0) for agent in self]

    def wait(self, timeout_s: float | None = None) -> list[MappedAgent]:
        """Wait until all have ended; gives those that have.

        Args:
            timeout_s: Seconds to wait; None: as long as it takes.
        """
        wait(self._agents, timeout_s)
        return [agent for agent in self if agent.done()]

    def wait_any(self, timeout_s: float | None = None) -> list[MappedAgent]:
        """Wait until one has ended; gives those that have. Arguments as `wait`."""
        wait(self._agents, timeout_s, FIRST_COMPLETED)
        return [agent for agent in self if agent.done()]

    def as_completed(self, timeout_s: float | None = None) -> Iterator[MappedAgent]:
        """Each as it ends. Arguments and errors as `results`."""
        for agent in as_completed(self._agents, timeout_s):
            assert isinstance(agent, MappedAgent)
            yield agent


def call_when_all_ended(agents: Sequence[MappedAgent], on_end: Callable[[], None]) -> None:
    """Call a function, on a thread of its own, once agents have ended.

    Args:
        agents: The agents; where there are none, the function is called here.
        on_end: The function.
    """
    lock, left = threading.Lock(), len(agents)

    def count(_: object) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = not left
        if is_last:
            threading.Thread(target=on_end, name="agentstepper-fleet-end").start()

    for agent in agents:
        agent.add_done_callback(count)
    if not agents:
        on_end()
