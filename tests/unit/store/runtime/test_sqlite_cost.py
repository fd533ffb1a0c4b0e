"""What a claim costs: it looks at a few rows, however many there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_asks import (
    ActionQuery,
    Claim,
    Enqueue,
    MessageQuery,
    SessionsOf,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance.suite import (
    BEGIN,
    action,
    begin,
    claim,
    create,
    finish,
    step,
    write,
)
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore, queue, reads, writing
from agentstepper_nb.store.runtime.sqlite.reads import sessions

HOT = {
    "claim": (queue.CLAIM, {"owner": "one", "until": 1.0}),
    "the first of a session": (writing.FIRST, ("s",)),
    "what is under way": (writing.UNDER_WAY, ("s",)),
    "leases that are over": (queue.DUE, (1.0,)),
    "what an owner has": (queue.CLAIMED, ("one",)),
}


def plan(connection: sqlite3.Connection, statement: str, values: object) -> list[str]:
    found = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)  # type: ignore[call-overload]
    return [line[3] for line in found]


async def inside(store: SqliteRuntimeStore, work: Callable[[sqlite3.Connection], object]) -> None:
    await store._writer.call(work, writes=False)


@pytest.mark.parametrize("name", HOT)
async def test_each_statement_of_a_claim_looks_into_an_index(name: str) -> None:
    store = SqliteRuntimeStore(None)

    def look(connection: sqlite3.Connection) -> None:
        lines = plan(connection, *HOT[name])
        assert any(line.startswith("SEARCH") for line in lines)
        # What is sorted or gone through are the two candidates alone.
        tables = ("actions", "heads", "holds", "agent_state")
        assert not [line for line in lines if line.startswith("SCAN") and line.split()[1] in tables]
        if name != "claim":
            assert not [line for line in lines if "TEMP B-TREE" in line]

    await inside(store, look)
    await store.close()


READS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "steps of a session": lambda c: reads.steps(c, StepQuery(session_id="s")),
    "steps of an agent": lambda c: reads.steps(c, StepQuery(agent_id="a")),
    "steps": lambda c: reads.steps(c, StepQuery()),
    "snapshots": lambda c: reads.states(c, StateQuery()),
    "snapshots of a status": lambda c: reads.states(c, StateQuery(status=(SessionStatus.DONE,))),
    "snapshots of an agent": lambda c: reads.states(c, StateQuery(agent_id="a")),
    "messages": lambda c: reads.messages(c, MessageQuery(conversation_id="c", last=True)),
    "actions of a session": lambda c: reads.actions(
        c, ActionQuery(session_id="s", status=ActionStatus.QUEUED)
    ),
    "failed actions": lambda c: reads.actions(c, ActionQuery(status=ActionStatus.FAILED)),
    "queued actions": lambda c: reads.actions(c, ActionQuery(status=ActionStatus.QUEUED)),
    "an agent's sessions": lambda c: sessions(c, SessionsOf(agent_id="a")),
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


# ---- how much of it, counted ----------------------------------------------------------------------


class Meter:
    """Counts the instructions of SQLite's machine: no clock, and the same each time."""

    def __init__(self, store: SqliteRuntimeStore) -> None:
        self._store = store
        self.count = 0

    def _tick(self) -> int:
        self.count += 1
        return 0

    async def __aenter__(self) -> Meter:
        await inside(self._store, lambda c: c.set_progress_handler(self._tick, 1))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await inside(self._store, lambda c: c.set_progress_handler(None, 0))


async def of_one_session(store: RuntimeStore, number: int) -> None:
    """So many wait in one session."""
    await begin(store, "large")
    await store.enqueue(Enqueue(actions=tuple(action(f"{n}", "large") for n in range(number))))


async def of_many_sessions(store: RuntimeStore, number: int) -> None:
    """One waits in each of so many sessions."""
    for n in range(number):
        await create(store, f"{n}")


async def of_others(store: RuntimeStore, number: int) -> None:
    """So many sessions with an action each that another owner is at, or that only it may claim."""
    for n in range(number):
        await begin(store, f"{n}", "other")
    await store.enqueue(Enqueue(actions=tuple(action(f"{n}", f"{n}") for n in range(number))))
    held: tuple[str, ...] = ()
    for _ in range(number // 2):
        found = (await claim(store, "other", held=held)).action
        assert found is not None
        held += (found.id,)


async def of_done(store: RuntimeStore, number: int) -> None:
    """So many are done, and as many sessions have ended."""
    for n in range(number):
        await begin(store, f"{n}", status=SessionStatus.DONE)


async def of_steps(store: RuntimeStore, number: int) -> None:
    """A session has so many steps."""
    await begin(store, "large")
    await write(store, "large", steps=tuple(step("large", n) for n in range(number)))


async def cost(
    fill: Callable[[RuntimeStore, int], object], number: int, claimer: str = "one"
) -> int:
    """Of a claim, the end of what was claimed, and one action more."""
    store = SqliteRuntimeStore(None)
    await begin(store, "s", claimer)
    await fill(store, number)  # type: ignore[misc]
    for n in range(3):
        await store.enqueue(Enqueue(actions=(action(f"more {n}", urgency=5),)))
    async with Meter(store) as meter:
        ask = Claim(owner=claimer, now=BEGIN, lease_until=BEGIN + 10)
        found = (await store.claim(ask)).action
        assert found is not None and found.session_id == "s"
        await finish(store, found.id, owner=claimer)
        await store.enqueue(Enqueue(actions=(action("last", kind=ActionKind.PAUSE),)))
    await store.close()
    return meter.count


@pytest.mark.parametrize("fill", [of_one_session, of_many_sessions, of_others, of_done, of_steps])
async def test_a_claim_costs_the_same_at_any_size(
    fill: Callable[[RuntimeStore, int], object],
) -> None:
    few, many = await cost(fill, 10), await cost(fill, 400)
    assert few > 100  # it was counted
    assert many <= few * 1.1
