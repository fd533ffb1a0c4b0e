"""Lost connections, and backends and servers that are killed: each call counts once, or is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from agentstepper_nb.errors import StoreError
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptSessions,
    ChangedRows,
    EnqueueActions,
    SessionWrite,
    StepQuery,
)
from agentstepper_nb.store.runtime.conformance.base_suite import (
    LEASE_S,
    START_TIME,
    begin_session,
    claim_action,
    create_session,
    make_action,
    make_state,
    make_step,
    read_snapshot,
)
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from agentstepper_nb.store.runtime.postgres.statements import Statements
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.sampling import select_sample
from tests.unit.store.postgres.cutting_proxy import CuttingProxy

T = TypeVar("T")
SESSIONS = [f"{number}" for number in range(6)]
#: Ends what clients of the stores wait for; the test's own connection stays.
TERMINATE = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE application_name = 'agentstepper'"
)


@asynccontextmanager
async def opened(location: str, **options: Any) -> AsyncIterator[PostgresRuntimeStore]:
    store = PostgresRuntimeStore(location, **options)
    try:
        yield store
    finally:
        await store.close()


@dataclass
class Writers:
    """Sessions that each do one step after the other, and say what was acknowledged.

    Args:
        store: Where.
        asks_again: Whether a call that was refused for the server's sake is asked again.
    """

    store: PostgresRuntimeStore
    asks_again: bool = False
    acknowledged: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    is_ending: bool = False

    async def write(self, session: str) -> None:
        number = 0
        while not self.is_ending:
            request = SessionWrite(
                session_id=session,
                epoch=1,
                owner="one",
                state=make_state(session, status=SessionStatus.RUNNING, iteration=number + 1),
                steps=(make_step(session, number),),
            )
            written = await self._ask(lambda request=request: self.store.write(request))  # type: ignore[misc]
            # What is new is told where it is done, and once, unless the answer was refused.
            assert self.asks_again or [step.id for step in written.steps] == [f"{session}/{number}"]
            number += 1
            self.acknowledged[session] = number

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await call()
            except StoreError:
                if not self.asks_again:
                    raise
                self.refused += 1
                await asyncio.sleep(0.05)

    async def until(self, steps: int) -> None:
        """Wait until each has done so many steps."""
        while min(self.acknowledged.get(each, 0) for each in SESSIONS) < steps:
            await asyncio.sleep(0.01)

    async def check(self) -> None:
        """All that was acknowledged is there, once and in order."""
        for session, number in self.acknowledged.items():
            found = (await self.store.steps(StepQuery(session_id=session, limit=1000))).steps
            assert [step.iteration for step in found] == [*range(number)]
            assert (await read_snapshot(self.store, session)).iteration == number


async def run_writers(
    store: PostgresRuntimeStore, asks_again: bool, harm: Callable[[], None], times: int
) -> Writers:
    """Let all write, and do harm some times in the midst of that."""
    for session in SESSIONS:
        await begin_session(store, session)
    writers = Writers(store, asks_again)
    async with asyncio.timeout(100), asyncio.TaskGroup() as tasks:
        for session in SESSIONS:
            tasks.create_task(writers.write(session))
        for number in range(times):
            await writers.until(4 * (number + 1))
            harm()
        await writers.until(4 * (times + 1))
        writers.is_ending = True
    await writers.check()
    return writers


@pytest.mark.slow
@pytest.mark.parametrize("times", select_sample((2, 8), 2))
async def test_backends_that_are_terminated_cost_nothing(
    postgres_server: PostgresServer, times: int
) -> None:
    killed: list[int] = []

    def terminate() -> None:
        ((number,),) = postgres_server.execute(TERMINATE)
        killed.append(number)

    async with opened(postgres_server.create_database()) as store:
        await run_writers(store, False, terminate, times)
    assert min(killed) > 1


@pytest.mark.slow
@pytest.mark.parametrize("times", select_sample((1, 3), 1))
async def test_a_server_that_is_killed_and_started_again_loses_no_step(
    postgres_server: PostgresServer, times: int
) -> None:
    def restart() -> None:
        postgres_server.kill()
        postgres_server.start()

    async with opened(postgres_server.create_database()) as store:
        await run_writers(store, True, restart, times)


@pytest.mark.slow
async def test_while_the_server_is_gone_it_is_said_and_then_all_goes_on(
    postgres_server: PostgresServer,
) -> None:
    async with opened(postgres_server.create_database(), retry_s=0.3) as store:
        await begin_session(store)
        postgres_server.kill()
        try:
            for _ in range(2):
                with pytest.raises(StoreError, match=r"(?s)can't be stored in postgresql.*refused"):
                    await store.info()
        finally:
            postgres_server.start()
        await create_session(store, "other")
        assert (await store.info()).live == 2


# ---- an answer that is lost -----------------------------------------------------------------------


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(postgres_server.port)
    yield proxy
    proxy.close()


def through(proxy: CuttingProxy, server: PostgresServer) -> str:
    return server.create_database().replace(f":{server.port}/", f":{proxy.port}/")


@pytest.mark.parametrize("is_committed", [False, True])
async def test_a_call_whose_commit_was_cut_off_is_done_once(
    postgres_server: PostgresServer, proxy: CuttingProxy, is_committed: bool
) -> None:
    """And its answer says what is new, as if nothing had been: who watches is told by that."""

    def cut() -> None:
        proxy.cuts_after, proxy.cuts_before = is_committed, not is_committed

    async with opened(through(proxy, postgres_server)) as store:
        await store.info()
        cut()
        assert (await create_session(store)).is_new
        cut()
        found = await claim_action(store)
        assert found.action is not None and found.action.attempts == 1
        assert found.state is not None and found.state.epoch == 1
        cut()
        request = SessionWrite(
            session_id="s",
            epoch=1,
            owner="one",
            state=make_state(status=SessionStatus.RUNNING),
            steps=(make_step(),),
        )
        assert (await store.write(request)).steps == (make_step(),)
        cut()
        asked = EnqueueActions(actions=(make_action("a"),))
        assert (await store.enqueue(asked)).actions == asked.actions
        cut()
        later = START_TIME + LEASE_S + 1
        adopted = await store.adopt(
            AdoptSessions(owner="two", now=later, lease_until=later + LEASE_S)
        )
        assert [(state.owner, state.epoch) for state in adopted.states] == [("two", 2)]
        assert proxy.cuts == 5


@pytest.mark.parametrize("cuts", [1, 2])
async def test_a_commit_whose_notice_was_cut_off_is_announced_again(
    postgres_server: PostgresServer,
    proxy: CuttingProxy,
    caplog: pytest.LogCaptureFixture,
    cuts: int,
) -> None:
    """Where that fails too, the call is answered nevertheless."""
    location = through(proxy, postgres_server)
    heard: asyncio.Queue[ChangedRows | None] = asyncio.Queue()
    async with (
        opened(location) as store,
        opened(location.replace(f":{proxy.port}/", f":{postgres_server.port}/")) as other,
        asyncio.timeout(60),
    ):
        await store.info()
        other.follow(heard.put_nowait)
        assert await heard.get() is None  # it listens
        proxy.cuts_notices = cuts
        assert (await create_session(store, "s")).is_new
        assert (proxy.cuts_notices, proxy.cuts) == (0, cuts)
        await create_session(store, "last")
        sessions: list[str] = []
        while "last" not in sessions:
            changed = await heard.get()
            assert changed is not None
            sessions += [state.session_id for state in changed.states]
    assert sessions == (["s", "last"] if cuts == 1 else ["last"])
    assert ("other Cores may not hear of a write" in caplog.text) is (cuts == 2)


async def test_closing_does_not_wait_for_a_lost_server(
    postgres_server: PostgresServer, proxy: CuttingProxy
) -> None:
    store = PostgresRuntimeStore(through(proxy, postgres_server), retry_s=90)
    await store.info()
    proxy.cuts_before = True
    proxy.close()
    async with asyncio.timeout(30):
        waiting = asyncio.create_task(create_session(store))
        while store._transactions._lost_at is None:
            await asyncio.sleep(0.01)
        await store.close()
    with pytest.raises(StoreError, match="can't be stored in postgresql"):
        await waiting


async def test_closing_finishes_the_calls_in_progress(postgres_server: PostgresServer) -> None:
    """Also those that have no connection yet."""
    store = PostgresRuntimeStore(postgres_server.create_database())
    calls = [asyncio.create_task(create_session(store, session)) for session in SESSIONS]
    await asyncio.sleep(0)
    await store.close()
    assert all([(await call).is_new for call in calls])


@pytest.mark.slow
async def test_a_write_that_a_crash_took_is_done_again_though_its_number_went_to_another(
    postgres_server: PostgresServer,
) -> None:
    """A server that crashed before anything of a transaction was on the disk gives its number (xid) to
    another one, of another Core, which may have committed before the first Core asks.
    """
    location = postgres_server.create_database()

    def read_xid(connection: Statements) -> int:
        ((xid,),) = connection.execute("SELECT pg_current_xact_id()::text")
        return int(xid)

    async with opened(location) as store, opened(location) as other:
        await begin_session(store, "s")
        await other.info()

        def crash_in_a_write() -> int:
            """Write something, with a crash before its commit; the number that the write had."""
            killed: list[int] = []

            def write(connection: Statements) -> None:
                connection.execute("UPDATE agent_state SET moniker = moniker || '+'")
                if killed:
                    return
                killed.append(read_xid(connection))
                postgres_server.kill()
                postgres_server.start()
                while other._transactions.write(read_xid) < killed[0]:
                    pass

            store._transactions.write(write)
            return killed[0]

        for writes in range(1, 11):
            xid = crash_in_a_write()
            assert (await read_snapshot(store, "s")).moniker == "joke" + "+" * writes
            ((outcome,),) = postgres_server.execute(
                f"SELECT pg_xact_status('{xid}')", location=location
            )
            if outcome == "committed":
                return  # by the other Core
    pytest.fail("No number went to the other Core: each was on the disk before the crash.")


async def test_numbers_of_writers_that_are_gone_are_deleted(
    postgres_server: PostgresServer,
) -> None:
    location = postgres_server.create_database()
    async with opened(location) as store:
        await create_session(store)
    postgres_server.execute(
        "INSERT INTO agentstepper.last_writes VALUES ('gone', 1, now() - interval '2 days')",
        location=location,
    )
    async with opened(location) as store:
        await store.info()
    writers = postgres_server.execute(
        "SELECT writer = 'gone' FROM agentstepper.last_writes", location=location
    )
    assert writers == [(False,)]


async def test_numbers_of_writers_that_cannot_be_deleted_stop_nobody(
    postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    location = postgres_server.create_database()
    async with opened(location) as store:
        await create_session(store)
    postgres_server.execute("DROP TABLE agentstepper.last_writes", location=location)
    async with opened(location) as store:
        assert (await store.info()).live == 1
    assert "numbers of old writers can't be deleted from postgresql" in caplog.text
