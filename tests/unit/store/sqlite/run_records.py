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
from tests.helpers.debugger_harness import DebuggerHarness


async def append_records(store: SqliteStore, records: list[Record]) -> None:
    done = asyncio.Event()
    store.append(records, on_synced=done.set)
    await done.wait()


def make_full_run(run: str = "run", text: str = "hello") -> DebuggerHarness:
    """A run with all that a run may have, in which a text stands everywhere."""
    harness = DebuggerHarness()
    harness.start(run, workspace=text)
    event, asked = harness.begin_query(run)
    long = f'"{text} ' + "and so on " * 80 + '"'
    harness.edit(asked, long, run=run)
    harness.step(run=run)
    harness.reach(event, data=long.upper(), run=run, side=harness.debugger.next_side(run, event))
    harness.step(run=run)
    said = harness.post_debug_message(f'"{text}"', run)
    body = FileBody(diff=f"+{text}", content=text * 200, previous_content="")
    change = FileChange(path=f"{text}.py", kind=ChangeKind.ADDED, added=1, body=body)
    binary = FileChange(path="x.png", kind=ChangeKind.CHANGED, binary=True, size=7, digest="d")
    commit = Commit(id="c", run=run, at=1, title=text, changes=(change, binary))
    harness.records.append(CommitSaved(commit=commit))
    harness.debugger.restore(harness.records[-1:])
    harness.note(said, text, run)
    harness.record_summary(harness.find_halt_point(asked), f"A sentence: {text}.")
    harness.tag(text, run=run)
    return harness
