"""Changes: rows by the numbers of their last changes, as a projection reads them."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import ActionStatus, ConversationStatus, SessionStatus
from ....protocol.runtime_store_messages import ChangedRows, ChangeQuery, EndParticipation
from ..base import RuntimeStore
from .base_suite import (
    START_TIME,
    BaseSuite,
    assert_refused,
    begin_session,
    claim_action,
    create_session,
    enqueue_actions,
    make_action,
    make_completion,
    make_conversation,
    make_message,
    make_participant,
    make_state,
    make_step,
    read_action,
    read_snapshot,
    write_session,
)
from .conversation_suite import post_messages
from .lease_suite import renew_leases

#: The field of a row that a reader knows it by.
KEYS = {
    "states": "session_id",
    "steps": "id",
    "actions": "id",
    "messages": "message_id",
    "participants": "participant_id",
    "conversations": "conversation_id",
}


async def read_changes(store: RuntimeStore, after: int = 0, limit: int = 1000) -> ChangedRows:
    """Read one batch of changes."""
    return await store.changes(ChangeQuery(after=after, limit=limit))


async def follow(store: RuntimeStore, after: int = 0, limit: int = 1) -> tuple[int, list[Any]]:
    """Read all changes. Returns the last number, and the rows in the order in which they were read."""
    rows: list[Any] = []
    while found := list_rows(changed := await read_changes(store, after, limit)):
        assert len(found) <= limit
        assert changed.last > after
        after = changed.last
        rows += found
    return after, rows


def list_rows(changed: ChangedRows) -> list[Any]:
    """All rows of an answer."""
    return [row for kind in KEYS for row in getattr(changed, kind)]


def list_keys(changed: ChangedRows) -> dict[str, list[str]]:
    """The keys of an answer's rows, sorted, by kind; kinds without any are left out."""
    found = {name: getattr(changed, name) for name in KEYS}
    return {
        name: sorted(getattr(row, KEYS[name]) for row in rows)
        for name, rows in found.items()
        if rows
    }


async def write_all_kinds(store: RuntimeStore) -> None:
    """Write a row of each kind."""
    await store.save_conversation(make_conversation())
    await store.join(make_participant("p"))
    running = await begin_session(store)
    await write_session(
        store, state=running, steps=(make_step(),), messages=(make_message("by agent"),)
    )
    await post_messages(store, "by user")


class ChangeSuite(BaseSuite):
    """Changes: each row once, in its present state; no change is missed, and none is reported twice."""

    async def test_an_empty_store_has_no_changes(self) -> None:
        async with self.opened_store() as store:
            assert await read_changes(store) == ChangedRows(last=0)

    async def test_each_kind_of_row_is_a_change(self) -> None:
        async with self.opened_store() as store:
            await write_all_kinds(store)
            changed = await read_changes(store)
            assert list_keys(changed) == {
                "states": ["s"],
                "steps": ["s/0"],
                "actions": ["create s"],
                "messages": ["by agent", "by user"],
                "participants": ["p"],
                "conversations": ["c"],
            }
            assert changed.steps == (make_step(),)
            assert changed.actions == (await read_action(store, "create s"),)
            state = replace(await read_snapshot(store), owner=None, lease_until=None)
            assert [replace(each, owner=None, lease_until=None) for each in changed.states] == [
                state
            ]

    async def test_a_reader_that_goes_on_gets_each_row_once(self) -> None:
        async with self.opened_store() as store:
            await write_all_kinds(store)
            last, rows = await follow(store)
            assert len(rows) == 7
            assert (await read_changes(store)).last == last
            assert await read_changes(store, last) == ChangedRows(last=last)
            await write_session(store, steps=(make_step(iteration=1),))
            changed = await read_changes(store, last)
            assert list_keys(changed) == {"steps": ["s/1"]}

    async def test_a_row_that_changed_again_is_there_once_as_it_stands(self) -> None:
        async with self.opened_store() as store:
            running = await begin_session(store)
            before = (await read_changes(store)).last
            for iteration in range(5):
                running = replace(running, iteration=iteration + 1)
                await write_session(store, state=running)
            assert [each.iteration for each in (await read_changes(store)).states] == [5]
            changed = await read_changes(store, before)
            assert list_keys(changed) == {"states": ["s"]}
            assert changed.last > before

    async def test_claims_ends_and_departures_are_changes(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await store.join(make_participant("p"))
            await create_session(store)
            last = (await read_changes(store)).last

            await claim_action(store)
            changed = await read_changes(store, last)
            assert [each.status for each in changed.actions] == [ActionStatus.CLAIMED]
            assert [each.epoch for each in changed.states] == [1]

            last = changed.last
            await write_session(store, finished=(make_completion("create s"),))
            await store.leave(EndParticipation(participant_id="p", at=START_TIME + 1))
            await store.save_conversation(make_conversation(status=ConversationStatus.CLOSED))
            changed = await read_changes(store, last)
            assert [each.status for each in changed.actions] == [ActionStatus.DONE]
            assert [each.left_at for each in changed.participants] == [START_TIME + 1]
            assert [each.status for each in changed.conversations] == [ConversationStatus.CLOSED]

    async def test_leases_and_repeats_are_no_changes(self) -> None:
        async with self.opened_store() as store:
            running = await begin_session(store)
            await enqueue_actions(store, make_action("input"))
            await claim_action(store)
            written: dict[str, Any] = {"state": running, "steps": (make_step(),)}
            await write_session(store, **written)
            last = (await read_changes(store)).last

            await renew_leases(store, "one", 1.0)
            await write_session(store, **written)
            await enqueue_actions(store, make_action("input"))
            assert await read_changes(store, last) == ChangedRows(last=last)

    async def test_what_is_refused_is_no_change(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            last = (await read_changes(store)).last
            state = make_state(status=SessionStatus.RUNNING)
            await assert_refused(
                "stale_epoch", write_session(store, epoch=7, state=state, steps=(make_step(),))
            )
            assert list_rows(await read_changes(store, last)) == []

    async def test_numbers_go_on_where_the_store_is_opened_again(self) -> None:
        store = await self.open()
        try:
            await write_all_kinds(store)
            last = (await read_changes(store)).last
            store = await self.reopen(store)
            assert list_rows(await read_changes(store, last)) == []
            await write_session(store, steps=(make_step(iteration=1),))
            assert list_keys(await read_changes(store, last)) == {"steps": ["s/1"]}
        finally:
            await store.close()

    async def test_a_number_of_another_store_is_answered_with_a_smaller_one(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            last = (await read_changes(store)).last
            changed = await read_changes(store, last + 1_000_000)
            assert changed.last < last + 1_000_000
            assert list_rows(changed) == []

    async def test_a_reader_beside_writers_misses_nothing(self) -> None:
        sessions, steps = [f"s{number}" for number in range(8)], 12
        async with self.opened_store() as store:
            for session in sessions:
                await begin_session(store, session)

            async def write_steps(session: str) -> None:
                for iteration in range(steps):
                    await write_session(
                        store, session, steps=(make_step(session, iteration=iteration),)
                    )

            writing = asyncio.gather(*map(write_steps, sessions))
            last, found = 0, set()
            while not writing.done():
                last, rows = await follow(store, last, limit=7)
                found |= {row.id for row in rows if hasattr(row, "event_seq")}
                await asyncio.sleep(0)
            await writing
            last, rows = await follow(store, last, limit=7)
            found |= {row.id for row in rows if hasattr(row, "event_seq")}
            assert found == {f"{session}/{n}" for session in sessions for n in range(steps)}
