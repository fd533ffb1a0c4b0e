"""Several stores on one database, as Cores have them: nothing is done twice, and nothing missed."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle
from typing import Any, TypeVar

import psycopg
import pytest

from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptSessions,
    CreateAgentSession,
    EnqueueActions,
    MessageQuery,
    ParticipantQuery,
    PostMessage,
    PrunedRows,
    PruneRows,
    RenewLeases,
    SessionWrite,
    StepQuery,
)
from agentstepper_nb.store.runtime.conformance.base_suite import (
    LEASE_S,
    START_TIME,
    assert_refused,
    begin_session,
    claim_action,
    claim_action_id,
    create_session,
    enqueue_actions,
    make_action,
    make_completion,
    make_conversation,
    make_message,
    make_participant,
    make_state,
    make_step,
    read_action_ids,
    read_snapshot,
    write_session,
)
from agentstepper_nb.store.runtime.conformance.concurrency_suite import _finish_all_actions
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from tests.helpers.postgres_server import PostgresServer

T = TypeVar("T")
LATER = START_TIME + LEASE_S + 1


@asynccontextmanager
async def stores(
    server: PostgresServer, number: int = 2
) -> AsyncIterator[list[PostgresRuntimeStore]]:
    """Stores on a new database, each with connections of its own."""
    location = server.create_database()
    opened = [PostgresRuntimeStore(location) for _ in range(number)]
    try:
        yield opened
    finally:
        for store in opened:
            await store.close()


@pytest.mark.slow
async def test_claims_of_several_cores_take_each_action_once(
    postgres_server: PostgresServer,
) -> None:
    async with stores(postgres_server) as opened:
        sessions, each_has = 6, 8
        for session in range(sessions):
            await create_session(opened[0], f"{session}")
            inputs = [make_action(f"{n} of {session}", f"{session}") for n in range(each_has)]
            await enqueue_actions(opened[1], *inputs)
        done: dict[str, list[str]] = defaultdict(list)
        total = sessions * (1 + each_has)
        await asyncio.gather(
            *(
                _finish_all_actions(store, f"owner {number}", done, total)
                for number, store in zip(range(6), cycle(opened), strict=False)
            )
        )
        assert done == {
            f"{session}": [
                f"create {session}",
                *(f"{number} of {session}" for number in range(each_has)),
            ]
            for session in range(sessions)
        }
        finished = await read_action_ids(opened[0], status=ActionStatus.DONE, limit=1000)
        assert len(finished) == total


@contextmanager
def transaction_of_another(store: PostgresRuntimeStore) -> Iterator[psycopg.Connection]:
    """A transaction that has the session `s` locked until it is committed, as another Core's."""
    with psycopg.connect(store._database.conninfo) as connection:
        connection.execute("SET search_path TO agentstepper")
        connection.execute("SELECT 1 FROM agent_state WHERE session_id = 's' FOR UPDATE")
        yield connection


