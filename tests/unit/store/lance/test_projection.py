"""The guide's tables in LanceDB are as the store's rows, whatever was written twice or not at all."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import StoreError
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_requests import AgentSearch
from agentstepper_nb.protocol.runtime_store_messages import ChangeQuery
from agentstepper_nb.store.lance.columns import KEY_COLUMNS, decode_columns
from agentstepper_nb.store.lance.projection import Embed, Projection
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance.base_suite import (
    begin_session,
    create_session,
    make_conversation,
    make_message,
    make_participant,
    make_step,
    read_snapshot,
    write_session,
)
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from agentstepper_nb.store.runtime.sqlite.queries import CHANGED_TABLES
from tests.helpers.lance_tables import connect
from tests.helpers.sampling import select_sample

pytestmark = pytest.mark.slow


@pytest.fixture
def store() -> Iterator[RuntimeStore]:
    opened = SqliteRuntimeStore(None)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tables"


@asynccontextmanager
async def opened(
    folder: Path, embed: Embed | None = None, place: str = "here", **how: Any
) -> AsyncIterator[Projection]:
    projection = await Projection.open(str(folder), place, embed, **how)
    try:
        yield projection
    finally:
        projection.close()


async def follow(store: RuntimeStore, projection: Projection, limit: int = 1000) -> None:
    """Write all that is new."""
    while True:
        changed = await store.changes(ChangeQuery(after=projection.last, limit=limit))
        if changed.last == projection.last:
            return
        await projection.write(changed)


async def fill(store: RuntimeStore) -> None:
    """A row of each kind, and what JSON and text can be."""
    await store.save_conversation(make_conversation(tags=("a", "ü'\"")))
    await store.join(make_participant("p"))
    running = await begin_session(store, config={"x": [1, None, {"y": 0.5}]})
    await create_session(store, "waits")
    await write_session(
        store,
        state=replace(running, iteration=2, state={"n": 1}),
        steps=(
            make_step(text="A joke about loops", data=[1, "two"], latency_ms=1.5),
            make_step(iteration=1, text=None, error="It's broken"),
        ),
        messages=(make_message("m", text="Somebody laughed at loops"),),
    )


def table_rows(folder: Path, name: str) -> dict[str, Any]:
    """A table's values by their keys, read as another program would; each key is there once."""
    (table,) = (each for each in CHANGED_TABLES.values() if each.name == name)
    rows = connect(folder).open_table(name).to_arrow().to_pylist()
    found = {row[KEY_COLUMNS[name]]: decode_columns(table, row) for row in rows}
    assert len(found) == len(rows)
    return found


async def assert_same(store: RuntimeStore, folder: Path) -> None:
    """The tables have the store's rows, and no others."""
    changed = await store.changes(ChangeQuery(limit=1000))
    for kind, table in CHANGED_TABLES.items():
        rows = getattr(changed, kind)
        key = KEY_COLUMNS[table.name]
        assert table_rows(folder, table.name) == {getattr(row, key): row for row in rows}


async def test_the_tables_have_all_rows(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection)
    await assert_same(store, folder)
    assert len(table_rows(folder, "agent_steps")) == 2


@pytest.mark.parametrize("uri", ["file://{folder}", "memory://agents"])
async def test_a_place_may_be_an_address(store: RuntimeStore, folder: Path, uri: str) -> None:
    await fill(store)
    projection = await Projection.open(uri.format(folder=folder), "here")
    await follow(store, projection)
    found = await projection.search(AgentSearch(text="joke"))
    assert [hit.step.id for hit in found.hits if hit.step] == ["s/0"]
    projection.close()


async def test_columns_are_the_guides(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection)
    table = connect(folder).open_table("agent_steps").to_arrow()
    row = table.to_pylist()[0]
    assert (row["session_id"], row["iteration"], row["latency_ms"]) == ("s", 0, 1.5)
    assert msgspec.json.decode(row["data"]) == [1, "two"]
    (state,) = (
        row
        for row in connect(folder).open_table("agent_state").to_arrow().to_pylist()
        if row["session_id"] == "s"
    )
    assert (state["status"], state["step"], state["state"]) == ("running", False, '{"n":1}')
    assert "owner" not in state


async def test_rows_that_change_take_their_place(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection, limit=2)
        await write_session(
            store,
            state=replace(await read_snapshot(store), status=SessionStatus.DONE, iteration=9),
        )
        await follow(store, projection, limit=2)
        assert table_rows(folder, "agent_state")["s"].iteration == 9
    await assert_same(store, folder)


async def test_it_goes_on_where_it_was(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection)
        last = projection.last
    await write_session(store, steps=(make_step(iteration=2),))
    async with opened(folder) as projection:
        assert projection.last == last > 0
        await follow(store, projection)
    await assert_same(store, folder)


async def test_a_batch_whose_number_was_not_noted_is_written_again(
    store: RuntimeStore, folder: Path, tmp_path: Path
) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection, limit=3)
    shutil.copytree(folder / "projection.lance", tmp_path / "before")
    await write_session(store, steps=(make_step(iteration=2),))
    async with opened(folder) as projection:
        await follow(store, projection)
    shutil.rmtree(folder / "projection.lance")
    shutil.copytree(tmp_path / "before", folder / "projection.lance")  # as a kill leaves it
    async with opened(folder) as projection:
        await follow(store, projection)
    await assert_same(store, folder)


