"""Reading: filters, order, limits, and what is there after a restart."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import ActionKind, ActionStatus, Cursor, SessionStatus
from ....protocol.runtime_asks import (
    ActionQuery,
    ConversationQuery,
    Create,
    CursorQuery,
    Finish,
    MessageQuery,
    ParticipantQuery,
    SessionsOf,
    StateQuery,
    StepQuery,
)
from ..base import RuntimeStore
from .suite import (
    BEGIN,
    LEASE,
    Suite,
    action,
    begin,
    claim,
    claimed,
    conversation,
    create,
    enqueue,
    finish,
    message,
    participant,
    queued,
    snapshot,
    state,
    step,
    write,
)


async def steps(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of steps."""
    return [each.id for each in (await store.steps(StepQuery(**query))).steps]


async def states(store: RuntimeStore, **query: Any) -> list[str]:
    """The sessions of snapshots."""
    return [each.session_id for each in (await store.states(StateQuery(**query))).states]


async def agents(store: RuntimeStore) -> None:
    """Three sessions of two agents, the last two made later, with some steps each."""
    for number, (session, agent) in enumerate((("a", "x"), ("b", "y"), ("c", "x"))):
        creation = action(f"create {session}", session, ActionKind.CREATE, agent_id=agent)
        first = state(session, agent_id=agent, created_at=BEGIN + number)
        await store.create(Create(state=first, action=creation))
        await claim(store)
        rows = tuple(step(session, each, agent_id=agent) for each in range(number + 1))
        await write(
            store,
            session,
            steps=rows,
            finished=(
                Finish(
                    id=creation.id, owner="one", status=ActionStatus.DONE, processed_at=BEGIN + 1
                ),
            ),
        )