async def begin_to_wait(server: PostgresServer, call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Begin a call, until it waits for what another transaction has locked."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    task = asyncio.create_task(call)
    async with asyncio.timeout(60):
        while server.execute(waiting) == [(0,)]:
            assert not task.done(), f"it didn't wait: {task}"
            await asyncio.sleep(0.01)
    return task


async def test_a_claim_waits_for_a_session_that_is_locked(postgres_server: PostgresServer) -> None:
    """Else it would say that nothing is ready, and nobody would wake its worker again."""
    async with stores(postgres_server, 1) as (store,):
        await create_session(store)
        with transaction_of_another(store) as other:
            claim = await begin_to_wait(postgres_server, claim_action_id(store))
            other.rollback()
            assert await claim == "create s"


async def test_what_another_core_claimed_meanwhile_is_not_claimed(
    postgres_server: PostgresServer,
) -> None:
    async with stores(postgres_server, 1) as (store,):
        await create_session(store)
        with transaction_of_another(store) as other:
            claim = await begin_to_wait(postgres_server, claim_action_id(store))
            other.execute("UPDATE heads SET owner = 'other'")
            other.commit()
            assert await claim is None


async def test_a_write_waits_for_who_takes_its_session(postgres_server: PostgresServer) -> None:
    async with stores(postgres_server, 1) as (store,):
        await begin_session(store)
        with transaction_of_another(store) as other:
            write = await begin_to_wait(postgres_server, write_session(store, steps=(make_step(),)))
            other.execute("UPDATE agent_state SET epoch = epoch + 1")
            other.commit()
            await assert_refused("stale_epoch", write)
        assert (await store.steps(StepQuery())).steps == ()


@pytest.mark.slow
async def test_each_session_is_adopted_once(postgres_server: PostgresServer) -> None:
    async with stores(postgres_server, 3) as opened:
        names = [f"{number}" for number in range(30)]
        for name in names:
            await begin_session(opened[0], name, status=SessionStatus.PAUSED)

        async def adopt(number: int, store: PostgresRuntimeStore) -> list[str]:
            taken: list[str] = []
            while len(taken) < len(names):
                ask = AdoptSessions(
                    owner=f"owner {number}", now=LATER, lease_until=LATER + LEASE_S, limit=7
                )
                states = (await store.adopt(ask)).states
                if not states:
                    break
                assert all(state.epoch == 2 for state in states)
                taken += [state.session_id for state in states]
            return taken

        found = await asyncio.gather(*(adopt(n, store) for n, store in enumerate(opened)))
        counted = Counter(name for each in found for name in each)
        # What one has locked another passes over, and finds it when it asks again.
        counted.update(await adopt(9, opened[0]))
        assert counted == Counter(names)
        for name in names:
            assert (await read_snapshot(opened[2], name)).epoch == 2


async def test_who_lost_a_session_to_another_core_writes_nothing(
    postgres_server: PostgresServer,
) -> None:
    async with stores(postgres_server) as (one, two):
        await begin_session(one)
        await enqueue_actions(one, make_action("a"))
        assert await claim_action_id(one) == "a"
        found = await claim_action(two, "two", LEASE_S + 1)
        assert found.state is not None and found.state.epoch == 2
        await assert_refused("stale_epoch", write_session(one, steps=(make_step(),)))
        await write_session(two, owner="two", epoch=2, steps=(make_step(),))
        assert (await one.steps(StepQuery())).steps == (make_step(),)


async def test_what_both_make_at_once_is_made_once(postgres_server: PostgresServer) -> None:
    async with stores(postgres_server) as opened:
        await opened[0].save_conversation(make_conversation())

        async def of_both(call: Callable[[PostgresRuntimeStore, int], Awaitable[object]]) -> list:  # type: ignore[type-arg]
            numbered = zip(cycle(opened), range(8), strict=False)
            return list(await asyncio.gather(*(call(store, number) for store, number in numbered)))

        created = await of_both(
            lambda store, number: store.create(
                CreateAgentSession(
                    state=make_state(moniker=f"{number}"),
                    action=make_action(f"create {number}", kind=ActionKind.CREATE),
                )
            )
        )
        assert sum(each.is_new for each in created) == 1
        assert len({(each.state.moniker, each.action.id) for each in created}) == 1
        enqueued = await of_both(
            lambda store, number: store.enqueue(
                EnqueueActions(actions=(make_action(f"{number}", idem_key="key"),))
            )
        )
        assert len({each.actions for each in enqueued}) == 1
        joined = await of_both(
            lambda store, number: store.join(make_participant(f"p{number}", user_id="ada"))
        )
        assert len({each.participant_id for each in joined}) == 1
        query = ParticipantQuery(conversation_id="c")
        assert len((await opened[0].participants(query)).participants) == 1
        assert await claim_action_id(opened[0]) is not None
        write = SessionWrite(
            session_id="s",
            epoch=1,
            owner="one",
            steps=(make_step(),),
            messages=(make_message("m"),),
        )
        written = await of_both(lambda store, number: store.write(write))
        assert sum(bool(each.steps) for each in written) == 1
        assert sum(bool(each.messages) for each in written) == 1


@pytest.mark.slow
async def test_calls_about_many_sessions_wait_for_each_other(
    postgres_server: PostgresServer,
) -> None:
    """Whatever the order in which they name them."""
    async with stores(postgres_server) as (one, two):
        names = [f"{number}" for number in range(10)]
        for name in names:
            await begin_session(one, name)

        async def enqueue(store: PostgresRuntimeStore, number: int, order: list[str]) -> None:
            inputs = [make_action(f"{number} for {name}", name) for name in order]
            await enqueue_actions(store, *inputs)

        async def renew(store: PostgresRuntimeStore) -> None:
            ask = RenewLeases(owner="one", now=START_TIME, lease_until=START_TIME + LEASE_S)
            assert len((await store.renew(ask)).sessions) == len(names)

        calls: list[Awaitable[None]] = []
        for number in range(10):
            calls.append(enqueue(one, 2 * number, names))
            calls.append(enqueue(two, 2 * number + 1, names[::-1]))
            calls.append(renew(two if number % 2 else one))
        await asyncio.gather(*calls)
        queued = await read_action_ids(one, status=ActionStatus.QUEUED, limit=1000)
        assert len(queued) == 20 * len(names)


async def test_who_reads_on_misses_no_message(postgres_server: PostgresServer) -> None:
    async with stores(postgres_server, 3) as opened:
        await opened[0].save_conversation(make_conversation())
        number = 60

        async def say(store: PostgresRuntimeStore, first: int) -> None:
            for n in range(first, number, 2):
                await store.post(PostMessage(message=make_message(f"m{n}")))

        async def read() -> list[str]:
            seen: list[str] = []
            while len(seen) < number:
                after = seen[-1] if seen else None
                query = MessageQuery(conversation_id="c", after=after)
                found = await opened[2].messages(query)
                seen += [message.message_id for message in found.messages]
            return seen

        async with asyncio.timeout(60):
            seen, *_ = await asyncio.gather(read(), say(opened[0], 0), say(opened[1], 1))
        assert sorted(seen) == sorted(f"m{n}" for n in range(number))


async def test_a_finished_action_lets_the_other_core_claim_the_next(
    postgres_server: PostgresServer,
) -> None:
    async with stores(postgres_server) as (one, two):
        await begin_session(one, status=SessionStatus.DONE)
        destroy = [make_action(f"{n}", kind=ActionKind.DESTROY) for n in range(2)]
        await enqueue_actions(one, *destroy)
        assert await claim_action_id(one) == "0"
        assert await claim_action_id(two, "two") is None
        await write_session(one, finished=(make_completion("0"),))
        assert await claim_action_id(two, "two") == "1"


async def test_a_session_that_is_needed_again_meanwhile_is_not_deleted(
    postgres_server: PostgresServer,
) -> None:
    async with stores(postgres_server, 1) as (store,):
        await begin_session(store, status=SessionStatus.DONE)
        with transaction_of_another(store) as other:
            asked = PruneRows(before=LATER)
            prune = await begin_to_wait(postgres_server, store.prune(asked))
            other.execute(
                "INSERT INTO actions (id, created_at, kind, agent_id, session_id, urgency, status,"
                " attempts, rank) VALUES ('a', 0, 'agent_destroy', 'agent', 's', 0, 'queued', 0, 1)"
            )
            other.commit()
            assert await prune == PrunedRows()
        assert await read_action_ids(store) == ["create s", "a"]
