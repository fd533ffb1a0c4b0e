"""The journal alone: a line is there whole or not at all, and what is hurt is told from what is torn."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentstepper_nb.errors import NewerStoreError, StoreError
from agentstepper_nb.protocol.runtime import Action, ActionKind
from agentstepper_nb.store.lance import journal as module
from agentstepper_nb.store.lance.journal import JOURNAL, Journal, JournalHeader
from agentstepper_nb.store.lance.table_specs import ACTIONS, Changes, Row


def change(id: str, n: int = 1, **fields: object) -> Changes:
    action = Action(
        id=id,
        created_at=1.0,
        kind=ActionKind.INPUT,
        agent_id="a",
        session_id="s",
        **fields,  # type: ignore[arg-type]
    )
    changes = Changes()
    changes.put(ACTIONS, Row(n, action))
    return changes


def ids(found: list[Changes]) -> list[str]:
    return [row.value.id for changes in found for row in changes.rows_of(ACTIONS)]


@pytest.fixture
def journal_folder(tmp_path: Path) -> Path:
    """A folder whose journal has a head and three changes."""
    journal, header, found = Journal.open(tmp_path)
    assert (header, found) == (None, [])
    journal.restart(JournalHeader(last_number=7, versions={"actions": 3}))
    for id in ("one", "two", "three"):
        journal.append(change(id))
    journal.close()
    return tmp_path


def test_what_was_appended_is_read_again(journal_folder: Path) -> None:
    journal, header, found = Journal.open(journal_folder)
    assert header == JournalHeader(last_number=7, versions={"actions": 3})
    assert ids(found) == ["one", "two", "three"]
    assert journal.entries == 3
    journal.close()


def test_wherever_the_end_is_torn_the_lines_before_it_hold(journal_folder: Path) -> None:
    data = (journal_folder / JOURNAL).read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    for length in range(ends[0], len(data)):
        (journal_folder / JOURNAL).write_bytes(data[:length])
        journal, _, found = Journal.open(journal_folder)
        assert len(found) == sum(end <= length for end in ends) - 1
        journal.append(change("next"))
        journal.close()
        again, _, found = Journal.open(journal_folder)
        again.close()
        assert ids(found)[-1] == "next"


def test_zeros_at_the_end_are_a_torn_line(journal_folder: Path) -> None:
    with (journal_folder / JOURNAL).open("ab") as file:
        file.write(bytes(4096))
    journal, _, found = Journal.open(journal_folder)
    journal.close()
    assert ids(found) == ["one", "two", "three"]


def test_a_flipped_byte_before_the_end_is_told(journal_folder: Path) -> None:
    data = (journal_folder / JOURNAL).read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    for at in range(0, last, 7):
        hurt = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
        (journal_folder / JOURNAL).write_bytes(hurt)
        with pytest.raises(StoreError, match=r"is damaged: .* Restore a copy"):
            Journal.open(journal_folder)


def test_a_newer_form_is_refused(journal_folder: Path) -> None:
    journal, _, _ = Journal.open(journal_folder)
    journal.restart(JournalHeader(format=module.FORMAT + 1))
    journal.close()
    with pytest.raises(NewerStoreError, match="upgrade this one"):
        Journal.open(journal_folder)


def test_a_full_disk_keeps_nothing_of_a_change_and_the_next_is_kept(
    journal_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _, _ = Journal.open(journal_folder)

    def half(file: int, data: bytes) -> None:
        os.write(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_write", half)
        with pytest.raises(StoreError, match=r"can't write to .* No space left"):
            journal.append(change("lost"))
    journal.append(change("four"))
    journal.close()
    again, _, found = Journal.open(journal_folder)
    again.close()
    assert ids(found) == ["one", "two", "three", "four"]


def test_after_a_failed_sync_nothing_more_is_promised(
    journal_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _, _ = Journal.open(journal_folder)

    def fail(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_sync", fail)
        with pytest.raises(StoreError, match="failed to sync"):
            journal.append(change("who knows"))
    with pytest.raises(StoreError, match="failed to sync"):
        journal.append(change("four"))
    journal.close()


def test_who_lost_the_folder_to_another_keeps_nothing_more(journal_folder: Path) -> None:
    first, _, _ = Journal.open(journal_folder)
    second, header, _ = Journal.open(journal_folder)  # as if somebody had deleted the lock
    assert header is not None
    second.restart(header)
    with pytest.raises(StoreError, match="Another process took"):
        first.append(change("of the first"))
    with pytest.raises(StoreError):
        first.append(change("of the first"))
    with pytest.raises(StoreError, match="Another process took"):
        first.restart(JournalHeader())
    second.append(change("of the second"))
    first.close()
    second.close()
    again, _, found = Journal.open(journal_folder)
    again.close()
    assert ids(found) == ["of the second"]


def test_what_could_not_be_read_again_is_not_kept(journal_folder: Path) -> None:
    journal, _, _ = Journal.open(journal_folder)
    for bad in (
        change("x", urgency=2**70),
        change("x", payload="\ud800"),
        change("x", attempts=-1),
    ):
        with pytest.raises(ValueError):
            journal.append(bad)
    journal.close()
    again, _, found = Journal.open(journal_folder)
    again.close()
    assert ids(found) == ["one", "two", "three"]


def test_a_new_head_takes_the_place_of_all_before(journal_folder: Path) -> None:
    journal, _, _ = Journal.open(journal_folder)
    journal.restart(JournalHeader(last_number=9))
    assert (journal.entries, journal.size) == (0, (journal_folder / JOURNAL).stat().st_size)
    journal.append(change("four"))
    journal.close()
    again, header, found = Journal.open(journal_folder)
    again.close()
    assert (header, ids(found)) == (JournalHeader(last_number=9), ["four"])
    assert os.listdir(journal_folder) == [JOURNAL]


def test_a_new_head_that_cannot_be_written_leaves_the_old_one(
    journal_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _, _ = Journal.open(journal_folder)

    def full(file: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_write", full)
        with pytest.raises(OSError, match="No space left"):
            journal.restart(JournalHeader(last_number=9))
    journal.append(change("four"))
    journal.close()
    again, header, found = Journal.open(journal_folder)
    again.close()
    assert header == JournalHeader(last_number=7, versions={"actions": 3})
    assert ids(found) == ["one", "two", "three", "four"]
