"""A session's private home: made, seen by git, removed, and removed by the next where it was left."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb.coding.sandbox.command_environment import PrivateHome
from tests.coding.sandbox.scenes import ROOT

HOLD = """
import sys
from pathlib import Path
from agentstepper_nb.coding.sandbox.command_environment import PrivateHome
home = PrivateHome(Path(sys.argv[1]), "killed")
(home.home / "left").write_text("over")
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sandboxes"


@pytest.fixture(autouse=True)
def git_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own settings."""
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def test_the_folders_are_for_this_user_alone_and_go_with_the_session(root: Path) -> None:
    with PrivateHome(root, "one") as home:
        for folder in (root, home.home, home.temporary):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (home.home / ".cache").mkdir()
    assert list(root.iterdir()) == []
    home.close()


def test_commands_commit_as_the_person(root: Path, git_home: Path) -> None:
    (git_home / "more").write_text('[user]\n\temail = "me@example.org"\n')
    (git_home / ".gitconfig").write_text(
        '[user]\n\tname = "A \\"B\\" \\\\ Ö # ;"\n[include]\n\tpath = more\n'
        "[init]\n\tdefaultBranch = trunk\n[credential]\n\thelper = !echo password=secret\n"
        "[alias]\n\tx = !sh\n[core]\n\tfsmonitor = ./run\n"
    )
    with PrivateHome(root, "one") as home:
        text = (home.home / ".gitconfig").read_text()
        listed = subprocess.run(
            ["git", "config", "--global", "--list"],
            env={"PATH": os.environ["PATH"], "HOME": str(home.home)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert set(listed.splitlines()) == {
        'user.name=A "B" \\ Ö # ;',
        "user.email=me@example.org",
        "init.defaultbranch=trunk",
    }
    assert "secret" not in text


def test_a_person_without_git_settings_has_a_home_too(root: Path) -> None:
    with PrivateHome(root, "one") as home:
        assert (home.home / ".gitconfig").read_text() == ""


def test_two_processes_never_share_a_home(root: Path) -> None:
    with PrivateHome(root, "one"), pytest.raises(OSError, match="could not be acquired"):
        PrivateHome(root, "one")


@pytest.mark.slow
def test_the_next_session_removes_what_a_killed_one_left_and_nothing_else(root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with PrivateHome(root, "mine"):
            assert (root / "killed" / "home" / "left").exists()  # its session lives
        other.kill()
        other.wait()
        assert (root / "killed" / "home" / "left").exists()
        with PrivateHome(root, "mine"):
            assert sorted(path.name for path in root.iterdir()) == ["mine", "mine.lock"]


def test_a_session_that_was_killed_and_resumed_has_a_new_home(root: Path) -> None:
    (root / "one" / "home" / "old").mkdir(parents=True)
    with PrivateHome(root, "one") as home:
        assert [path.name for path in home.home.iterdir()] == [".gitconfig"]


def test_folders_that_commands_made_unwritable_are_removed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with PrivateHome(root, "one") as home:
        deep = home.home / "go" / "mod"
        deep.mkdir(parents=True)
        (deep / "file").touch()
        (deep / "link").symlink_to(outside)
        deep.chmod(0o500)
        deep.parent.chmod(0)
    assert list(root.iterdir()) == []
    assert outside.is_dir()