@pytest.mark.parametrize(
    "steps", select_sample((16, 60), 16)
)  # more than fifty compact by themselves
async def test_compacting_loses_nothing(store: RuntimeStore, folder: Path, steps: int) -> None:
    await fill(store)
    async with opened(folder) as projection:
        for number in range(2, steps):
            await write_session(store, steps=(make_step(iteration=number),))
            await follow(store, projection)
        await projection.compact()
    await assert_same(store, folder)
    table = connect(folder).open_table("agent_steps")
    assert {column for index in table.list_indices() for column in index.columns} == {"id", "text"}


# ---- what isn't this store's ----------------------------------------------------------------------


async def test_tables_of_another_store_are_refused(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection)
    with pytest.raises(StoreError, match="background agents of here, not those of there"):
        await Projection.open(str(folder), "there")
    async with opened(folder, place="there", rebuild=True) as projection:
        assert projection.last == 0
        assert table_rows(folder, "agent_steps") == {}


@pytest.mark.parametrize("rebuild", [False, True])
async def test_tables_of_another_program_are_never_touched(folder: Path, rebuild: bool) -> None:
    connect(folder).create_table("actions", [{"mine": 1}])
    with pytest.raises(StoreError, match="has tables of other programs"):
        await Projection.open(str(folder), "here", rebuild=rebuild)
    assert connect(folder).open_table("actions").count_rows() == 1


async def test_other_columns_are_refused_and_built_again(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection)
    connect(folder).open_table("agent_state").drop_columns(["run_id"])
    with pytest.raises(StoreError, match=r"agent_state in .* has other columns.*--rebuild"):
        await Projection.open(str(folder), "here")
    async with opened(folder, rebuild=True) as projection:
        await follow(store, projection)
    await assert_same(store, folder)


@pytest.mark.parametrize("name", ["agent_steps", "projection"])
async def test_a_table_that_the_power_took_is_built_again(
    store: RuntimeStore, folder: Path, name: str
) -> None:
    await fill(store)
    async with opened(folder) as projection:
        await follow(store, projection)
    for path in (folder / f"{name}.lance" / "_versions").iterdir():
        path.write_bytes(b"")
    with pytest.raises(StoreError, match=r"can't be used: .* --rebuild"):
        await Projection.open(str(folder), "here")
    async with opened(folder, rebuild=True) as projection:
        await follow(store, projection)
    await assert_same(store, folder)


async def test_without_lancedb_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(StoreError, match=r'pip install "agentstepper_nb\[lance\]"'):
        await Projection.open(str(folder), "here")


# ---- search ---------------------------------------------------------------------------------------


async def search(projection: Projection, text: str, **which: Any) -> list[str]:
    found = await projection.search(AgentSearch(text=text, **which))
    assert [hit.score for hit in found.hits] == sorted((h.score for h in found.hits), reverse=True)
    return [hit.step.id if hit.step else hit.message.message_id for hit in found.hits]  # type: ignore[union-attr]


async def test_words_are_found_in_steps_and_messages(store: RuntimeStore, folder: Path) -> None:
    async with opened(folder) as projection:
        assert await search(projection, "loops") == []  # nothing is there yet
        await fill(store)
        await follow(store, projection)
        assert sorted(await search(projection, "LOOPS")) == ["m", "s/0"]
        assert await search(projection, "loops", session_id="s") == ["s/0"]
        assert await search(projection, "loops", agent_id="agent") == ["s/0"]
        assert await search(projection, "loops", conversation_id="c") == ["m"]
        assert await search(projection, "loops", session_id="it's") == []
        assert len(await search(projection, "loops", limit=1)) == 1
        assert await search(projection, "nothing of that") == []
        # What came after the index was made is found as well.
        await write_session(store, steps=(make_step(iteration=5, text="loops, loops and loops"),))
        await follow(store, projection)
        assert sorted(await search(projection, "loops")) == ["m", "s/0", "s/5"]


def embed(texts: list[str]) -> Sequence[Sequence[float]]:
    """Two meanings: what is round, and what is funny."""
    meanings = [("loop", "ring", "circle"), ("joke", "laugh", "pun")]
    return [
        [float(any(w in text.lower() for w in words)) + 0.01 for words in meanings]
        for text in texts
    ]


async def test_with_vectors_meanings_are_found(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    async with opened(folder, embed) as projection:
        await write_session(store, steps=(make_step(iteration=3, text="Taxes are due"),))
        await follow(store, projection)
        found = await search(projection, "a pun on a circle")
        assert found.index("s/0") < found.index("s/3")
        assert (await search(projection, "a pun on a circle", session_id="s"))[0] == "s/0"
        assert await search(projection, "circle", session_id="none") == []
    row = connect(folder).open_table("agent_steps").search().where("id = 's/0'").to_list()[0]
    assert row["vector"] == pytest.approx([1.01, 1.01])
    with pytest.raises(StoreError, match="or with another --embed"):
        await Projection.open(str(folder), "here")


async def test_an_embedding_that_fails_loses_nothing(store: RuntimeStore, folder: Path) -> None:
    await fill(store)
    how = "well"

    def fails(texts: list[str]) -> Sequence[Sequence[float]]:
        if how == "not at all":
            raise ConnectionError("no model")
        vectors = list(embed(texts))
        return vectors if how == "well" else [vectors[0][:1], *vectors[1:]]

    async with opened(folder, fails) as projection:
        how = "not at all"
        with pytest.raises(StoreError, match=r"embedding function failed: .*no model"):
            await follow(store, projection)
        how = "short"
        with pytest.raises(StoreError, match=r"embedding function failed: .*2 numbers each"):
            await follow(store, projection)
        how = "well"
        await follow(store, projection)
    await assert_same(store, folder)
