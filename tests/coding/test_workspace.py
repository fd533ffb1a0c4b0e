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
from tests.coding.test_paths import REFUSED, named
from tests.coding.tool_workspace import TEXT, ToolWorkspace


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    return ToolWorkspace(tmp_path)


OUT = ["..", "../outside/a.txt", "src/../../a.txt", "out", "out/a.txt", "src/out.txt", "up/top.txt"]
OUT += ["inside/../../a.txt", "up", "absolute/../../a.txt", "../ws-evil/a.txt", "../ws"]
LINKS = ["out", "src/out.txt", "up", "loop"]
LOST = ["loop", "loop/x", "a.txt/b", "missing/../../a.txt", "missing/../x"]


@pytest.mark.parametrize("path", [*OUT, *LOST, *REFUSED], ids=named)
def test_unsafe_paths_lead_nowhere(tool_workspace: ToolWorkspace, path: str) -> None:
    workspace = tool_workspace.workspace
    assert workspace.resolve_path(path) is None
    for use in (workspace.read_bytes, workspace.list_dir, workspace.open):
        with pytest.raises(OSError):
            use(path)
    with pytest.raises(OSError):
        workspace.write_bytes(path, b"new")
    if path not in LINKS:  # which may be deleted, themselves
        with pytest.raises(OSError):
            workspace.delete(path)
    tool_workspace.assert_outside_is_unchanged()


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
def test_safe_paths_lead_inside(tool_workspace: ToolWorkspace, path: str, leads: str) -> None:
    assert tool_workspace.workspace.resolve_path(path) == tool_workspace.root / leads


def test_full_paths(tool_workspace: ToolWorkspace) -> None:
    def safe(*parts: str) -> bool:
        return tool_workspace.workspace.is_path_safe(str(Path(*parts)))

    root, folder = str(tool_workspace.root), str(tool_workspace.folder)
    assert safe(root)
    assert safe(root, "a.txt") and safe(root, "absolute", "b.py") and safe(root, "missing", "x")
    assert safe(folder, "outside", "..", "ws", "a.txt")
    for outside in ("..", "out", "out/a.txt", "src/out.txt", "up/top.txt", "loop", "../ws-evil"):
        assert not safe(root, outside), outside
    assert not safe(f"{root}-evil", "a.txt")  # the same beginning, another folder
    assert not safe("/") and not safe("a.txt") and not safe("~") and not safe("C:\\a")
    assert not tool_workspace.workspace.is_path_safe(f"{root}/a\0b")
    assert not tool_workspace.workspace.is_path_safe("")
    assert not tool_workspace.workspace.is_path_safe(f"{root}/{'x/' * 5000}")


def test_the_root_may_be_named_by_a_link(tool_workspace: ToolWorkspace) -> None:
    (tool_workspace.folder / "alias").symlink_to("ws")
    workspace = LocalWorkspace(tool_workspace.folder / "alias")
    assert workspace.root == tool_workspace.root
    assert workspace.is_path_safe(str(tool_workspace.folder / "alias" / "a.txt"))
    assert workspace.read_text("a.txt") == TEXT


def test_the_whole_disk_may_be_the_root(tmp_path: Path) -> None:
    workspace = LocalWorkspace("/")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text("x")
    assert workspace.read_text(f"{tmp_path}/link".lstrip("/")) == "x"
    assert workspace.resolve_path("..") is None


def test_the_folder_stays_the_same_whatever_is_put_in_its_place(
    tool_workspace: ToolWorkspace,
) -> None:
    tool_workspace.root.rename(tool_workspace.folder / "moved")
    tool_workspace.root.symlink_to(tool_workspace.outside)
    assert tool_workspace.workspace.read_text("a.txt") == TEXT
    tool_workspace.workspace.write_bytes("a.txt", b"new")
    assert (tool_workspace.folder / "moved" / "a.txt").read_text() == "new"


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
    with pytest.raises(OSError, match="The workspace is closed"):
        workspace.read_bytes("a/b/c")
    assert workspace.resolve_path("a") is None


# ---- looking ---------------------------------------------------------------------------------------


def test_what_stands_there(tool_workspace: ToolWorkspace) -> None:
    kind = tool_workspace.workspace.kind
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


def test_a_folders_entries(tool_workspace: ToolWorkspace) -> None:
    found = [
        (entry.name, entry.kind, entry.size_bytes)
        for entry in tool_workspace.workspace.list_dir("inside")
    ]
    assert found == [("b.py", PathKind.FILE, 22), ("out.txt", PathKind.LINK, 0)]


def test_a_file_too_large_is_not_read(tool_workspace: ToolWorkspace) -> None:
    assert tool_workspace.workspace.read_bytes("a.txt", limit=len(TEXT)) == TEXT.encode()
    with pytest.raises(OSError, match="Larger than 13 bytes"):
        tool_workspace.workspace.read_bytes("a.txt", limit=len(TEXT) - 1)


