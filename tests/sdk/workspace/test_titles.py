"""What a commit is called where nobody said."""

import pytest

from agentstepper_nb.protocol.data_model import ChangeKind, FileChange
from agentstepper_nb.sdk.workspace.commit_titles import make_message, make_title


def change(kind: ChangeKind, path: str, previous: str | None = None) -> FileChange:
    return FileChange(path=path, kind=kind, previous_path=previous)


ADDED, CHANGED, DELETED, RENAMED = (
    ChangeKind.ADDED,
    ChangeKind.CHANGED,
    ChangeKind.DELETED,
    ChangeKind.RENAMED,
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([change(CHANGED, "app.py"), change(ADDED, "b.txt")], "Change app.py, add b.txt"),
        ([change(ADDED, "b.txt"), change(CHANGED, "app.py")], "Change app.py, add b.txt"),
        ([change(DELETED, "src/old.py")], "Delete src/old.py"),
        ([change(RENAMED, "b.py", "a.py")], "Rename a.py to b.py"),
        ([change(ADDED, name) for name in "abc"], "Add a, b, c"),
        (
            [change(CHANGED, str(n)) for n in range(5)] + [change(ADDED, n) for n in "ab"],
            "Change 5 files, add 2 files",
        ),
        (
            [change(ADDED, n) for n in "abc"] + [change(DELETED, "d")],
            "Add 3 files, delete 1 file",
        ),
        ([change(ADDED, "a\nb\x00é")], "Add a\\nb\\x00é"),
        (
            [change(CHANGED, f"{'long/' * 10}{name}.py") for name in "ab"],
            "Change a.py, b.py",
        ),
    ],
)
def test_titles(changes: list[FileChange], expected: str) -> None:
    assert make_title(changes) == expected


def test_the_agents_own_words_come_first() -> None:
    assert make_message(" One \n\n two\n", "three\n") == ("One", "two\n\nthree")
    assert make_message(" \n ", "three") == ("", "three")
    assert make_message("one", "") == ("one", "")
