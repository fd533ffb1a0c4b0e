"""Two Cores on one database, with a worker each, are killed in turn: each session goes on, once."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, SessionStatus
from tests.helpers.postgres_server import PostgresServer
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run
from tests.runtime.test_killing import (
    COOPERATIVE,
    PAUSED,
    SESSIONS,
    all_at,
    farther,
    go_on,
    judge,
)

#: More than any session's worker is lost here, with leases of a second on a machine that does much else.
LIMITS = {"max_attempts": 100}


class Site(CoreProcesses):
    """A Core with its worker, both of which are killed at once."""

    def __init__(self, folder: Path, location: str) -> None:
        super().__init__(folder, ("--no-worker", "--runtime-store", location))
        self._living = ExitStack()

    def start(self) -> None:
        self.processes = [
            self._living.enter_context(self.core()),
            self._living.enter_context(self.worker(options=COOPERATIVE)),
        ]

    def kill(self) -> None:
        for process in self.processes:
            kill(process)
        self._living.close()

    def __enter__(self) -> Site:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._living.close()


async def begin(client: RuntimeClient) -> None:
    """Sessions that tell jokes however often their worker is lost, of which one is paused."""
    payload = {"moniker": "joke", "config": {"interval_s": 0.1}, "limits": LIMITS}
    for session in SESSIONS:
        await client.enqueue(ActionKind.CREATE, session, agent_id="a", payload=payload)
    await client.wait_until(lambda states: all_at(states, 3) and PAUSED in states)
    await client.enqueue(ActionKind.PAUSE, PAUSED)
    await client.wait_until(lambda states: states[PAUSED].status is SessionStatus.PAUSED)


@pytest.mark.slow
def test_what_a_killed_core_had_goes_on_by_the_other(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    async def test() -> None:
        location = postgres_server.create_database()
        with Site(tmp_path / "one", location) as one, Site(tmp_path / "two", location) as two:
            async with one.client() as of_one, two.client() as of_two:
                await begin(of_one)
                one.kill()
                await farther(of_two, 1)
                await go_on(of_two)

    run(test)


@pytest.mark.soak
def test_one_core_and_then_the_other_is_killed(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    async def test() -> None:
        location = postgres_server.create_database()
        with Site(tmp_path / "one", location) as one:
            async with one.client() as of_one:
                with Site(tmp_path / "two", location) as two:
                    await begin(of_one)
                    one.kill()
                    async with two.client() as of_two:
                        await farther(of_two, 1)
                        one.start()
                        two.kill()
                        await farther(of_one, 1)
                        await go_on(of_one)
                        two.start()
                        await judge(of_two)

    run(test)


@pytest.mark.soak
@pytest.mark.timeout(400)  # some twenty processes start, one after the other
@pytest.mark.parametrize("seed", range(1))
def test_whatever_dies_of_cores_and_server(
    tmp_path: Path, postgres_server: PostgresServer, seed: int
) -> None:
    async def test() -> None:
        chance = random.Random(seed)
        location = postgres_server.create_database()
        async with AsyncExitStack() as stack:
            sites = [
                stack.enter_context(Site(tmp_path / name, location)) for name in ("one", "two")
            ]
            clients: list[RuntimeClient] = [
                await stack.enter_async_context(site.client()) for site in sites
            ]
            await begin(clients[0])
            for _ in range(8):
                dying = chance.choice([(0,), (1,), (0, 1), ("server",), ("server", 0)])
                for each in dying:
                    if isinstance(each, int):
                        sites[each].kill()
                    else:
                        postgres_server.kill()
                for each in reversed(dying):
                    if isinstance(each, int):
                        sites[each].start()
                    else:
                        postgres_server.start()
                await farther(chance.choice(clients), 1)
            await go_on(clients[1])

    run(test)
