"""A file of lines: whose it is, and what a crash or a full disk leaves of it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

from agentstepper_nb.line_file import LineFile, is_line_file_open


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "log"


def test_what_was_written_is_read_back(path: Path) -> None:
    with closing(LineFile(path, create=True)) as file:
        offsets = [file.append(line) for line in (b"one\n", b"two\n")]
        assert offsets == [0, 4]
        assert [file.read(offset, 4) for offset in offsets] == [b"one\n", b"two\n"]
        assert file.size == 8
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with closing(LineFile(path, create=False)) as again:
        assert again.append(b"three\n") == 8
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_it_belongs_to_one_at_a_time(path: Path) -> None:
    assert not is_line_file_open(path)
    with closing(LineFile(path, create=True)):
        assert is_line_file_open(path)
        with pytest.raises(BlockingIOError):
            LineFile(path, create=True)
    assert not is_line_file_open(path)
    LineFile(path, create=False).close()


def test_there_is_none_unless_it_is_made(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LineFile(path, create=False)
    assert not path.parent.exists()


def test_a_link_is_no_file_of_lines(path: Path) -> None:
    path.parent.mkdir()
    (path.parent / "other").touch()
    path.symlink_to("other")
    with pytest.raises(OSError):
        LineFile(path, create=True)


def test_a_line_that_was_cut_stays_and_what_follows_is_a_line(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"one\ntw")
    with closing(LineFile(path, create=False)) as file:
        assert path.read_bytes() == b"one\ntw"
        offset = file.append(b"three\n")
        assert file.read(offset, 6) == b"three\n"
        file.append(b"four\n")
    assert path.read_bytes() == b"one\ntw\nthree\nfour\n"


def test_of_a_line_that_has_no_room_nothing_is_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def full(file: int, data: bytes, at: int) -> int:
        if at > 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data[:2], at)

    with closing(LineFile(path, create=True)) as file:
        file.append(b"one\n")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(OSError, match="No space"):
                file.append(b"two\n")
        assert (file.size, path.read_bytes()) == (4, b"one\n")
        file.append(b"three\n")
    assert path.read_bytes() == b"one\nthree\n"


def test_a_file_that_was_just_deleted_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir()
    path.touch()
    real = os.open

    def open_and_lose(name: str, *of: int) -> int:
        descriptor = real(name, *of)
        Path(name).unlink()
        return descriptor

    monkeypatch.setattr(os, "open", open_and_lose)
    with pytest.raises(FileNotFoundError, match="just deleted"):
        LineFile(path, create=False)


def test_a_closed_one_is_read_and_written_no_more(path: Path) -> None:
    file = LineFile(path, create=True)
    file.close()
    file.close()
    with pytest.raises(OSError, match="is closed"):
        file.append(b"one\n")
    with pytest.raises(OSError, match="is closed"):
        file.read(0, 1)


def test_a_forked_process_neither_holds_it_nor_lets_it_go(path: Path) -> None:
    file = LineFile(path, create=True)
    ready, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        file.close()
        os.write(there, b".")
        os._exit(0)
    os.read(ready, 1)
    assert is_line_file_open(path)
    os.waitpid(pid, 0)
    file.close()
    assert not is_line_file_open(path)
