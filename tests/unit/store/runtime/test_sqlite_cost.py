"""What a claim costs: it looks at a few rows, however many there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from agentstepper_nb.protocol.fleet import FleetQuery
from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    AdoptSessions,
    AgentSessionQuery,
    ClaimAction,
    EnqueueActions,
    MessageQuery,
    ReleaseLeases,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance.base_suite import (
    START_TIME,
    begin_session,
    claim_action,
    create_session,
    finish_action,
    make_action,
    make_step,
    write_session,
)
from agentstepper_nb.store.runtime.conformance.routing_suite import make_offer
from agentstepper_nb.store.runtime.sqlite import (
    SqliteRuntimeStore,
    dead_letters,
    fleet,
    mutations,
    queries,
    queue,
    retention,
    routes,
)
from agentstepper_nb.store.runtime.sqlite.queries import find_sessions

HOT = {
    "claim": (routes.CLAIM_NEXT_ACTION, {"owner": "one", "until": 1.0}),
    "claim of what fits": (
        routes.CLAIM_FITTING_ACTION,
        {"owner": "one", "until": 1.0, "routes": "[0, 1]"},
    ),
    "the first of a session": (mutations.SELECT_FIRST_ACTION, ("s",)),
    "what is under way": (mutations.SELECT_CLAIMED_UNTIL, ("s",)),
    "leases that are over": (queue.SELECT_DUE_SESSIONS, (1.0,)),
    "what an owner has": (queue.SELECT_CLAIMED_ACTIONS, ("one",)),
    "what has become due": (mutations.PROMOTE_DUE_ACTIONS, (1.0,)),
    "what of a series is open": (dead_letters.SELECT_OPEN_OF_SERIES, ("a",)),
}


def plan(connection: sqlite3.Connection, statement: str, values: object) -> list[str]:
    found = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)  # type: ignore[call-overload]
    return [line[3] for line in found]


async def inside(store: SqliteRuntimeStore, work: Callable[[sqlite3.Connection], object]) -> None:
    await store._writer.call(work, is_write=False)


@pytest.mark.parametrize("name", HOT)
async def test_each_statement_of_a_claim_looks_into_an_index(name: str) -> None:
    store = SqliteRuntimeStore(None)

    def look(connection: sqlite3.Connection) -> None:
        lines = plan(connection, *HOT[name])
        assert any(line.startswith("SEARCH") for line in lines)
        # What is sorted or gone through are the two candidates alone.
        tables = ("actions", "heads", "holds", "agent_state")
        assert not [line for line in lines if line.startswith("SCAN") and line.split()[1] in tables]
        if not name.startswith("claim"):
            assert not [line for line in lines if "TEMP B-TREE" in line]

    await inside(store, look)
    await store.close()


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        (retention.SELECT_OLD_SESSION, 1.0),
        (retention.SELECT_SURPLUS_SESSION, 1),
        (retention.SELECT_OLD_CONVERSATION, 1.0),
        (retention.SELECT_SURPLUS_CONVERSATION, 1),
    ],
)
async def test_what_is_to_be_deleted_is_found_in_the_order_of_an_index(
    statement: str, value: float
) -> None:
    store = SqliteRuntimeStore(None)

    def look(connection: sqlite3.Connection) -> None:
        lines = plan(connection, statement, (value,))
        assert not [line for line in lines if "TEMP B-TREE" in line], lines
        (outer, *inner) = [line for line in lines if line.startswith(("SCAN", "SEARCH"))]
        assert "INDEX agent_state_ended" in outer or "INDEX conversations_by_age" in outer
        assert all(line.startswith("SEARCH") for line in inner), lines

    await inside(store, look)
    await store.close()


READS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "steps of a session": lambda c: queries.find_steps(c, StepQuery(session_id="s")),
    "steps of an agent": lambda c: queries.find_steps(c, StepQuery(agent_id="a")),
    "steps": lambda c: queries.find_steps(c, StepQuery()),
    "snapshots": lambda c: queries.find_states(c, StateQuery()),
    "snapshots of a status": lambda c: queries.find_states(
        c, StateQuery(status=(SessionStatus.DONE,))
    ),
    "snapshots of an agent": lambda c: queries.find_states(c, StateQuery(agent_id="a")),
    "messages": lambda c: queries.find_messages(c, MessageQuery(conversation_id="c", last=True)),
    "actions of a session": lambda c: queries.find_actions(
        c, ActionQuery(session_id="s", status=ActionStatus.QUEUED)
    ),
    "failed actions": lambda c: queries.find_actions(c, ActionQuery(status=ActionStatus.FAILED)),
    "queued actions": lambda c: queries.find_actions(c, ActionQuery(status=ActionStatus.QUEUED)),
    "a series": lambda c: queries.find_actions(c, ActionQuery(series_id="a")),
    "an agent's sessions": lambda c: find_sessions(c, AgentSessionQuery(agent_id="a")),
}


@pytest.mark.parametrize("name", READS)
async def test_what_is_listed_is_read_in_the_order_of_an_index(name: str) -> None:
    store = SqliteRuntimeStore(None)

    def look(connection: sqlite3.Connection) -> None:
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        READS[name](connection)
        connection.set_trace_callback(None)
        assert statements
        for statement in statements:
            lines = plan(connection, statement, ())
            assert not [line for line in lines if "TEMP B-TREE" in line], lines
            assert "INDEX" in " ".join(lines)

    await inside(store, look)
    await store.close()


async def test_how_all_stand_is_counted_without_reading_a_snapshot() -> None:
    store = SqliteRuntimeStore(None)

    def look(connection: sqlite3.Connection) -> None:
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        fleet.read_fleet(connection, FleetQuery(halted_runs=("r",)))
        connection.set_trace_callback(None)
        lines = [plan(connection, statement, ()) for statement in statements]
        of_sessions = [line for found in lines for line in found if "agent_state" in line]
        # But for those few whose step has tries behind it, and those that are halted.
        assert [line for line in of_sessions if "COVERING INDEX" in line][:2] == [
            "SCAN agent_state USING COVERING INDEX agent_state_failed",
            "SCAN agent_state USING COVERING INDEX agent_state_fleet",
        ]
        assert all("INDEX agent_state_f" in line for line in of_sessions)

    await inside(store, look)
    await store.close()


# ---- how much of it, counted ----------------------------------------------------------------------


class InstructionCounter:
    """Counts the instructions of SQLite's machine: no clock, and the same each time."""

    def __init__(self, store: SqliteRuntimeStore) -> None:
        self._store = store
        self.count = 0

    def _tick(self) -> int:
        self.count += 1
        return 0

    async def __aenter__(self) -> InstructionCounter:
        await inside(self._store, lambda c: c.set_progress_handler(self._tick, 1))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await inside(self._store, lambda c: c.set_progress_handler(None, 0))


