"""What LanceDB's store keeps outlives kills and power cuts, and is never overwritten."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentstepper_nb.errors import StoreError, StoreLockedError
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import MessageQuery, StateQuery, StepQuery
from agentstepper_nb.store.lance import LanceRuntimeStore, row_store
from agentstepper_nb.store.lance.journal import JOURNAL
from agentstepper_nb.store.lance.table_specs import ACTIONS, ALL_TABLES, STATES, STEPS, Row
from agentstepper_nb.store.lance.tables import Tables

pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")

from agentstepper_nb.store.runtime.conformance.base_suite import (  # noqa: E402
    begin_session,
    claim_action_id,
    create_session,
    enqueue_actions,
    make_action,
    make_conversation,
    make_message,
    make_step,
    read_action_ids,
    read_snapshot,
    write_session,
)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[LanceRuntimeStore]:
    store = await LanceRuntimeStore.open(folder)
    try:
        yield store
    finally:
        await store.close()


async def live_through(store: LanceRuntimeStore, steps: int) -> None:
    """A session is begun, does steps, and says so."""
    await store.save_conversation(make_conversation())
    standing = await begin_session(store)
    for n in range(steps):
        await write_session(
            store,
            state=standing,
            steps=(make_step(iteration=n),),
            messages=(make_message(f"m{n}", n),),
        )


async def see_all(store: LanceRuntimeStore, steps: int) -> None:
    found = (await store.steps(StepQuery(session_id="s", limit=1000))).steps
    assert found == tuple(make_step(iteration=n) for n in range(steps))
    said = (await store.messages(MessageQuery(conversation_id="c", limit=1000))).messages
    assert [each.message_id for each in said] == [f"m{n}" for n in range(steps)]
    assert (await read_snapshot(store)).status is SessionStatus.RUNNING
    assert await read_action_ids(store, status="done") == ["create s"]


def copied(store: LanceRuntimeStore, to: Path) -> Path:
    """The folder as a kill would leave it now."""
    shutil.copytree(store._row_store.folder, to)
    return to


def cut_power(store: LanceRuntimeStore, folder: Path) -> int:
    """Empty what the store hasn't synced, in a copy of its folder; how many files that are."""
    safe = {
        Path(path).relative_to(store._row_store.folder) for path in store._row_store.tables._safe
    }
    lost = [
        path
        for path in folder.rglob("*")
        if path.is_file() and ".lance" in str(path) and path.relative_to(folder) not in safe
    ]
    for path in lost:
        path.write_bytes(b"")
    return len(lost)


# ---- nothing is overwritten ---------------------------------------------------------------------


async def test_a_folder_has_one_owner_and_keeps_its_rows(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await live_through(store, 2)
        with pytest.raises(StoreLockedError):
            await LanceRuntimeStore.open(tmp_path)
        await see_all(store, 2)
    for _ in range(2):
        async with opened(tmp_path) as store:
            await see_all(store, 2)


async def test_of_many_that_open_a_folder_one_has_it_and_its_rows_stay(tmp_path: Path) -> None:
    for n in range(3):
        several = await asyncio.gather(
            *(LanceRuntimeStore.open(tmp_path) for _ in range(3)), return_exceptions=True
        )
        (store,) = [each for each in several if isinstance(each, LanceRuntimeStore)]
        assert sum(isinstance(each, StoreLockedError) for each in several) == 2
        await create_session(store, f"{n}")
        await store.close()
    async with opened(tmp_path) as store:
        assert await read_action_ids(store) == ["create 0", "create 1", "create 2"]


async def test_a_key_that_is_merged_many_times_at_once_is_one_row(tmp_path: Path) -> None:
    first = await Tables.open(tmp_path)
    several = [first, *await asyncio.gather(*(Tables.open(tmp_path) for _ in range(3)))]
    rows = [Row(n, make_action(f"{n}")) for n in range(8)]
    await asyncio.gather(*(tables.merge(ACTIONS, rows) for tables in several))
    for tables in several:
        tables.close()
    tables = await Tables.open(tmp_path)
    assert sorted(await tables.select(ACTIONS), key=lambda row: row.number) == rows
    tables.close()


# ---- kills and power cuts -----------------------------------------------------------------------


async def test_a_kill_before_the_tables_follow_loses_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "here") as store:
        await live_through(store, 3)
        assert await store._row_store.tables.select(STEPS) == []  # the journal alone has them
        killed = copied(store, tmp_path / "killed")
    for _ in range(2):  # what was put right stays so
        async with opened(killed) as store:
            await see_all(store, 3)


async def test_a_power_cut_loses_what_the_tables_had_not_synced_and_the_journal_has_it(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "here") as store:
        await live_through(store, 2)
        await store._row_store._restart_journal()  # safe from here on
        for n in range(2, 6):
            await write_session(
                store, steps=(make_step(iteration=n),), messages=(make_message(f"m{n}", n),)
            )
            await see_all(store, n + 1)  # the tables follow, unsynced
        killed = copied(store, tmp_path / "killed")
        assert cut_power(store, killed) > 8
    async with opened(killed) as store:
        await see_all(store, 6)


async def test_a_power_cut_on_the_first_day(tmp_path: Path) -> None:
    async with opened(tmp_path / "here") as store:
        await live_through(store, 2)
        await see_all(store, 2)
        killed = copied(store, tmp_path / "killed")
        assert cut_power(store, killed) > 0
    async with opened(killed) as store:
        await see_all(store, 2)


async def test_a_power_cut_while_the_tables_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tables, "sync", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await LanceRuntimeStore.open(tmp_path)
    monkeypatch.undo()
    for path in (tmp_path / f"{STEPS.name}.lance").rglob("*.manifest"):
        path.write_bytes(b"")
    async with opened(tmp_path) as store:
        await live_through(store, 2)
        await see_all(store, 2)


