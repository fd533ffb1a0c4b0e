"""Nobody is shown what isn't recorded yet, however they ask."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from agentstepper_nb.hub import pagination
from agentstepper_nb.store import open_store
from tests.helpers.loops import settle
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub


@contextmanager
def nothing_is_written(folder: Path) -> Iterator[None]:
    """Hold the store's write lock: its writer waits meanwhile."""
    with closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_an_end_isn_t_shown_before_it_is_recorded(tmp_path: Path) -> None:
    asyncio.run(_end(tmp_path))


async def _end(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    agent, person = ScriptedAgent("r"), ScriptedView(hub)
    await agent.connect(hub)
    await person.connection.receive("run")
    with nothing_is_written(tmp_path):
        agent.send_bye()
        late = ScriptedView(hub)
        reads = (hub.wait_listed(), hub.history("r"), pagination.read_opened_run(hub, "r"))
        listed, whole, opened = (asyncio.ensure_future(each) for each in reads)
        await settle()
        assert not hub.run("r").live
        assert person.connection.take_bodies("run") == []
        assert late.connection.sent == []
        assert not (listed.done() or whole.done() or opened.done())
    hello = await late.connection.receive("hello")
    assert [run["state"] for run in hello["runs"]] == ["idle"]
    assert [run.live for run in await listed] == [False]
    assert not (await whole).run.live
    assert not (await opened).run.live
    assert (await person.connection.receive("run"))["run"]["ending"] == "finished"
    await hub.close()
