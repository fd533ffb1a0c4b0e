"""Files that are written whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentstepper_nb.store.atomic_files import write_atomically


def test_a_file_is_its_owners_alone_and_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"before")
    path.with_name("a.run.part").write_bytes(b"of one that was killed")
    write_atomically(path, b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["a.run"]


def test_where_it_cannot_be_written_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"before")
    path.with_name("a.run.part").mkdir()
    with pytest.raises(OSError):
        write_atomically(path, b"after")
    assert path.read_bytes() == b"before"