async def test_without_a_journal_the_tables_open_with_what_they_have(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await live_through(store, 2)
    (tmp_path / JOURNAL).unlink()
    async with opened(tmp_path) as store:
        await see_all(store, 2)
        await write_session(
            store, steps=(make_step(iteration=2),), messages=(make_message("m2", 2),)
        )
        await see_all(store, 3)  # in their order: numbers go on


async def test_a_kill_in_the_midst_of_compacting_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path / "here") as store:
        await live_through(store, 3)
        tables = store._row_store.tables
        copies: list[Path] = []

        def watch(name: str) -> None:
            plain = getattr(Tables, name)

            async def watched(self: Tables, *args: object) -> None:
                await plain(self, *args)
                copies.append(copied(store, tmp_path / f"{name} {len(copies)}"))
                cut_power(store, copies[-1])

            monkeypatch.setattr(Tables, name, watched)

        for name in ("merge", "compact", "prune"):
            watch(name)
        await store._row_store._restart_journal()
        assert tables is store._row_store.tables
        monkeypatch.undo()
    assert {each.name.split()[0] for each in copies} == {"merge", "compact", "prune"}
    for each in copies:
        async with opened(each) as store:
            await see_all(store, 3)


async def test_a_claim_outlives_a_kill(tmp_path: Path) -> None:
    async with opened(tmp_path / "here") as store:
        await begin_session(store)
        await enqueue_actions(store, make_action("a"))
        assert await claim_action_id(store) == "a"
        killed = copied(store, tmp_path / "killed")
    async with opened(killed) as store:
        assert await claim_action_id(store, "two") is None
        assert await claim_action_id(store, "one") == "a"  # whose answer got lost with it


# ---- while it runs ------------------------------------------------------------------------------


async def test_who_stops_waiting_leaves_nothing_half_done(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.save_conversation(make_conversation())
        await begin_session(store)
        for n in range(6):
            request = asyncio.create_task(
                write_session(
                    store, steps=(make_step(iteration=n),), messages=(make_message(f"m{n}", n),)
                )
            )
            for _ in range(n):
                await asyncio.sleep(0)
            request.cancel()
            await asyncio.wait((request,))
        steps = (await store.steps(StepQuery())).steps
        said = (await store.messages(MessageQuery(conversation_id="c"))).messages
        assert [f"m{each.iteration}" for each in steps] == [each.message_id for each in said]


async def test_the_tables_follow_though_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = asyncio.Event()
    plain = Tables.merge

    async def merge(self: Tables, *args: object) -> None:
        await plain(self, *args)  # type: ignore[arg-type]
        followed.set()

    monkeypatch.setattr(Tables, "merge", merge)
    monkeypatch.setattr(row_store, "_MERGE_DELAY_S", 0.0)
    async with opened(tmp_path) as store:
        await create_session(store)
        await followed.wait()


async def test_versions_and_the_journal_stay_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_store, "_MAX_MERGES", 5)
    async with opened(tmp_path) as store:
        await begin_session(store)
        for n in range(20):
            await write_session(store, steps=(make_step(iteration=n),))
            await store.steps(StepQuery())
        manifests = tmp_path / f"{STEPS.name}.lance" / "_versions"
        assert len(list(manifests.glob("*.manifest"))) <= 8
        assert store._row_store._journal.entries <= 6
        found = (await store.steps(StepQuery())).steps
        assert [each.iteration for each in found] == list(range(20))


async def test_large_tables_get_indexes_and_answer_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await begin_session(store)
        await write_session(store, steps=tuple(make_step(iteration=n) for n in range(1200)))
        table = store._row_store.tables._tables[STEPS.name]
        await store._row_store._restart_journal()
        there = {index.columns[0] for index in await table.list_indices()}
        assert there == {"key", *STEPS.indexed_columns}
        await write_session(store, steps=(make_step(iteration=1200),))
        last = (await store.steps(StepQuery(session_id="s", latest=True))).steps
        assert [each.iteration for each in last] == [1200]
        some = await store.steps(StepQuery(session_id="s", min_iteration=1198, limit=2, offset=1))
        assert [each.iteration for each in some.steps] == [1199, 1200]


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = await LanceRuntimeStore.open(tmp_path)
    await store.close()
    await store.close()
    for call in (store.states(StateQuery()), create_session(store)):
        with pytest.raises(StoreError, match="is closed"):
            await call


# ---- damage -------------------------------------------------------------------------------------


async def test_what_another_program_put_into_the_tables_of_a_closed_store_stays(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        await begin_session(store)
    tables = await Tables.open(tmp_path)
    (row,) = await tables.select(STATES)
    await tables._tables[STATES.name].update({"last_error": "put there"})
    tables.close()
    async with opened(tmp_path) as store:
        assert (await read_snapshot(store)).last_error == "put there"
    assert row.value.last_error is None


@pytest.mark.parametrize("part", ["_versions", "data"])
async def test_a_damaged_table_is_said_to_be(tmp_path: Path, part: str) -> None:
    async with opened(tmp_path) as store:
        await begin_session(store)
        await write_session(store, steps=(make_step(),))
    for path in (tmp_path / f"{STEPS.name}.lance" / part).iterdir():
        path.write_bytes(b"")
    with pytest.raises(
        StoreError, match=f"The table {STEPS.name} in .* restore a copy of the folder"
    ):
        async with opened(tmp_path) as store:
            await store.steps(StepQuery())


def test_every_field_is_a_column() -> None:
    for spec in ALL_TABLES:
        assert tuple(spec.columns) == spec.type.__struct_fields__
