"""docs/guide/replay.md, as it prints its programs, at a Core that keeps runs on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.conftest import stranger
from tests.docs.pages import GUIDE, blocks, write_files
from tests.docs.programs import ForkedPrograms

PAGE = GUIDE / "replay.md"

pytestmark = pytest.mark.usefixtures("core")


@pytest.mark.slow
def test_a_function_starts_again(home: Path, programs: ForkedPrograms) -> None:
    write_files(PAGE, home)
    done = programs.run("python clerk.py", stranger(home), home)
    assert (done.returncode, done.stdout) == (0, "looking up boats\nBOATS\n"), done.stderr
    (command,) = [b.text for b in blocks(PAGE) if b.text.endswith("--replay answer\n")]
    done = programs.run(command.strip(), stranger(home), home)
    assert (done.returncode, done.stdout) == (0, '"BOATS"\n'), done.stderr


@pytest.mark.slow
def test_a_fork_has_the_files_of_its_row(home: Path, programs: ForkedPrograms) -> None:
    write_files(PAGE, home)
    (in_place,) = [block.text for block in blocks(PAGE) if "put_back" in block.text]
    before = (
        in_place.partition("put_back(")[0] + "print(sorted(map(str, Path('notes').iterdir())))\n"
    )
    program = home / "notes.py"
    program.write_text(program.read_text() + before)
    done = programs.run("python notes.py", stranger(home), home)
    assert done.returncode == 0, done.stderr
    forked, restored = done.stdout.splitlines()
    assert forked == "['one.txt', 'second.txt', 'three.txt']"
    assert restored == "['notes/one.txt', 'notes/second.txt', 'notes/three.txt']"
    done = programs.run("agentstepper put-back notes", stranger(home), home)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (home / "notes").iterdir()) == [
        *("one.txt", "three.txt", "two.txt"),
    ]
    again = programs.run("agentstepper put-back notes", stranger(home), home)
    assert again.returncode == 1
    assert again.stderr.startswith("agentstepper put-back: There is nothing to put back in")
    by_name = programs.run("agentstepper put-back nobody", stranger(home), home)
    assert (by_name.returncode, "nobody" in by_name.stderr) == (1, True)