async def of_one_session(store: RuntimeStore, number: int) -> None:
    """So many wait in one session."""
    await begin_session(store, "large")
    await store.enqueue(
        EnqueueActions(actions=tuple(make_action(f"{n}", "large") for n in range(number)))
    )


async def of_many_sessions(store: RuntimeStore, number: int) -> None:
    """One waits in each of so many sessions."""
    for n in range(number):
        await create_session(store, f"{n}")


async def of_others(store: RuntimeStore, number: int) -> None:
    """So many sessions with an action each that another owner is at, or that only it may claim."""
    for n in range(number):
        await begin_session(store, f"{n}", "other")
    await store.enqueue(
        EnqueueActions(actions=tuple(make_action(f"{n}", f"{n}") for n in range(number)))
    )
    held: tuple[str, ...] = ()
    for _ in range(number // 2):
        found = (await claim_action(store, "other", running_action_ids=held)).action
        assert found is not None
        held += (found.id,)


async def of_delayed(store: RuntimeStore, number: int) -> None:
    """So many wait for their time, in the claimer's session and in others."""
    later = START_TIME + 1e6
    for n in range(number):
        await begin_session(store, f"{n}", "other")
    for session in ("s", *map(str, range(number))):
        waiting = (make_action(f"{n} of {session}", session, not_before=later) for n in range(3))
        await store.enqueue(EnqueueActions(actions=tuple(waiting)))
    waiting = (make_action(f"{n} later", not_before=later, urgency=9) for n in range(number))
    await store.enqueue(EnqueueActions(actions=tuple(waiting)))


async def of_done(store: RuntimeStore, number: int) -> None:
    """So many are done, and as many sessions have ended."""
    for n in range(number):
        await begin_session(store, f"{n}", status=SessionStatus.DONE)


async def of_steps(store: RuntimeStore, number: int) -> None:
    """A session has so many steps."""
    await begin_session(store, "large")
    await write_session(store, "large", steps=tuple(make_step("large", n) for n in range(number)))


async def of_unfit(store: RuntimeStore, number: int) -> None:
    """So many wait for a worker with a moniker that nobody has, and as many lost theirs."""
    for n in range(number):
        await begin_session(store, f"lost {n}", "gone", moniker="unknown")
    for n in range(number):
        await create_session(store, f"{n}", moniker="unknown")
    await store.release(ReleaseLeases(owner="gone", until=START_TIME - 1))


async def cost(
    fill: Callable[[RuntimeStore, int], object], number: int, claimer: str = "one"
) -> int:
    """Of a claim, the end of what was claimed, and one action more."""
    store = SqliteRuntimeStore(None)
    await begin_session(store, "s", claimer)
    await fill(store, number)  # type: ignore[misc]
    for n in range(3):
        await store.enqueue(EnqueueActions(actions=(make_action(f"more {n}", urgency=5),)))
    async with InstructionCounter(store) as meter:
        ask = ClaimAction(
            owner=claimer, now=START_TIME, lease_until=START_TIME + 10, offer=make_offer("joke")
        )
        found = (await store.claim(ask)).action
        assert found is not None and found.session_id == "s"
        await finish_action(store, found.id, owner=claimer)
        await store.enqueue(EnqueueActions(actions=(make_action("last", kind=ActionKind.PAUSE),)))
    await store.close()
    return meter.count


@pytest.mark.slow
@pytest.mark.parametrize(
    "fill",
    [of_one_session, of_many_sessions, of_others, of_delayed, of_done, of_steps, of_unfit],
)
async def test_a_claim_costs_the_same_at_any_size(
    fill: Callable[[RuntimeStore, int], object],
) -> None:
    few, many = await cost(fill, 10), await cost(fill, 150)
    assert few > 100  # it was counted
    assert many <= few * 1.1


async def adoption_cost(number: int) -> int:
    """Of an adoption that finds one session."""
    store = SqliteRuntimeStore(None)
    await begin_session(store, "fits", "gone")
    await of_unfit(store, number)
    async with InstructionCounter(store) as meter:
        ask = AdoptSessions(
            owner="one", now=START_TIME, lease_until=START_TIME + 10, offer=make_offer("joke")
        )
        assert [state.session_id for state in (await store.adopt(ask)).states] == ["fits"]
    await store.close()
    return meter.count


async def test_an_adoption_costs_the_same_however_many_dont_fit() -> None:
    few, many = await adoption_cost(10), await adoption_cost(150)
    assert few > 100
    assert many <= few * 1.1