class Reading(Suite):
    """Queries."""

    async def test_actions_by_what_they_are(self) -> None:
        async with self.opened() as store:
            await begin(store, "a")
            await create(store, "b")
            await enqueue(store, action("1", "a", idem_key="key"), action("2", "b", agent_id="z"))
            await enqueue(store, action("3", "a", ActionKind.PAUSE))
            everything = ["create a", "create b", "1", "2", "3"]
            assert await queued(store) == everything
            assert await queued(store, id="2") == ["2"]
            assert await queued(store, idem_key="key") == ["1"]
            assert await queued(store, session_id="a") == ["create a", "1", "3"]
            assert await queued(store, agent_id="z") == ["2"]
            assert await queued(store, kind=ActionKind.CREATE) == ["create a", "create b"]
            assert await queued(store, status=ActionStatus.DONE) == ["create a"]
            assert await queued(store, status=ActionStatus.QUEUED, session_id="a") == ["1", "3"]
            assert await queued(store, status=ActionStatus.FAILED) == []
            assert await queued(store, limit=2) == everything[:2]
            assert await queued(store, limit=2, offset=3) == everything[3:]
            assert await queued(store, session_id="a", status=ActionStatus.CLAIMED) == []

    async def test_snapshots_by_what_they_are(self) -> None:
        async with self.opened() as store:
            await agents(store)
            standing = await snapshot(store, "b")
            await write(store, "b", state=replace(standing, status=SessionStatus.PAUSED))
            assert await states(store) == ["c", "b", "a"]
            assert await states(store, agent_id="x") == ["c", "a"]
            assert await states(store, session_id="a") == ["a"]
            assert await states(store, session_id="nobody") == []
            assert await states(store, status=(SessionStatus.PAUSED,)) == ["b"]
            either = (SessionStatus.PAUSED, SessionStatus.CREATED)
            assert await states(store, status=either) == ["c", "b", "a"]
            assert await states(store, status=either, agent_id="y") == ["b"]
            assert await states(store, limit=1) == ["c"]
            assert await states(store, limit=5, offset=1) == ["b", "a"]

    async def test_steps_by_what_they_are(self) -> None:
        async with self.opened() as store:
            await agents(store)
            part = step("c", 1, id="part", event_seq=1, agent_id="x", status="error")
            await write(store, "c", steps=(part,))
            everything = ["a/0", "b/0", "b/1", "c/0", "c/1", "part", "c/2"]
            assert await steps(store) == everything
            assert await steps(store, session_id="b") == ["b/0", "b/1"]
            assert await steps(store, agent_id="x") == ["a/0", "c/0", "c/1", "part", "c/2"]
            assert await steps(store, agent_id="x", session_id="b") == []
            assert await steps(store, min_iteration=1) == ["b/1", "c/1", "part", "c/2"]
            assert await steps(store, session_id="c", min_iteration=1, max_iteration=1) == [
                "c/1",
                "part",
            ]
            assert await steps(store, max_iteration=0) == ["a/0", "b/0", "c/0"]
            assert await steps(store, session_id="c", after_iteration=1) == ["c/2"]
            assert await steps(store, session_id="c", after_iteration=0, limit=1) == ["c/1"]
            assert await steps(store, since=BEGIN + 1) == ["b/1", "c/1", "part", "c/2"]
            assert await steps(store, status="error") == ["part"]
            assert await steps(store, limit=3, offset=2) == everything[2:5]
            assert await steps(store, session_id="nobody") == []

    async def test_the_latest_step_of_each_session(self) -> None:
        async with self.opened() as store:
            await agents(store)
            part = step("b", 1, id="part", event_seq=1, agent_id="y", status="error")
            await write(store, "b", steps=(part,))
            assert await steps(store, latest=True) == ["a/0", "part", "c/2"]
            assert await steps(store, latest=True, session_id="c") == ["c/2"]
            assert await steps(store, latest=True, agent_id="x") == ["a/0", "c/2"]
            assert await steps(store, latest=True, status="running") == ["a/0", "b/1", "c/2"]
            assert await steps(store, latest=True, max_iteration=1) == ["a/0", "part", "c/1"]
            assert await steps(store, latest=True, limit=1, offset=1) == ["part"]
            assert await steps(store, latest=True, agent_id="nobody") == []

    async def test_sessions_of_an_agent(self) -> None:
        async with self.opened() as store:
            await agents(store)
            found = (await store.sessions(SessionsOf(agent_id="x"))).sessions
            assert [each.session_id for each in found] == ["c", "a"]
            for each in found:
                assert each.state == await snapshot(store, each.session_id)
                assert (each.status, each.iteration) == ("created", 0)
                assert (each.first_at, each.last_at) == (each.state.created_at, BEGIN)
            limited = await store.sessions(SessionsOf(agent_id="x", limit=1))
            assert limited.sessions == found[:1]
            assert (await store.sessions(SessionsOf(agent_id="nobody"))).sessions == ()

    async def test_sessions_without_a_snapshot_are_told_by_their_steps(self) -> None:
        async with self.opened() as store:
            await agents(store)
            await self.forget_state(store, "c")
            kept, forgotten = (await store.sessions(SessionsOf(agent_id="x"))).sessions[::-1]
            if kept.session_id != "a":
                kept, forgotten = forgotten, kept
            assert (kept.session_id, forgotten.session_id) == ("a", "c")
            assert kept.state is not None
            assert forgotten.state is None
            assert (forgotten.agent_id, forgotten.status) == ("x", "running")
            assert forgotten.iteration == 3  # of the next step, as a snapshot's
            assert (forgotten.first_at, forgotten.last_at) == (BEGIN, BEGIN + 2)
            assert await steps(store, latest=True, session_id="c") == ["c/2"]

    async def test_all_of_it_is_there_after_a_restart(self) -> None:
        async with self.opened() as store:
            await store.save_conversation(conversation())
            await store.join(participant("p"))
            await begin(store, conversation_id="c")
            await enqueue(store, action("a"), action("b", urgency=1))
            assert await claimed(store) == "b"
            await write(store, steps=(step(),), messages=(message("m"),))
            await store.advance(Cursor(session_id="s", conversation_id="c", last_message_id="m"))
            before = await _all(store)
            store = await self.reopen(store)
            try:
                assert await _all(store) == before
                assert await claimed(store, "two") is None  # leases last on
                assert await claimed(store, held=()) == "b"
                await finish(store, "b")
                assert await claimed(store, held=()) == "a"
                assert await claimed(store, "two", LEASE + 1) == "a"
            finally:
                await store.close()


async def _all(store: RuntimeStore) -> list[object]:
    return [
        await store.actions(ActionQuery()),
        await store.states(StateQuery()),
        await store.steps(StepQuery()),
        await store.conversations(ConversationQuery()),
        await store.participants(ParticipantQuery(conversation_id="c")),
        await store.messages(MessageQuery(conversation_id="c")),
        await store.cursor(CursorQuery(session_id="s", conversation_id="c")),
    ]
