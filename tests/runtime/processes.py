"""A Core, its workers and a client, as processes that a test kills."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct

from agentstepper_nb import discover
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime import Action, ActionKind, AgentState, AgentStep
from agentstepper_nb.protocol.runtime_requests import (
    SERVICE,
    ActionEnqueued,
    NewAction,
    TopicEvent,
    WatchTopic,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    MAX_LIMIT,
    ActionList,
    ActionQuery,
    AgentStateList,
    AgentStepList,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller, maintain_connection
from tests.helpers.forked_python import start_python
from tests.helpers.ports import find_ports
from tests.helpers.serve_process import ServeProcess
from tests.runtime.queues import LOG

#: Seconds of a worker's lease, and of its poll: short, so that a killed one is missed soon.
LEASE: Final = "1"
POLL: Final = "0.1"

Answer = TypeVar("Answer")


class CoreProcesses:
    """Where a Core lives, and dies, and lives again: the same folder, ports and tokens.

    Args:
        folder: For all that it keeps.
        options: What `agentstepper serve` is told besides.
    """

    #: Whether the Core is forked from a process with its imports.
    _is_forked = True

    def __init__(self, folder: Path, options: Sequence[str] = ("--no-worker",)) -> None:
        self.data = folder / "data"
        self.token, self.control = secrets.token_hex(16), secrets.token_hex(16)
        self.agents = ""
        self._options = options
        self._ports = [str(port) for port in find_ports(2)]

    @contextmanager
    def core(self) -> Iterator[subprocess.Popen[str]]:
        """Start it; at the end it is killed."""
        agents, uis = self._ports
        served = ServeProcess(
            [
                *(sys.executable, "-m", "agentstepper_nb", "serve", "--data", str(self.data)),
                *("--client-port", agents, "--ui-port", uis),
                *("--worker-token", self.token, "--control-token", self.control),
                *("--log-level", "warning", *self._options),
            ],
            is_forked=self._is_forked,
        )
        self.agents = served.agents
        with killed_at_end(served.process):
            yield served.process

    @contextmanager
    def worker(self, *command: str, options: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
        """Start one; at the end it is killed.

        Args:
            command: What is started in place of `agentstepper worker`.
            options: What it is told besides.
        """
        own = "agentstepper_nb", "worker", "--log-level", "warning", "--data", str(self.data)
        process = start_python(
            [
                *(sys.executable, "-m", *(command or own)),
                *("--url", self.agents, "--token", self.token, "--lease", LEASE, "--poll", POLL),
                *options,
            ],
            env=os.environ | {discover.URL_VARIABLE: self.agents},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with killed_at_end(process):
            yield process

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[RuntimeClient, None]:
        """Somebody who asks, whatever dies."""
        caller = ReconnectingCaller()
        find = partial(discover.find_runtime_endpoint, self.agents, self.control)
        connected = asyncio.create_task(maintain_connection(find, {}, caller, LOG))
        try:
            yield RuntimeClient(caller)
        finally:
            connected.cancel()
            await asyncio.wait((connected,))


@contextmanager
def killed_at_end(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a process at the end, also one that is stopped."""
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def kill(process: subprocess.Popen[str]) -> None:
    """End it by SIGKILL, now."""
    process.send_signal(signal.SIGKILL)
    process.wait()


class RuntimeClient:
    """Asks a Core's runtime.

    Args:
        caller: To the Core.
    """

    def __init__(self, caller: ReconnectingCaller) -> None:
        self._caller = caller

    async def request(self, method: str, params: Struct, kind: type[Answer]) -> Answer:
        """Ask, again where the Core died before it answered: what is asked has ids or only reads."""
        while True:
            await self._caller.wait_connected()
            try:
                return await self._caller.call(SERVICE, method, params, kind)
            except CommandError as error:
                if error.code != "worker_lost":
                    raise
                await asyncio.sleep(0.01)

    async def enqueue(self, kind: ActionKind, session_id: str, **given: Any) -> Action:
        """Enqueue an action, once."""
        key = secrets.token_hex(8)
        ask = NewAction(kind=kind, session_id=session_id, idem_key=key, **given)
        return (await self.request("act", ask, ActionEnqueued)).action

    async def create(self, session_id: str, **given: Any) -> Action:
        """Create a session that tells jokes: ten a second, so that many leave each other their turn."""
        payload = {"moniker": "joke", "config": {"interval_s": 0.1}}
        return await self.enqueue(
            ActionKind.CREATE, session_id, agent_id="a", payload=payload, **given
        )

    async def state(self, session_id: str) -> AgentState:
        """A session as it stands."""
        (state,) = (
            await self.request("states", StateQuery(session_id=session_id), AgentStateList)
        ).states
        return state

    async def steps(self, session_id: str) -> tuple[AgentStep, ...]:
        """All steps of a session."""
        ask = StepQuery(session_id=session_id, limit=MAX_LIMIT)
        return (await self.request("steps", ask, AgentStepList)).steps

    async def actions(self, ask: ActionQuery) -> tuple[Action, ...]:
        """Some actions."""
        return (await self.request("actions", ask, ActionList)).actions

    async def wait_until(self, happened: Callable[[dict[str, AgentState]], bool]) -> None:
        """Wait until this is true of all sessions as they stand."""
        states: dict[str, AgentState] = {}
        while True:
            await self._caller.wait_connected()
            watch = self._caller.stream(SERVICE, "watch", WatchTopic(topic="sessions"), TopicEvent)
            try:
                async with aclosing(watch) as notices:
                    async for notice in notices:
                        states.update({state.session_id: state for state in notice.states})
                        if happened(states):
                            return
            except CommandError as error:
                if error.code != "worker_lost":
                    raise
            await asyncio.sleep(0.01)  # its connection may not be closed yet


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine."""
    asyncio.run(test())  # type: ignore[arg-type]
