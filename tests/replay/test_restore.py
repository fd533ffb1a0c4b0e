"""Files restored in place: what is there afterwards, and what is put back."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.replay import put_back
from agentstepper_nb.replay.restore import restore_in_place
from agentstepper_nb.replay.restore_journal import JournalFolder
from agentstepper_nb.replay.workspace import find_snapshot
from agentstepper_nb.replay.workspace_report import WorkspaceReport
from agentstepper_nb.sdk.workspace.files import DEFAULT_FILE_LIMITS
from tests.replay.workspace_trees import (
    RecordedRun,
    Tree,
    digest,
    exact,
    trees,
    write_files,
    write_tree,
)
from tests.sdk.workspace.helpers import fingerprint, make_repository

#: Each example takes most of a second: three of them each time, and all in `make soak`.
EXAMPLES = 3 if settings.default.max_examples <= 30 else settings.default.max_examples


def restore(run: RecordedRun, data: Path, row: int) -> WorkspaceReport:
    return restore_in_place(find_snapshot(run.files(), row, data), data)


def read_stored(run: RecordedRun, data: Path, report: WorkspaceReport, path: bytes) -> bytes:
    """A file of the state before a restore, or what put it back."""
    assert report.previous_commit is not None
    repository = find_snapshot(run.files(), 1, data).repository
    with repository.open_blobs() as blobs:
        return blobs.read(repository.list_files(report.previous_commit)[path].blob)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(st.lists(trees(), min_size=1, max_size=2), trees(), trees())
def test_it_restores_a_snapshot_and_puts_back_what_was_there(
    states: list[Tree], present: Tree, of_fork: Tree
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, data = Path(scratch, "project"), Path(scratch, "data").resolve()
        make_repository(folder)
        git = fingerprint(folder / ".git")
        run = RecordedRun(folder, data)
        digests = []
        for state in states:
            write_tree(folder, state)
            run.add_row()
            digests.append(digest(folder))
        write_tree(folder, present)
        before, before_files = exact(folder), digest(folder)
        for row, expected in enumerate(digests, 2):
            restore(run, data, row)
            assert digest(folder) == expected
            put_back(folder, data_dir=data)
            assert exact(folder) == before
        restore(run, data, 2)
        write_tree(folder, of_fork)
        put_back(folder, data_dir=data)
        assert digest(folder) == before_files
        assert fingerprint(folder / ".git") == git


def test_permissions_and_empty_folders_come_back(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "main.py").write_text("print(2)\n")
    (folder / "main.py").chmod(0o640)
    (folder / "secret").mkdir(mode=0o700)
    (folder / "secret/key").touch(0o600)
    run.add_row()
    for path in ("empty", "secret/empty"):
        (folder / path).mkdir()
    before = exact(folder)
    report = restore(run, data, 1)
    assert (folder / "main.py").read_text() == "print(1)\n"
    assert not (folder / "secret/key").exists()
    assert (report.written, report.deleted) == (("main.py",), ("secret/key",))
    put_back(folder, data_dir=data)
    assert exact(folder) == before


def test_only_what_differs_is_written(run: RecordedRun, folder: Path, data: Path) -> None:
    (folder / "other.py").write_text("print(3)\n")
    run.add_row()
    (folder / "main.py").write_text("print(2)\n")
    looked = (folder / "other.py").stat()
    assert restore(run, data, 2).written == ("main.py",)
    assert (folder / "other.py").stat() == looked


def test_restores_are_put_back_newest_first(run: RecordedRun, folder: Path, data: Path) -> None:
    main = folder / "main.py"
    main.write_text("print(2)\n")
    restore(run, data, 1)
    main.write_text("print(3)\n")
    restore(run, data, 1)
    texts = []
    for _ in range(2):
        put_back(folder, data_dir=data)
        texts.append(main.read_text())
    assert texts == ["print(3)\n", "print(2)\n"]
    with pytest.raises(WorkspaceError, match="nothing to put back"):
        put_back(folder, data_dir=data)


def test_what_the_fork_wrote_is_stored_when_it_is_put_back(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    restore(run, data, 1)
    (folder / "main.py").write_text("print('forked')\n")
    report = put_back(folder, data_dir=data)
    assert read_stored(run, data, report, b"main.py") == b"print('forked')\n"


# ---- what isn't stored stays -----------------------------------------------------------------------


def test_ignored_files_stay_and_what_was_restored_among_them_goes(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "late.log").write_text("old\n")
    run.add_row()
    (folder / "late.log").unlink()
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "mine.log").write_text("mine\n")
    before = exact(folder)
    restore(run, data, 2)
    assert (folder / "late.log").read_text() == "old\n"
    assert (folder / "mine.log").read_text() == "mine\n"
    put_back(folder, data_dir=data)
    assert exact(folder) == before


def test_a_present_file_that_the_rules_leave_out_is_replaced_and_comes_back(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "note.txt").write_text("of the agent\n")
    run.add_row()
    (folder / ".gitignore").write_text("note.txt\n")
    (folder / "note.txt").write_text("mine\n")
    before = exact(folder)
    restore(run, data, 2)
    assert (folder / "note.txt").read_text() == "of the agent\n"
    put_back(folder, data_dir=data)
    assert exact(folder) == before


def test_what_the_snapshots_rules_leave_out_is_not_deleted(folder: Path, data: Path) -> None:
    (folder / ".gitignore").write_text(".env\n")
    (folder / ".env").write_text("TOKEN=1\n")
    run = RecordedRun(folder, data)
    (folder / ".gitignore").unlink()
    run.add_row()
    report = restore(run, data, 1)
    assert (folder / ".env").read_text() == "TOKEN=1\n"
    assert [file.path for file in report.left_out] == [".env"]
    run.workspace.close()


def test_large_files_are_neither_replaced_nor_deleted(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "main.py").unlink()
    for name in ("main.py", "new.bin"):
        with (folder / name).open("wb") as file:
            file.truncate(DEFAULT_FILE_LIMITS.max_stored_bytes + 1)
    report = restore(run, data, 1)
    assert sorted(file.path for file in report.left_out) == ["main.py", "new.bin"]
    assert (folder / "main.py").stat().st_size > DEFAULT_FILE_LIMITS.max_stored_bytes
    assert (folder / "new.bin").exists()


def test_a_folder_with_ignored_files_stays_where_a_file_was(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "main.py").unlink()
    (folder / "main.py").mkdir()
    (folder / "main.py/cache.log").write_text("mine\n")
    (folder / ".gitignore").write_text("*.log\n")
    before = exact(folder)
    report = restore(run, data, 1)
    assert (folder / "main.py/cache.log").read_text() == "mine\n"
    assert [file.path for file in report.left_out] == ["main.py"]
    put_back(folder, data_dir=data)
    assert exact(folder) == before


def test_a_pipe_in_a_files_place_stays(run: RecordedRun, folder: Path, data: Path) -> None:
    (folder / "main.py").unlink()
    os.mkfifo(folder / "main.py")
    assert [file.path for file in restore(run, data, 1).left_out] == ["main.py"]
    assert (folder / "main.py").is_fifo()


def test_nothing_is_written_beyond_a_link(
    run: RecordedRun, folder: Path, data: Path, tmp_path: Path
) -> None:
    (folder / "src").mkdir()
    (folder / "src/x.py").write_text("x\n")
    run.add_row()
    (folder / "src").rename(tmp_path / "outside")
    (folder / "src").symlink_to(tmp_path / "outside")
    (tmp_path / "outside/x.py").write_text("mine\n")
    before, outside = exact(folder), fingerprint(tmp_path / "outside")
    restore(run, data, 2)  # the link is stored: a folder takes its place
    assert (folder / "src/x.py").read_text() == "x\n"
    assert not (folder / "src").is_symlink()
    put_back(folder, data_dir=data)
    assert exact(folder) == before
    assert fingerprint(tmp_path / "outside") == outside


def test_nested_repositories_stay(run: RecordedRun, folder: Path, data: Path) -> None:
    nested = make_repository(folder / "vendored", **{"lib.py": "lib\n"})
    git = fingerprint(nested / ".git")
    before = exact(folder)
    restore(run, data, 1)  # of a time before it was there
    assert [path.name for path in nested.iterdir()] == [".git"]
    assert fingerprint(nested / ".git") == git
    put_back(folder, data_dir=data)
    assert exact(folder) == before
    assert fingerprint(nested / ".git") == git


# ---- failures --------------------------------------------------------------------------------------


def fail_at_rename(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let a disk be full from the nth file on that takes its place."""
    rename, calls = os.rename, iter(range(1, 1_000_000))

    def rename_on_full_disk(*args: object, **named: object) -> None:
        if next(calls) >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", rename_on_full_disk)