def test_text_is_utf8(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", b"\xff")
    with pytest.raises(UnicodeDecodeError):
        tool_workspace.workspace.read_text("a.txt")


def test_only_plain_files_are_opened(tool_workspace: ToolWorkspace) -> None:
    os.mkfifo(tool_workspace.root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        listener.bind(os.path.relpath(tool_workspace.root / "socket"))
        for name in ("pipe", "socket"):
            assert tool_workspace.workspace.kind(name) is PathKind.OTHER
            with pytest.raises(UnsafePathError, match="a pipe, a socket or a device"):
                tool_workspace.workspace.read_bytes(name)  # and doesn't wait for somebody to write
            with pytest.raises(UnsafePathError):
                tool_workspace.workspace.write_bytes(name, b"")


# ---- writing ---------------------------------------------------------------------------------------


def modes(path: Path) -> str:
    return stat.filemode(path.stat().st_mode)


def test_a_new_file_comes_with_its_folders(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.workspace.write_bytes("x/y/new.txt", b"data")
    tool_workspace.workspace.write_bytes(
        "inside/new.txt", b"data"
    )  # through a link that stays inside
    assert (tool_workspace.root / "x/y/new.txt").read_bytes() == b"data"
    assert (tool_workspace.root / "src/new.txt").read_bytes() == b"data"
    (tool_workspace.root / "plain").touch()
    assert modes(tool_workspace.root / "x/y/new.txt") == modes(tool_workspace.root / "plain")


def test_the_mode_is_kept_or_set(tool_workspace: ToolWorkspace) -> None:
    path = tool_workspace.root / "a.txt"
    path.chmod(0o4750)
    tool_workspace.workspace.write_bytes("a.txt", b"new")
    assert modes(path) == "-rwxr-x---"  # and runs as nobody else
    tool_workspace.workspace.write_bytes("a.txt", b"new", 0o600)
    assert modes(path) == "-rw-------"
    assert tool_workspace.workspace.mode("a.txt") == 0o600


def test_a_link_is_never_written_through(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.link("link.txt", "a.txt")
    for link in ("link.txt", "src/out.txt", "gone", "loop"):
        with pytest.raises(UnsafePathError, match="it is a link"):
            tool_workspace.workspace.write_bytes(link, b"new")
    assert tool_workspace.text() == TEXT
    assert not (tool_workspace.root / "nowhere").exists()


def test_a_file_with_another_name_outside_gets_its_own(tool_workspace: ToolWorkspace) -> None:
    os.link(tool_workspace.outside / "deep" / "b.txt", tool_workspace.root / "hard.txt")
    tool_workspace.workspace.write_bytes("hard.txt", b"new")
    assert tool_workspace.text("hard.txt") == "new"
    tool_workspace.assert_outside_is_unchanged()


def test_a_folder_is_no_file(tool_workspace: ToolWorkspace) -> None:
    for path in ("src", ".", "src/..", "inside/."):
        with pytest.raises(OSError):
            tool_workspace.workspace.write_bytes(path, b"new")
        with pytest.raises(OSError):
            tool_workspace.workspace.delete(path.replace("inside/.", "src"))
    assert (tool_workspace.root / "src" / "b.py").exists()


@pytest.mark.parametrize("path", [".git/config", ".GIT/hooks/x", "src/.git", "gits/config"])
def test_gits_own_folder_is_left_to_git(tool_workspace: ToolWorkspace, path: str) -> None:
    (tool_workspace.root / ".git").mkdir()
    (tool_workspace.root / ".git" / "config").write_text("x")
    tool_workspace.link("gits", ".git")
    for use in (
        lambda: tool_workspace.workspace.write_bytes(path, b""),
        lambda: tool_workspace.workspace.delete(path),
    ):
        with pytest.raises(UnsafePathError, match="only git writes in"):
            use()
    assert tool_workspace.workspace.read_text(".git/config") == "x"
    tool_workspace.workspace.write_bytes(".gitignore", b"x")  # is a file like others


def test_all_or_nothing_is_written(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        tool_workspace.workspace.write_bytes("a.txt", b"new")
    assert tool_workspace.text() == TEXT
    assert not [name for name in os.listdir(tool_workspace.root) if name.endswith(".tmp")]


def test_deleting_takes_a_link_and_not_its_target(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.workspace.delete("src/out.txt")
    tool_workspace.workspace.delete("inside/b.py")
    assert not (tool_workspace.root / "src").exists()  # which was empty then
    assert os.path.lexists(tool_workspace.root / "inside")
    tool_workspace.assert_outside_is_unchanged()
    with pytest.raises(FileNotFoundError):
        tool_workspace.workspace.delete("missing")


def test_errors_name_the_path_as_it_was_given(tool_workspace: ToolWorkspace) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        tool_workspace.workspace.read_bytes("src/missing/x")
    assert missing.value.filename == "src/missing/x"
