"""Files above the limits: by name, size and digest."""

import hashlib
import os
from pathlib import Path

import pytest

from agentstepper_nb.protocol.data_model import ChangeKind, FileChange
from agentstepper_nb.sdk.workspace import files
from agentstepper_nb.sdk.workspace.files import FileLimits
from tests.sdk.workspace.helpers import Open, by_path, private_repository

MIB = 1024 * 1024
SMALL_FILES = FileLimits(max_stored_bytes=1000)


def zeros(path: Path, size: int) -> str:
    with path.open("wb") as file:
        file.truncate(size)
    return digest(path)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_below(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def test_text_up_to_one_mebibyte_has_a_body_and_above_it_none(folder: Path, watch: Open) -> None:
    workspace = watch()
    exact = "line of text\n" * (MIB // 13) + "x" * (MIB % 13)
    assert len(exact) == MIB
    (folder / "exact").write_text(exact)
    (folder / "above").write_text(exact + "y")
    found = by_path(workspace.commit())
    assert found["exact"].body and found["exact"].body.content == exact
    assert found["exact"].added == MIB // 13 + 1
    assert found["above"] == FileChange(
        path="above",
        kind=ChangeKind.ADDED,
        size=MIB + 1,
        digest=hashlib.sha256(exact.encode() + b"y").hexdigest(),
    )
    (folder / "above").write_text("short")
    (change,) = by_path(workspace.commit()).values()
    assert (change.body, change.size, change.digest) == (
        None,
        5,
        hashlib.sha256(b"short").hexdigest(),
    )


@pytest.mark.slow
def test_200_megabytes_are_tracked_and_not_stored(folder: Path, data: Path, watch: Open) -> None:
    size = 200 * MIB
    first = zeros(folder / "huge", size)
    workspace = watch()
    assert workspace.commit() is None

    (folder / "huge").rename(folder / "moved")
    assert by_path(workspace.commit()) == {
        "moved": FileChange(
            path="moved",
            previous_path="huge",
            kind=ChangeKind.RENAMED,
            binary=True,
            size=size,
            digest=first,
        )
    }
    with (folder / "moved").open("r+b") as file:
        file.seek(size // 2)
        file.write(b"changed")
    second = digest(folder / "moved")
    assert second != first
    change = FileChange(
        path="moved", kind=ChangeKind.CHANGED, binary=True, size=size, digest=second
    )
    assert by_path(workspace.commit()) == {"moved": change}
    (folder / "moved").unlink()
    (change,) = by_path(workspace.commit()).values()
    assert (change.kind, change.size, change.digest) == (ChangeKind.DELETED, size, second)
    assert bytes_below(private_repository(data)) < 100_000


def test_another_large_file_of_the_same_size_is_no_rename(folder: Path, watch: Open) -> None:
    (folder / "a").write_bytes(os.urandom(5000))
    workspace = watch(file_limits=SMALL_FILES)
    (folder / "a").unlink()
    (folder / "b").write_bytes(os.urandom(5000))
    assert {path: c.kind.value for path, c in by_path(workspace.commit()).items()} == {
        "a": "deleted",
        "b": "added",
    }


def test_a_file_that_crosses_the_limit(folder: Path, watch: Open) -> None:
    path = folder / "log"
    path.write_text("line\n")
    workspace = watch(file_limits=SMALL_FILES)
    for text in ("line\n" * 300, "line\n" * 10):
        path.write_text(text)
        (change,) = by_path(workspace.commit()).values()
        assert change == FileChange(
            path="log",
            kind=ChangeKind.CHANGED,
            size=len(text),
            digest=hashlib.sha256(text.encode()).hexdigest(),
        )


@pytest.mark.parametrize(
    ("content", "binary"),
    [
        ("ü" * 3000, False),
        ("x" * 2999 + "\0", True),
        (b"\xc3" * 3000, True),
        ("é" * 2000 + "x", False),
    ],
)
def test_large_text_is_told_from_large_binary(
    folder: Path, watch: Open, content: str | bytes, binary: bool
) -> None:
    # Characters are cut in two.
    workspace = watch(file_limits=SMALL_FILES._replace(chunk_bytes=7))
    (folder / "a").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert by_path(workspace.commit())["a"].binary is binary


def test_a_large_file_is_hashed_once(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros(folder / "huge", 60 * MIB)
    hashed = []
    large = files._large

    def spy(*arguments: object) -> files.FileReadResult:
        hashed.append(arguments)
        return large(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "_large", spy)
    # As if the file had been there for a while.
    later = (folder / "huge").lstat().st_ctime_ns + 10**10
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.files.time.time_ns", lambda: later)
    workspace = watch()
    assert workspace.commit() is None
    workspace.close()
    assert watch().commit() is None  # another run
    assert len(hashed) == 1
