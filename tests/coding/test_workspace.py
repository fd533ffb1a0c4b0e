"""The workspace: what is in it, and how it is written."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.workspace import LocalWorkspace, PathKind
from agentstepper_nb.errors import UnsafePathError
from tests.coding.desk import TEXT, Desk
from tests.coding.test_paths import REFUSED, named


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


OUT = ["..", "../outside/a.txt", "src/../../a.txt", "out", "out/a.txt", "src/out.txt", "up/top.txt"]
OUT += ["inside/../../a.txt", "up", "absolute/../../a.txt", "../ws-evil/a.txt", "../ws"]
LINKS = ["out", "src/out.txt", "up", "loop"]
LOST = ["loop", "loop/x", "a.txt/b", "missing/../../a.txt", "missing/../x"]


@pytest.mark.parametrize("path", [*OUT, *LOST, *REFUSED], ids=named)
def test_unsafe_paths_lead_nowhere(desk: Desk, path: str) -> None:
    workspace = desk.workspace
    assert workspace.resolve_path(path) is None
    for use in (workspace.read_bytes, workspace.list_dir, workspace.open):
        with pytest.raises(OSError):
            use(path)
    with pytest.raises(OSError):
        workspace.write_bytes(path, b"new")
    if path not in LINKS:  # which may be deleted, themselves
        with pytest.raises(OSError):
            workspace.delete(path)
    desk.assert_outside_is_unchanged()


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        (".", "."),
        ("a.txt", "a.txt"),
        ("inside/b.py", "src/b.py"),
        ("absolute/b.py", "src/b.py"),
        ("absolute", "src"),
        ("inside/../a.txt", "a.txt"),  # `..` of where the link led
        ("src/../a.txt", "a.txt"),
        ("missing/deep/x", "missing/deep/x"),
        ("gone", "nowhere"),
        ("gone/x", "nowhere/x"),
    ],
)
def test_safe_paths_lead_inside(desk: Desk, path: str, leads: str) -> None:
    assert desk.workspace.resolve_path(path) == desk.root / leads


def test_full_paths(desk: Desk) -> None:
    def safe(*parts: str) -> bool:
        return desk.workspace.is_path_safe(str(Path(*parts)))

    root, folder = str(desk.root), str(desk.folder)
    assert safe(root)
    assert safe(root, "a.txt") and safe(root, "absolute", "b.py") and safe(root, "missing", "x")
    assert safe(folder, "outside", "..", "ws", "a.txt")
    for outside in ("..", "out", "out/a.txt", "src/out.txt", "up/top.txt", "loop", "../ws-evil"):
        assert not safe(root, outside), outside
    assert not safe(f"{root}-evil", "a.txt")  # the same beginning, another folder
    assert not safe("/") and not safe("a.txt") and not safe("~") and not safe("C:\\a")
    assert not desk.workspace.is_path_safe(f"{root}/a\0b")
    assert not desk.workspace.is_path_safe("")
    assert not desk.workspace.is_path_safe(f"{root}/{'x/' * 5000}")


def test_the_root_may_be_named_by_a_link(desk: Desk) -> None:
    (desk.folder / "alias").symlink_to("ws")
    workspace = LocalWorkspace(desk.folder / "alias")
    assert workspace.root == desk.root
    assert workspace.is_path_safe(str(desk.folder / "alias" / "a.txt"))
    assert workspace.read_text("a.txt") == TEXT


def test_the_whole_disk_may_be_the_root(tmp_path: Path) -> None:
    workspace = LocalWorkspace("/")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text("x")
    assert workspace.read_text(f"{tmp_path}/link".lstrip("/")) == "x"
    assert workspace.resolve_path("..") is None


def test_the_folder_stays_the_same_whatever_is_put_in_its_place(desk: Desk) -> None:
    desk.root.rename(desk.folder / "moved")
    desk.root.symlink_to(desk.outside)
    assert desk.workspace.read_text("a.txt") == TEXT
    desk.workspace.write_bytes("a.txt", b"new")
    assert (desk.folder / "moved" / "a.txt").read_text() == "new"


def test_a_missing_root_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LocalWorkspace(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        LocalWorkspace(tmp_path / "file")


def held(folder: Path) -> int:
    """How many descriptors this process has of a folder and what is below it."""
    inside = {(each.stat().st_dev, each.stat().st_ino) for each in (folder, *folder.rglob("*"))}
    count = 0
    for name in os.listdir("/dev/fd"):
        try:
            status = os.fstat(int(name))
        except OSError:  # the one of the listing itself
            continue
        count += (status.st_dev, status.st_ino) in inside
    return count


def test_closing_lets_go_of_the_folder(tmp_path: Path) -> None:
    workspace = LocalWorkspace(tmp_path)
    workspace.write_bytes("a/b/c", b"")
    workspace.list_dir("a/b")
    with pytest.raises(OSError):
        workspace.read_bytes("a/b/missing")
    assert held(tmp_path) == 1
    workspace.close()
    workspace.close()
    assert held(tmp_path) == 0
    with pytest.raises(OSError, match="The workspace was closed"):
        workspace.read_bytes("a/b/c")
    assert workspace.resolve_path("a") is None


# ---- looking ---------------------------------------------------------------------------------------


def test_what_stands_there(desk: Desk) -> None:
    kind = desk.workspace.kind
    assert (kind("."), kind("src"), kind("a.txt")) == (
        PathKind.FOLDER,
        PathKind.FOLDER,
        PathKind.FILE,
    )
    assert (kind("out"), kind("loop"), kind("gone")) == (
        PathKind.LINK,
        PathKind.LINK,
        PathKind.LINK,
    )
    assert kind("missing") is kind("a.txt/x") is None
    with pytest.raises(UnsafePathError):
        kind("out/a.txt")


def test_a_folders_entries(desk: Desk) -> None:
    found = [(entry.name, entry.kind, entry.size) for entry in desk.workspace.list_dir("inside")]
    assert found == [("b.py", PathKind.FILE, 22), ("out.txt", PathKind.LINK, 0)]


def test_a_file_too_large_is_not_read(desk: Desk) -> None:
    assert desk.workspace.read_bytes("a.txt", limit=len(TEXT)) == TEXT.encode()
    with pytest.raises(OSError, match="Larger than 13 bytes"):
        desk.workspace.read_bytes("a.txt", limit=len(TEXT) - 1)


def test_text_is_utf8(desk: Desk) -> None:
    desk.write("a.txt", b"\xff")
    with pytest.raises(UnicodeDecodeError):
        desk.workspace.read_text("a.txt")


def test_only_plain_files_are_opened(desk: Desk) -> None:
    os.mkfifo(desk.root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        listener.bind(os.path.relpath(desk.root / "socket"))
        for name in ("pipe", "socket"):
            assert desk.workspace.kind(name) is PathKind.OTHER
            with pytest.raises(UnsafePathError, match="a pipe, a socket or a device"):
                desk.workspace.read_bytes(name)  # and doesn't wait for somebody to write
            with pytest.raises(UnsafePathError):
                desk.workspace.write_bytes(name, b"")


# ---- writing ---------------------------------------------------------------------------------------


def modes(path: Path) -> str:
    return stat.filemode(path.stat().st_mode)


def test_a_new_file_comes_with_its_folders(desk: Desk) -> None:
    desk.workspace.write_bytes("x/y/new.txt", b"data")
    desk.workspace.write_bytes("inside/new.txt", b"data")  # through a link that stays inside
    assert (desk.root / "x/y/new.txt").read_bytes() == b"data"
    assert (desk.root / "src/new.txt").read_bytes() == b"data"
    (desk.root / "plain").touch()
    assert modes(desk.root / "x/y/new.txt") == modes(desk.root / "plain")


def test_the_mode_is_kept_or_set(desk: Desk) -> None:
    path = desk.root / "a.txt"
    path.chmod(0o4750)
    desk.workspace.write_bytes("a.txt", b"new")
    assert modes(path) == "-rwxr-x---"  # and runs as nobody else
    desk.workspace.write_bytes("a.txt", b"new", 0o600)
    assert modes(path) == "-rw-------"
    assert desk.workspace.mode("a.txt") == 0o600


def test_a_link_is_never_written_through(desk: Desk) -> None:
    desk.link("link.txt", "a.txt")
    for link in ("link.txt", "src/out.txt", "gone", "loop"):
        with pytest.raises(UnsafePathError, match="it is a link"):
            desk.workspace.write_bytes(link, b"new")
    assert desk.text() == TEXT
    assert not (desk.root / "nowhere").exists()


def test_a_file_with_another_name_outside_gets_its_own(desk: Desk) -> None:
    os.link(desk.outside / "deep" / "b.txt", desk.root / "hard.txt")
    desk.workspace.write_bytes("hard.txt", b"new")
    assert desk.text("hard.txt") == "new"
    desk.assert_outside_is_unchanged()


def test_a_folder_is_no_file(desk: Desk) -> None:
    for path in ("src", ".", "src/..", "inside/."):
        with pytest.raises(OSError):
            desk.workspace.write_bytes(path, b"new")
        with pytest.raises(OSError):
            desk.workspace.delete(path.replace("inside/.", "src"))
    assert (desk.root / "src" / "b.py").exists()


@pytest.mark.parametrize("path", [".git/config", ".GIT/hooks/x", "src/.git", "gits/config"])
def test_gits_own_folder_is_left_to_git(desk: Desk, path: str) -> None:
    (desk.root / ".git").mkdir()
    (desk.root / ".git" / "config").write_text("x")
    desk.link("gits", ".git")
    for use in (lambda: desk.workspace.write_bytes(path, b""), lambda: desk.workspace.delete(path)):
        with pytest.raises(UnsafePathError, match="by git alone"):
            use()
    assert desk.workspace.read_text(".git/config") == "x"
    desk.workspace.write_bytes(".gitignore", b"x")  # is a file like others


def test_all_or_nothing_is_written(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        desk.workspace.write_bytes("a.txt", b"new")
    assert desk.text() == TEXT
    assert not [name for name in os.listdir(desk.root) if name.endswith(".tmp")]


def test_deleting_takes_a_link_and_not_its_target(desk: Desk) -> None:
    desk.workspace.delete("src/out.txt")
    desk.workspace.delete("inside/b.py")
    assert not (desk.root / "src").exists()  # which was empty then
    assert os.path.lexists(desk.root / "inside")
    desk.assert_outside_is_unchanged()
    with pytest.raises(FileNotFoundError):
        desk.workspace.delete("missing")


def test_errors_name_the_path_as_it_was_given(desk: Desk) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        desk.workspace.read_bytes("src/missing/x")
    assert missing.value.filename == "src/missing/x"
