"""An agent that puts links in the place of folders while we look: they are never followed."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.sdk.workspace import files, ignore_rules, reader
from agentstepper_nb.sdk.workspace.git_command import GitError
from tests.sdk.workspace.helpers import Open, kinds

Asking = Callable[[Callable[[], object]], None]

SECRET = "not of the workspace\n"


class SwappedLink:
    """A folder of the workspace, and a link that may stand in its place.

    Args:
        folder: The workspace.
    """

    def __init__(self, folder: Path) -> None:
        self.place = folder / "swapped"
        self._aside = folder.parent / "aside"
        self._outside = folder.parent / "outside"
        for each in (self.place, self._outside):
            each.mkdir()

    def write(self, name: str) -> None:
        """Write a file, and one of its name where the link leads."""
        (self.place / name).write_text("of the workspace\n")
        (self._outside / name).write_text(SECRET)

    def link(self) -> None:
        self.place.rename(self._aside)
        self.place.symlink_to(self._outside)

    def back(self) -> None:
        self.place.unlink()
        self._aside.rename(self.place)


@pytest.fixture
def swap(folder: Path) -> SwappedLink:
    return SwappedLink(folder)


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    """Do something, once, between our look at the swapped folder and git's."""
    check = ignore_rules.IgnoreChecker._check

    def arrange(act: Callable[[], object]) -> None:
        waiting = [act]

        def acting(self: ignore_rules.IgnoreChecker, paths: list[bytes]) -> set[bytes]:
            if waiting and any(path.startswith(b"swapped/") for path in paths):
                waiting.pop()()
            return check(self, paths)

        monkeypatch.setattr(ignore_rules.IgnoreChecker, "_check", acting)

    return arrange


def test_what_lies_beyond_a_link_by_now_is_left_out_and_the_rest_is_not(
    folder: Path, watch: Open, swap: SwappedLink, asking: Asking
) -> None:
    (folder / ".gitignore").write_text("*.log\n")
    workspace = watch()
    (folder / "still").mkdir()
    for name in ("still/new", "still/new.log"):
        (folder / name).touch()
    swap.write("new")
    asking(swap.link)
    assert kinds(workspace.commit()) == {"still/new": "added"}
    assert kinds(workspace.commit()) == {"swapped": "added"}


def test_nothing_is_remembered_of_what_was_left_out(
    folder: Path, watch: Open, swap: SwappedLink, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = folder / ".gitignore"
    rules.write_text("*.log\n")
    monkeypatch.setattr(time, "time_ns", lambda: rules.lstat().st_ctime_ns + 10**10)
    workspace = watch()
    swap.write("new")
    swap.write("new.log")
    asking(swap.link)
    assert workspace.commit() is None
    swap.back()
    assert kinds(workspace.commit()) == {"swapped/new": "added"}


def test_git_is_asked_again_where_the_folder_is_back_before_we_look(
    watch: Open, swap: SwappedLink, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = watch()
    swap.write("new")
    asking(swap.link)
    beyond = ignore_rules.IgnoreChecker._beyond_links

    def too_late(self: ignore_rules.IgnoreChecker, paths: list[bytes]) -> set[bytes]:
        swap.back()
        return beyond(self, paths)

    monkeypatch.setattr(ignore_rules.IgnoreChecker, "_beyond_links", too_late)
    assert kinds(workspace.commit()) == {"swapped/new": "added"}


def test_a_git_that_fails_for_another_reason_is_not_asked_for_ever(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = watch()
    (folder / "new").touch()
    asked = []

    def fail(self: ignore_rules.IgnoreChecker, paths: list[bytes]) -> set[bytes]:
        asked.append(paths)
        raise GitError("check-ignore", 128, "broken")

    with monkeypatch.context() as broken, pytest.raises(WorkspaceError, match="broken"):
        broken.setattr(ignore_rules.IgnoreChecker, "_check", fail)
        workspace.commit()
    assert asked == [[b"new"]] * ignore_rules._MAX_TRIES
    assert kinds(workspace.commit()) == {"new": "added"}


def test_no_file_is_read_beyond_a_link(
    watch: Open, swap: SwappedLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap.write("old")
    workspace = watch()
    for name in ("old", "new"):
        swap.write(name)
    (swap.place / "old").write_text("changed\n")
    read, waiting = files.read_file, [swap.link]

    def linked(
        root: bytes, path: bytes, found: os.stat_result, limits: files.FileLimits
    ) -> files.FileReadResult:
        while waiting:
            waiting.pop()()
        return read(root, path, found, limits)

    monkeypatch.setattr(reader, "read_file", linked)
    assert kinds(workspace.commit()) == {"swapped/old": "deleted"}
    assert kinds(workspace.commit()) == {"swapped": "added"}
