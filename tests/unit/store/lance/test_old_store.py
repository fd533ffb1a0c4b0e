"""What an earlier version kept in LanceDB is brought over whole, and as often as one likes.

`tests/goldens/lance_store.zip` is of the last version that had a `lance:` store, with what that version
read from it: `closed` was closed, `killed` was killed while tables followed the journal, whose last line
is torn and one of whose newer tables the power took.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from agentstepper_nb.errors import StoreError, StoreLockedError
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    Conversation,
    ConversationCursor,
    ConversationMessage,
    Participant,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    AdoptSessions,
    ConversationQuery,
    CursorQuery,
    MessageQuery,
    ParticipantQuery,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.store.folder_lock import lock_folder
from agentstepper_nb.store.lance.old_store import read_old_store
from agentstepper_nb.store.lance.row_import import ImportReport, RowImport
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance.base_suite import (
    claim_action_id,
    make_step,
    write_session,
)
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore, open_runtime_store
from tests.goldens.test_store import GOLDENS

pytestmark = pytest.mark.slow

ARCHIVE = GOLDENS / "lance_store.zip"
NAMES = ("closed", "killed")


class Rows(Struct, frozen=True):
    """All that a store has, as the archive has it."""

    actions: tuple[Action, ...]
    states: tuple[AgentState, ...]
    steps: tuple[AgentStep, ...]
    conversations: tuple[Conversation, ...]
    participants: tuple[Participant, ...]
    messages: tuple[ConversationMessage, ...]
    cursor: ConversationCursor | None


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Where both stores are."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path / "old")
    return tmp_path / "old"


def expected(old: Path, name: str) -> Rows:
    """What the earlier version read, without leases: no worker has anything of it any more."""
    rows = msgspec.json.decode((old / f"{name}.json").read_bytes(), type=Rows)
    free = {"owner": None, "lease_until": None}
    return replace(
        rows,
        states=tuple(replace(state, **free) for state in rows.states),
        actions=tuple(
            replace(action, status=ActionStatus.QUEUED, **free)
            if action.status is ActionStatus.CLAIMED
            else action
            for action in rows.actions
        ),
    )


async def read_rows(store: RuntimeStore) -> Rows:
    every = 1000
    return Rows(
        actions=(await store.actions(ActionQuery(limit=every))).actions,
        states=(await store.states(StateQuery(limit=every))).states,
        steps=(await store.steps(StepQuery(limit=every))).steps,
        conversations=(await store.conversations(ConversationQuery(limit=every))).conversations,
        participants=(await store.participants(ParticipantQuery(conversation_id="c"))).participants,
        messages=(await store.messages(MessageQuery(conversation_id="c", limit=every))).messages,
        cursor=(await store.cursor(CursorQuery(session_id="live", conversation_id="c"))).cursor,
    )


async def bring_over(folder: Path, store: RuntimeStore) -> ImportReport:
    return await RowImport(store, await read_old_store(folder)).run()


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.parent != folder
    }


@pytest.mark.parametrize("name", NAMES)
async def test_all_rows_come_over_as_often_as_one_likes(
    old: Path, tmp_path: Path, name: str
) -> None:
    wanted, files = expected(old, name), digests(old / name)
    assert len(wanted.steps) >= 4
    assert {action.status for action in wanted.actions} >= {ActionStatus.DONE, ActionStatus.QUEUED}
    store = open_runtime_store(tmp_path / "new")
    for _ in range(2):
        report = await bring_over(old / name, store)
        assert report.refused == []
        assert report.counts["agent_steps"] == len(wanted.steps)
        assert await read_rows(store) == wanted
    await store.close()
    assert digests(old / name) == files


@pytest.mark.parametrize("name", NAMES)
async def test_sessions_go_on_where_they_stood(old: Path, name: str) -> None:
    store = SqliteRuntimeStore(None)
    await bring_over(old / name, store)
    adopted = await store.adopt(AdoptSessions(owner="one", now=2e9, lease_until=2e9 + 10))
    (state,) = adopted.states
    assert (state.session_id, state.iteration, state.losses) == ("live", 2, ())
    assert await claim_action_id(store) == "waiting"  # the more urgent one, and no session is busy
    assert await claim_action_id(store, running_action_ids=("waiting",)) == "create new"
    # What has gone on isn't set back.
    step = make_step("live", 7)
    await write_session(store, "live", epoch=state.epoch, steps=(step,))
    report = await bring_over(old / name, store)
    assert report.refused == []
    assert step in (await store.steps(StepQuery(session_id="live"))).steps
    assert (await store.states(StateQuery(session_id="live"))).states[0].epoch == state.epoch
    await store.close()


async def test_a_row_that_lacks_another_is_reported(old: Path) -> None:
    rows = await read_old_store(old / "closed")
    rows["conversations"] = []
    rows["actions"] = [each for each in rows["actions"] if each.session_id != "over"]
    store = SqliteRuntimeStore(None)
    report = await RowImport(store, rows).run()
    assert any("session over is missing" in reason for reason in report.refused)
    assert any(reason.startswith("conversation_messages:") for reason in report.refused)
    assert report.counts["agent_state"] == 2
    await store.close()


# ---- what is refused ------------------------------------------------------------------------------


async def test_what_is_no_such_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="name the folder that stood after `lance:`"):
        await read_old_store(tmp_path / "nowhere")


async def test_a_worker_of_before_that_runs_is_named(old: Path) -> None:
    with lock_folder(old / "closed", "agentstepper worker"):
        with pytest.raises(StoreLockedError, match="agentstepper worker"):
            await read_old_store(old / "closed")


async def test_a_journal_that_is_hurt_before_its_end_is_refused(old: Path) -> None:
    path = old / "killed" / "journal"
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 30] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"is damaged: line 2\."):
        await read_old_store(old / "killed")


async def test_a_table_that_is_hurt_is_named(old: Path) -> None:
    for path in (old / "closed" / "agent_steps.lance" / "data").iterdir():
        path.write_bytes(b"")
    with pytest.raises(StoreError, match=r"The table agent_steps in .* can't be read"):
        await read_old_store(old / "closed")


async def test_without_its_journal_the_tables_are_as_they_are(old: Path) -> None:
    (old / "closed" / "journal").unlink()
    store = SqliteRuntimeStore(None)
    assert (await bring_over(old / "closed", store)).refused == []
    assert await read_rows(store) == expected(old, "closed")
    await store.close()
