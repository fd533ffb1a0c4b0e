"""Whatever an agent does: the changes of all commits, one after the other, lead to what is there."""

import contextlib
import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from agentstepper_nb.protocol.data_model import ChangeKind, Commit
from agentstepper_nb.sdk.workspace import Workspace
from tests.helpers.sampling import select_sample
from tests.sdk.workspace.helpers import Open

NAMES = ["a", "b", "c", "d e", ":f", "-g"]


class RandomWorkspaceAgent:
    """Does anything that can be done to a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)

    def act(self) -> None:
        action = self.chance.choice(
            [self.write, self.write, self.append, self.remove, self.rename, self.link, self.mode]
        )
        with contextlib.suppress(OSError):  # not everything is possible everywhere
            action(self.somewhere())

    def somewhere(self) -> Path:
        return self.folder.joinpath(*self.chance.choices(NAMES, k=self.chance.randint(1, 3)))

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.chance.choices(["one\n", "two\n", "three", "", "\n"], k=12)
        path.write_text("".join(lines))

    def append(self, path: Path) -> None:
        with path.open("a") as file:
            file.write("more\n")

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def rename(self, path: Path) -> None:
        path.rename(self.somewhere())

    def link(self, path: Path) -> None:
        path.symlink_to(self.chance.choice(["a", "..", "nowhere", "b/c"]))

    def mode(self, path: Path) -> None:
        if path.is_file():
            path.chmod(self.chance.choice([0o644, 0o755]))


def present(folder: Path) -> dict[str, str]:
    """What git can see of a folder: files, and links as the text they are."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = str(path.readlink())
            elif path.is_file():
                found[key] = path.read_text()
    return found


class CommitFollower:
    """Knows a folder by its commits alone."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def follow(self, commit: Commit | None) -> None:
        if commit is None:
            return
        gone = {change.previous_path or change.path for change in commit.changes}
        before = {path: self.files.pop(path) for path in gone if path in self.files}
        for change in commit.changes:
            assert change.body is not None
            old = change.previous_path or change.path
            assert (old in before) == (change.kind is not ChangeKind.ADDED), change
            assert change.body.previous_content == before.get(old, "")
            if change.kind is not ChangeKind.DELETED:
                self.files[change.path] = change.body.content


@pytest.mark.slow
@pytest.mark.parametrize("seed", select_sample(range(4), 0))
def test_the_changes_lead_to_what_is_there(folder: Path, watch: Open, seed: int) -> None:
    agent, follower = RandomWorkspaceAgent(folder, seed), CommitFollower()
    workspace = watch()
    for _ in range(25):
        for _ in range(agent.chance.randint(0, 12)):
            agent.act()
        follower.follow(workspace.commit())
        assert follower.files == present(folder)


@pytest.mark.slow
def test_commits_while_the_agent_works(folder: Path, watch: Open) -> None:
    agent, follower = RandomWorkspaceAgent(folder, 7), CommitFollower()
    workspace: Workspace = watch()
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            agent.act()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            follower.follow(workspace.commit())
    finally:
        done.set()
        thread.join()
    follower.follow(workspace.commit())
    assert follower.files == present(folder)
