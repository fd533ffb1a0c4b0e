"""The folder of a fork: it has the files of the snapshot at the row, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.replay.content_hashes import ContentHasher
from agentstepper_nb.replay.recordings import RecordedFiles, Recording
from agentstepper_nb.replay.tree_writer import TreeWriter
from agentstepper_nb.replay.workspace import PreparedWorkspace, prepare_workspace
from agentstepper_nb.replay.workspace_report import (
    LeftOutFile,
    WorkspaceMode,
    WorkspaceReport,
    make_notice,
)
from agentstepper_nb.sdk.argument_checks import MAX_NOTICE_CHARS
from agentstepper_nb.sdk.workspace.files import DEFAULT_FILE_LIMITS
from tests.replay.workspace_trees import RecordedRun, Tree, digest, list_tree, trees, write_tree
from tests.sdk.workspace.helpers import fingerprint, make_repository

#: Each example takes most of a second: three of them each time, and all in `make soak`.
EXAMPLES = 3 if settings.default.max_examples <= 30 else settings.default.max_examples


def make_recording(files: RecordedFiles | None) -> Recording:
    return Recording("run-1", "agent", (), ContentHasher(None), files=files)


def prepare(
    run: RecordedRun, data: Path, row: int, mode: WorkspaceMode | str = "fresh"
) -> PreparedWorkspace:
    prepared = prepare_workspace(make_recording(run.files()), row, mode, data_dir=data)
    assert prepared is not None
    return prepared


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(st.lists(trees(), min_size=1, max_size=3))
def test_the_folder_of_a_fork_is_the_snapshot(states: list[Tree]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, data = Path(scratch, "project"), Path(scratch, "data")
        make_repository(folder)
        run = RecordedRun(folder, data)
        digests = []
        for state in states:
            write_tree(folder, state)
            run.add_row()
            digests.append(digest(folder))
        before = fingerprint(folder)
        for row, expected in enumerate(digests, 2):
            assert digest(prepare(run, data, row).path) == expected
        assert fingerprint(folder) == before


def test_a_row_has_the_files_of_the_last_snapshot_before_it(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "main.py").write_text("print(2)\n")
    assert run.add_row() == 1  # the row before the snapshot: it ends with the next one
    assert run.add_row() == 2
    assert (prepare(run, data, 1).path / "main.py").read_text() == "print(1)\n"
    assert (prepare(run, data, 2).path / "main.py").read_text() == "print(2)\n"
    assert (prepare(run, data, 3).path / "main.py").read_text() == "print(2)\n"


def test_a_fork_has_a_folder_of_its_own_each_time(run: RecordedRun, data: Path) -> None:
    first, second = prepare(run, data, 1), prepare(run, data, 1)
    assert first.path != second.path
    assert first.path.name == second.path.name == "project"
    assert first.path.is_relative_to(data.resolve())


def test_no_git_is_in_it(folder: Path, data: Path) -> None:
    make_repository(folder / "vendored")
    run = RecordedRun(folder, data)
    prepared = prepare(run, data, 1)
    assert [path for path, _, _ in list_tree(prepared.path)] == [b"main.py", b"vendored/readme"]
    assert not list(prepared.path.rglob(".git"))


def test_a_run_without_a_workspace_has_no_files() -> None:
    assert prepare_workspace(make_recording(None), 1) is None


def test_a_fork_without_files_is_possible(run: RecordedRun) -> None:
    assert prepare_workspace(make_recording(run.files()), 1, "none") is None


def test_another_machines_snapshots_are_missed(run: RecordedRun, tmp_path: Path) -> None:
    other = make_recording(run.files())
    with pytest.raises(WorkspaceError, match=r"has no snapshot of .*project for that row"):
        prepare_workspace(other, 1, data_dir=tmp_path / "elsewhere")


@pytest.mark.parametrize("commit", ["--help", "f" * 40, "HEAD"])
def test_what_is_no_commit_of_the_workspace_is_refused(
    run: RecordedRun, data: Path, commit: str
) -> None:
    files = run.files()._replace(snapshots=((0, commit),))
    with pytest.raises(WorkspaceError, match="has no snapshot"):
        prepare_workspace(make_recording(files), 1, data_dir=data)


# ---- the working folder ----------------------------------------------------------------------------


def test_a_working_folder_in_the_workspace_is_changed(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "src").mkdir()
    (folder / "src/x.py").touch()
    run = RecordedRun(folder, data)
    monkeypatch.chdir(folder / "src")
    prepared = prepare(run, data, 1)
    with prepared.use():
        assert Path.cwd() == prepared.path / "src"
    assert Path.cwd() == folder / "src"


def test_a_working_folder_elsewhere_stays(
    run: RecordedRun, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared = prepare(run, data, 1)
    assert prepared.cwd is None
    with prepared.use():
        assert Path.cwd() == tmp_path


def test_the_recorded_working_folder_counts_where_it_is_known(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    recording = make_recording(run.files())
    prepared = prepare_workspace(recording, 1, cwd=folder, data_dir=data)
    assert prepared is not None
    assert prepared.cwd == prepared.path


def test_a_working_folder_that_the_snapshot_lacks_is_the_workspace(
    run: RecordedRun, folder: Path, data: Path
) -> None:
    (folder / "later").mkdir()
    prepared = prepare_workspace(
        make_recording(run.files()), 1, cwd=folder / "later", data_dir=data
    )
    assert prepared is not None
    assert prepared.cwd == prepared.path


# ---- what doesn't travel ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_large_file_is_copied_while_it_is_the_same(folder: Path, data: Path) -> None:
    size = DEFAULT_FILE_LIMITS.max_stored_bytes + 1
    for name in ("same.bin", "changed.bin", "shorter.bin", "gone.bin"):
        with (folder / name).open("wb") as file:
            file.truncate(size)
    run = RecordedRun(folder, data)
    with (folder / "changed.bin").open("r+b") as file:
        file.write(b"x")
    os.truncate(folder / "shorter.bin", 3)
    (folder / "gone.bin").unlink()
    prepared = prepare(run, data, 1)
    assert sorted(os.listdir(prepared.path)) == ["main.py", "same.bin"]
    assert (prepared.path / "same.bin").stat().st_size == size
    left_out = {file.path: file.reason for file in prepared.report.left_out}
    assert sorted(left_out) == ["changed.bin", "gone.bin", "shorter.bin"]
    assert "too large to be stored" in left_out["gone.bin"]
    assert "- gone.bin: too large to be stored" in str(prepared.report)


def test_a_large_file_beyond_a_link_is_not_copied(folder: Path, data: Path, tmp_path: Path) -> None:
    size = DEFAULT_FILE_LIMITS.max_stored_bytes + 1
    (folder / "data").mkdir()
    with (folder / "data/large.bin").open("wb") as file:
        file.truncate(size)
    run = RecordedRun(folder, data)
    (folder / "data").rename(tmp_path / "outside")
    (folder / "data").symlink_to(tmp_path / "outside")
    assert [file.path for file in prepare(run, data, 1).report.left_out] == ["data/large.bin"]


def test_ignored_files_and_empty_folders_stay_behind(folder: Path, data: Path) -> None:
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "agent.log").touch()
    (folder / "build").mkdir()
    (folder / "build/out").touch()
    (folder / "empty").mkdir()
    run = RecordedRun(folder, data)
    prepared = prepare(run, data, 1)
    assert sorted(os.listdir(prepared.path)) == [".gitignore", "main.py"]
    assert [file.path for file in prepared.report.left_out] == ["agent.log", "build"]
    assert "- build: .gitignore leaves it out" in str(prepared.report)


def test_the_recorded_folder_may_be_gone(run: RecordedRun, folder: Path, data: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    prepared = prepare(run, data, 1)
    assert (prepared.path / "main.py").read_text() == "print(1)\n"
    assert prepared.report.left_out == ()


# ---- failures --------------------------------------------------------------------------------------


def test_a_full_disk_leaves_no_folder(
    run: RecordedRun, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def write_to_full_disk(descriptor: int, content: bytes) -> int:
        write(descriptor, content[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", write_to_full_disk)
    with pytest.raises(WorkspaceError, match=r"can't be written below .*: .*No space left"):
        prepare(run, data, 1)
    assert os.listdir(data / "forks") == []


@pytest.mark.parametrize("path", [b"../out", b"a/../../out", b"/etc/out", b".GIT/hooks/x", b"a//b"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: bytes) -> None:
    (tmp_path / "root/a").mkdir(parents=True)
    with TreeWriter(tmp_path / "root") as writer, pytest.raises(OSError, match="Not the path"):
        writer.write(path, "100644", (b"x",))
    assert not (tmp_path / "out").exists()


def test_a_link_in_a_folders_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a").symlink_to(tmp_path / "outside")
    with TreeWriter(tmp_path / "root") as writer:
        for act in (
            lambda: writer.write(b"a/x", "100644", (b"x",)),
            lambda: writer.make_folder(b"a/x", 0o755),
            lambda: writer.find(b"a/x"),
            lambda: writer.delete(b"a/x"),
        ):
            with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
                act()
    assert list((tmp_path / "outside").iterdir()) == []


# ---- what is said of it ----------------------------------------------------------------------------


def test_a_notice_is_as_short_as_the_wire_takes(tmp_path: Path) -> None:
    left_out = tuple(LeftOutFile(f"data/{number}.bin", "too large") for number in range(500))
    report = WorkspaceReport(tmp_path, "f" * 40, left_out=left_out)
    assert make_notice(report).startswith("Files left out: data/0.bin: too large; data/1.bin")
    assert len(make_notice(report)) == MAX_NOTICE_CHARS
    assert str(report).endswith("- and 490 more")
    assert make_notice(WorkspaceReport(tmp_path, "f" * 40)) == ""