def test_a_full_disk_is_explained_and_put_back(
    run: RecordedRun, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(folder, "old")
    run.add_row()
    write_files(folder, "new")
    before = exact(folder)
    with monkeypatch.context() as patch:
        fail_at_rename(patch, 7)
        with pytest.raises(WorkspaceError, match=r"can't be restored: .*No space left.*put-back"):
            restore(run, data, 2)
    assert exact(folder) != before
    with pytest.raises(WorkspaceError, match=r"An earlier restore in .*project didn't end"):
        restore(run, data, 2)
    with monkeypatch.context() as patch:
        fail_at_rename(patch, 3)
        with pytest.raises(WorkspaceError, match="No space left"):
            put_back(folder, data_dir=data)
    put_back(folder, data_dir=data)
    assert exact(folder) == before


def test_a_file_that_is_changed_meanwhile_is_not_lost(
    run: RecordedRun, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(folder, "old")
    run.add_row()
    write_files(folder, "new")
    rename = os.rename

    def rename_beside_an_editor(*args: object, **named: object) -> None:
        (folder / "part3/19.txt").write_text("typed meanwhile\n")
        rename(*args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename_beside_an_editor)
        with pytest.raises(WorkspaceError, match=r"part3/19\.txt in .* was changed while"):
            restore(run, data, 2)
    assert (folder / "part3/19.txt").read_text() == "typed meanwhile\n"
    report = put_back(folder, data_dir=data)
    assert (folder / "part3/19.txt").read_text() == "new 19\n"
    assert read_stored(run, data, report, b"part3/19.txt") == b"typed meanwhile\n"


def test_two_restores_at_once_are_refused(run: RecordedRun, folder: Path, data: Path) -> None:
    source = find_snapshot(run.files(), 1, data)
    with (
        JournalFolder(source.repository.git_dir, folder).lock(),
        pytest.raises(WorkspaceError, match="Another process is restoring files"),
    ):
        restore(run, data, 1)


@pytest.mark.parametrize(
    ("restores", "said"), [(1, "nothing to put back"), (2, "or they were put back in part")]
)
def test_what_another_process_puts_back_meanwhile_is_put_back_once(
    restores: int,
    said: str,
    run: RecordedRun,
    folder: Path,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(restores):
        restore(run, data, 1)
    lock = JournalFolder.lock

    def lock_later(journals: JournalFolder) -> AbstractContextManager[None]:
        monkeypatch.setattr(JournalFolder, "lock", lock)
        put_back(folder, data_dir=data)
        (folder / "main.py").write_text("print('typed since')\n")
        return lock(journals)

    monkeypatch.setattr(JournalFolder, "lock", lock_later)
    with pytest.raises(WorkspaceError, match=said):
        put_back(folder, data_dir=data)
    assert (folder / "main.py").read_text() == "print('typed since')\n"


def test_a_journal_that_cannot_be_read_is_named(run: RecordedRun, folder: Path, data: Path) -> None:
    restore(run, data, 1)
    (journal,) = (find_snapshot(run.files(), 1, data).repository.git_dir / "restores").glob(
        "*.json"
    )
    journal.write_text("{")
    with pytest.raises(
        WorkspaceError, match=r"The journal .*\.json of a restore in .* can't be read"
    ):
        put_back(folder, data_dir=data)
