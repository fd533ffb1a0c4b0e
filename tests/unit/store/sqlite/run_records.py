"""A run with all that a run may have, and a store that is told of it."""

from __future__ import annotations

import asyncio

from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    FileBody,
    FileChange,
)
from agentstepper_nb.protocol.records import (
    CommitSaved,
    Record,
)
from agentstepper_nb.store import SqliteStore
from tests.helpers.stage import Stage


async def keep(store: SqliteStore, records: list[Record]) -> None:
    done = asyncio.Event()
    store.append(records, on_synced=done.set)
    await done.wait()


def told(run: str = "run", text: str = "hello") -> Stage:
    """A run with all that a run may have, in which a text stands everywhere."""
    stage = Stage()
    stage.start(run, workspace=text)
    event, asked = stage.query(run)
    long = f'"{text} ' + "and so on " * 80 + '"'
    stage.edit(asked, long, run=run)
    stage.step(run=run)
    stage.reach(event, data=long.upper(), run=run, side=stage.debugger.next_side(run, event))
    stage.step(run=run)
    said = stage.say(f'"{text}"', run)
    body = FileBody(diff=f"+{text}", content=text * 200, previous_content="")
    change = FileChange(path=f"{text}.py", kind=ChangeKind.ADDED, added=1, body=body)
    binary = FileChange(path="x.png", kind=ChangeKind.CHANGED, binary=True, size=7, digest="d")
    commit = Commit(id="c", run=run, at=1, title=text, changes=(change, binary))
    stage.records.append(CommitSaved(commit=commit))
    stage.debugger.restore(stage.records[-1:])
    stage.note(said, text, run)
    stage.sentence(stage.point(asked), f"A sentence: {text}.")
    stage.tag(text, run=run)
    return stage
