"""The state of all sessions: counts, groups of like errors, and a filtered page."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.fleet import (
    MAX_ERROR_CHARS,
    MAX_WORDS_CHARS,
    FleetQuery,
    FleetReport,
    FleetStatus,
    make_error_key,
)
from ....protocol.runtime import ActionStatus, SessionStatus, StepLoss
from ....protocol.runtime_store_messages import DiscardAction, RetryAction, SessionWrite
from ..base import RuntimeStore
from .base_suite import (
    START_TIME,
    BaseSuite,
    claim_action,
    create_session,
    enqueue_actions,
    make_action,
    make_completion,
)

_LOSS = StepLoss(worker="one", at=START_TIME + 1, ending="was killed by signal 9")


async def add_session(
    store: RuntimeStore, session_id: str, at: float = 0.0, moniker: str = "joke", **fields: Any
) -> None:
    """Add a session that began some seconds after the beginning, in the state that its owner writes."""
    made = await create_session(
        store, session_id, moniker=moniker, created_at=START_TIME + at, updated_at=START_TIME + at
    )
    claimed = await claim_action(store)
    assert claimed.action is not None and claimed.action.id == made.action.id
    await store.write(
        SessionWrite(
            session_id=session_id,
            epoch=1,
            owner="one",
            state=replace(made.state, **{"status": SessionStatus.RUNNING, "epoch": 1} | fields),
            finished=(make_completion(made.action.id),),
        )
    )


async def add_one_of_each(store: RuntimeStore) -> None:
    """Add sessions of two monikers in different states, the oldest first."""
    await add_session(store, "runs", 1)
    await add_session(store, "waits for a person", 2, run_id="run 1")
    await add_session(store, "tries", 3, attempt=1, next_try_at=START_TIME + 60, last_error="Late")
    await add_session(store, "paused", 4, status=SessionStatus.PAUSED)
    await add_session(store, "done", 5, "chat", status=SessionStatus.DONE)
    await add_session(store, "broke", 6, "chat", status=SessionStatus.ERROR, last_error="Boom 7")
    await add_session(
        store,
        "kills",
        7,
        status=SessionStatus.ERROR,
        attempt=1,
        losses=(_LOSS,),
        last_error="Step 3 was begun 3 times: 12:00:01 UTC in host-12-ab34cd56",
    )
    await create_session(store, "new", moniker="chat", created_at=START_TIME + 8)


async def read_fleet(store: RuntimeStore, **query: Any) -> FleetReport:
    """Read the fleet; a person has halted `run 1`."""
    return await store.fleet(replace(FleetQuery(limit=100, halted_runs=("run 1",)), **query))


async def list_fleet(store: RuntimeStore, **query: Any) -> list[str]:
    """The sessions of a page."""
    return [each.session_id for each in (await read_fleet(store, **query)).sessions]


class FleetSuite(BaseSuite):
    """All sessions at once."""

    async def test_sessions_are_counted_by_how_they_stand_and_by_moniker(self) -> None:
        """States that differ for a person are counted separately."""
        async with self.opened_store() as store:
            await add_one_of_each(store)
            found = await read_fleet(store, limit=0)
            counts = {(each.moniker, each.status.value): each.count for each in found.counts}
            assert counts == {
                ("joke", "running"): 1,
                ("joke", "halted"): 1,
                ("joke", "retrying"): 1,
                ("joke", "paused"): 1,
                ("joke", "quarantined"): 1,
                ("chat", "done"): 1,
                ("chat", "error"): 1,
                ("chat", "created"): 1,
            }
            assert (found.sessions, found.matching) == ((), 0)
            nobody = await read_fleet(store, limit=0, halted_runs=())
            assert {each.status for each in nobody.counts}.isdisjoint({FleetStatus.HALTED})

    async def test_a_session_that_is_pausing_runs_and_says_so(self) -> None:
        """A pausing session is `paused` only when no step is in progress."""
        async with self.opened_store() as store:
            await add_session(store, "runs", 1)
            await add_session(store, "pauses", 2, is_pausing=True)
            found = await read_fleet(store, status=(FleetStatus.RUNNING,))
            assert [(each.session_id, each.is_pausing) for each in found.sessions] == [
                ("pauses", True),
                ("runs", False),
            ]

    async def test_a_page_has_the_newest_first_and_what_passes_the_filter(self) -> None:
        """A page is a part of the filtered sessions."""
        async with self.opened_store() as store:
            await add_one_of_each(store)
            assert await list_fleet(store, limit=3) == ["new", "kills", "broke"]
            assert await list_fleet(store, limit=2, offset=6) == ["waits for a person", "runs"]
            page = await read_fleet(store, limit=2, moniker="chat")
            assert ([each.session_id for each in page.sessions], page.matching) == (
                ["new", "broke"],
                3,
            )
            for status, name in (
                ("running", "runs"),
                ("halted", "waits for a person"),
                ("retrying", "tries"),
                ("paused", "paused"),
                ("error", "broke"),
                ("quarantined", "kills"),
                ("created", "new"),
            ):
                found = await read_fleet(store, status=(FleetStatus(status),))
                (session,) = found.sessions
                assert (session.session_id, session.status, found.matching) == (name, status, 1)
            two = (FleetStatus.ERROR, FleetStatus.DONE)
            assert await list_fleet(store, status=two) == ["broke", "done"]
            until = await read_fleet(store, created_until=START_TIME + 2)
            assert [each.session_id for each in until.sessions] == ["waits for a person", "runs"]
            assert until.matching == 2

    async def test_a_text_is_found_in_either_case_and_is_no_pattern(self) -> None:
        """The text may occur in agent, session, moniker or error."""
        async with self.opened_store() as store:
            await add_session(store, "100% sure_")
            await add_one_of_each(store)
            assert await list_fleet(store, text="CHAT") == ["new", "broke", "done"]
            assert await list_fleet(store, text="boom") == ["broke"]
            assert await list_fleet(store, text="waits") == ["waits for a person"]
            assert await list_fleet(store, text="0% sure_") == ["100% sure_"]
            assert await list_fleet(store, text="%") == ["100% sure_"]
            assert await list_fleet(store, text="_") == ["100% sure_"]
            assert await list_fleet(store, text="1%e") == []

    async def test_errors_that_differ_in_numbers_are_one_group(self) -> None:
        """The group's key finds its sessions."""
        async with self.opened_store() as store:
            for number in (1, 22, 333):
                await add_session(
                    store,
                    f"s{number}",
                    number,
                    status=SessionStatus.ERROR,
                    last_error=f"Timed out after {number} s in job 5f0c9a1e{number}\nmore {number}",
                )
            await add_session(store, "other", status=SessionStatus.ERROR, last_error="Other")
            await add_session(store, "silent", status=SessionStatus.ERROR)
            await add_session(store, "tries", attempt=1, last_error="Other")
            groups = (await read_fleet(store)).errors
            assert [each.count for each in groups] == [3, 1, 1]
            assert groups[0].message.startswith("Timed out after ")
            assert await list_fleet(store, error=groups[0].key) == ["s333", "s22", "s1"]
            assert await list_fleet(store, error=make_error_key("Other")) == ["other"]
            assert await list_fleet(store, error="") == ["silent"]
            assert await list_fleet(store, error="never seen") == []

    async def test_dead_letters_are_grouped_and_listed_until_somebody_sees_to_them(self) -> None:
        """A retried or discarded action isn't a dead letter any more."""
        async with self.opened_store() as store:
            await add_session(store, "s")
            for number in range(4):
                (action,) = await enqueue_actions(store, make_action(f"a{number}", payload="x"))
                await claim_action(store)
                failed = make_completion(
                    action.id,
                    status=ActionStatus.FAILED,
                    error=f"Refused {number} times" if number < 3 else "Other",
                )
                await store.write(
                    SessionWrite(session_id="s", epoch=1, owner="one", finished=(failed,))
                )
            found = await read_fleet(store)
            assert [each.count for each in found.failed_actions] == [3, 1]
            assert found.actions == ()
            key = found.failed_actions[0].key
            listed = (await read_fleet(store, failed_action=key)).actions
            assert [(each.id, each.session_id, each.error) for each in listed] == [
                (f"a{number}", "s", f"Refused {number} times") for number in range(3)
            ]
            await store.discard_action(DiscardAction(id="a0"))
            await store.retry_action(RetryAction(id="a1", new_id="again", now=START_TIME + 9))
            left = await read_fleet(store, failed_action=key)
            assert [each.id for each in left.actions] == ["a2"]
            assert sorted(each.count for each in left.failed_actions) == [1, 1]

    async def test_a_listed_session_has_its_story_and_is_small(self) -> None:
        """A listed session has its last step's text, but neither its state nor its result."""
        async with self.opened_store() as store:
            await add_session(
                store,
                "s",
                state="x" * 100_000,
                context={"large": "x" * 100_000},
                result={"text": "y" * 5000, "data": None, "done": False},
                attempt=2,
                next_try_at=START_TIME + 60,
                losses=(_LOSS,),
                last_error="z" * 5000,
                run_id="run 9",
                iteration=7,
            )
            (session,) = (await read_fleet(store)).sessions
            assert session.words == "y" * MAX_WORDS_CHARS
            assert session.last_error == "z" * MAX_ERROR_CHARS
            assert (session.status, session.attempt, session.next_try_at) == (
                FleetStatus.RETRYING,
                2,
                START_TIME + 60,
            )
            assert (session.losses, session.run_id, session.iteration) == ((_LOSS,), "run 9", 7)
            for number, result in enumerate((None, "text", {"text": 7}, {"data": 1}, [1])):
                await add_session(store, f"r{number}", result=result)
            assert {each.words for each in (await read_fleet(store)).sessions[:5]} <= {"", "7"}

    async def test_sessions_of_halted_runs_are_named(self) -> None:
        """The sessions whose run may still be live are named, whatever the filter."""
        async with self.opened_store() as store:
            await add_session(store, "a", run_id="run 1")
            await add_session(store, "b", run_id="run 2", status=SessionStatus.PAUSED)
            await add_session(store, "c", run_id="run 3")
            await add_session(store, "d", run_id="run 4", status=SessionStatus.DONE)
            halted = ("run 2", "run 1", "run 4", "nobody's")
            found = await read_fleet(store, limit=0, halted_runs=halted)
            assert {each.run_id: each.session_id for each in found.halted} == {
                "run 1": "a",
                "run 2": "b",
            }
