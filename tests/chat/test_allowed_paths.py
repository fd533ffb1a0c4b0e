"""Files that a chat may show, and everything that it mustn't."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from agentstepper_nb.chat import allowed_paths
from agentstepper_nb.chat.allowed_paths import MAX_TEXT_BYTES, AllowedPaths
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.image_types import MAX_IMAGE_BYTES, detect_image_type
from tests.chat.harness import PICTURES, PNG

SECRET = b"the secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace, and beside it what isn't to be shown."""
    root = tmp_path / "ws"
    (root / "plots").mkdir(parents=True)
    (root / "plots" / "a.png").write_bytes(PNG + b"rest")
    (root / "a.py").write_text("print('é')\n")
    for outside in (tmp_path / "out", tmp_path / "ws-evil"):
        outside.mkdir()
        (outside / "s.png").write_bytes(PNG + SECRET)
        (outside / "s.txt").write_bytes(SECRET)
    return root


def refused(allowed: AllowedPaths, path: str | Path) -> str:
    """Why neither a picture nor a text is shown; both have to say nothing of what is there."""
    texts = []
    for ask in (allowed.read_image, allowed.read_text):
        with pytest.raises(CommandError) as caught:
            ask(path)
        assert caught.value.code == "not_allowed"
        assert SECRET.decode() not in str(caught.value)
        texts.append(str(caught.value))
    return texts[-1]


def test_inv_backend_001_what_lies_in_the_workspace_is_shown(root: Path) -> None:
    """Pictures and texts below the allowed paths are shown, named as one likes."""
    allowed = AllowedPaths([root])
    for path in ("plots/a.png", "./plots/../plots//a.png", str(root / "plots" / "a.png")):
        picture = allowed.read_image(path)
        assert (picture.media_type, picture.data) == ("image/png", PNG + b"rest")
    assert allowed.read_text("a.py").text == "print('é')\n"
    assert allowed.read_text(root / "a.py").text == "print('é')\n"


@pytest.mark.parametrize(
    "path",
    [
        "../out/s.txt",
        "plots/../../out/s.txt",
        "plots/../../ws-evil/s.txt",
        "../ws-evil/s.txt",
        "{out}/s.txt",
        "{root}-evil/s.txt",
        "{root}/../out/s.txt",
        "//{out}/s.txt",
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/zero",
        "..",
        "",
        ".",
        "{root}",
        "plots",
        "missing.txt",
        "a.py/b",
        "a\0.py",
        "\0",
        "\ud800",
        "~/s.txt",
        "file://{out}/s.txt",
        "x" * 300,
        "x/" * 5000,
        "{out}",
        "link_out/s.txt",
        "link_file",
        "link_up/out/s.txt",
        "link_loop",
        "link_chain",
        "link_gone",
    ],
)
def test_inv_backend_001_nothing_leads_out(root: Path, path: str) -> None:
    """No path shows anything that doesn't lie below the allowed paths, by links, `..` or otherwise."""
    out = root.parent / "out"
    (root / "link_out").symlink_to(out)
    (root / "link_file").symlink_to(out / "s.txt")
    (root / "link_up").symlink_to("..")
    (root / "link_loop").symlink_to("link_loop")
    (root / "link_chain").symlink_to("plots/../link_file")
    (root / "link_gone").symlink_to("nowhere")
    path = path.replace("{out}", str(out)).replace("{root}", str(root))
    assert len(refused(AllowedPaths([root]), path)) < 700


def test_whether_a_file_is_there_outside_is_not_told(root: Path) -> None:
    allowed = AllowedPaths([root])
    there, missing = (refused(allowed, f"../out/{name}") for name in ("s.txt", "m.txt"))
    assert there.replace("s.txt", "m.txt") == missing


def test_a_link_within_is_followed(root: Path) -> None:
    (root / "link").symlink_to("plots")
    (root / "absolute.png").symlink_to(root / "plots" / "a.png")
    allowed = AllowedPaths([root])
    assert allowed.read_image("link/a.png").data == PNG + b"rest"
    assert allowed.read_image("absolute.png").data == PNG + b"rest"


def test_a_root_may_itself_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    allowed = AllowedPaths([tmp_path / "alias", root])
    assert allowed.roots == (root.resolve(),)
    assert allowed.read_text("a.py").text == allowed.read_text(tmp_path / "alias" / "a.py").text


def test_a_second_folder_is_allowed_by_its_whole_path(root: Path, tmp_path: Path) -> None:
    allowed = AllowedPaths([root, tmp_path / "out"])
    assert allowed.read_text(tmp_path / "out" / "s.txt").text == SECRET.decode()
    refused(allowed, "s.txt")  # what is relative is below the first
    refused(allowed, tmp_path / "ws-evil" / "s.txt")


def test_without_a_workspace_nothing_is_shown(root: Path) -> None:
    assert "no workspace and no allowed paths" in refused(AllowedPaths(), root / "a.py")


def test_a_root_that_is_gone_shows_nothing(tmp_path: Path) -> None:
    assert "can't be read" in refused(AllowedPaths([tmp_path / "gone"]), "a.txt")


# ---- what a file has to be -------------------------------------------------------------------------


@pytest.mark.parametrize(("media_type", "data"), PICTURES.items())
def test_pictures_are_known_by_their_first_bytes(root: Path, media_type: str, data: bytes) -> None:
    (root / "x.txt").write_bytes(data)  # whatever it is called
    assert AllowedPaths([root]).read_image("x.txt").media_type == media_type
    assert detect_image_type(data) == media_type
    assert detect_image_type(data[: len(data) // 2]) is None
    assert detect_image_type(b" " + data) is None


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html><script>alert(1)</script>",
        b"<?xml version='1.0'?><svg/>",
        b"",
        b"RIFF0000WAVE",
        b"BM",
    ],
)
def test_inv_backend_001_what_is_no_picture_is_not_shown_as_one(root: Path, data: bytes) -> None:
    """An SVG, or HTML under a picture's name, is refused by its bytes."""
    (root / "x.png").write_bytes(data)
    with pytest.raises(CommandError, match="is not a PNG, JPEG, GIF or WebP picture"):
        AllowedPaths([root]).read_image("x.png")


@pytest.mark.parametrize(
    ("data", "why"), [(b"a\0b", "is not a text file"), (b"\xff\xfe", "is not UTF-8 text")]
)
def test_what_is_no_text_is_not_shown_as_one(root: Path, data: bytes, why: str) -> None:
    (root / "x.py").write_bytes(data)
    with pytest.raises(CommandError, match=why):
        AllowedPaths([root]).read_text("x.py")


def test_what_is_huge_is_refused(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.write(PNG)
        file.truncate(100 * MAX_IMAGE_BYTES)  # a hole: nothing is written
    allowed = AllowedPaths([root])
    with pytest.raises(CommandError, match=f"larger than {MAX_IMAGE_BYTES} bytes"):
        allowed.read_image("huge")
    with pytest.raises(CommandError, match=f"larger than {MAX_TEXT_BYTES} bytes"):
        allowed.read_text("huge")
    assert allowed.read_text("a.py", max_bytes=12).text
    with pytest.raises(CommandError, match="larger than 11 bytes"):
        allowed.read_text("a.py", max_bytes=11)


def test_inv_backend_001_what_is_no_file_is_not_opened(root: Path) -> None:
    """A pipe that nobody writes to, a socket and a folder are refused, and nobody waits for them."""
    os.mkfifo(root / "pipe.png")
    listening = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(root)  # a socket's path has to be short
    try:
        listening.bind("socket.png")
    finally:
        os.chdir(here)
    allowed = AllowedPaths([root])
    with listening:
        for name in ("pipe.png", "socket.png", "plots"):
            assert "not a regular file" in refused(allowed, name)


# ---- what changes while it is looked at ------------------------------------------------------------


@pytest.mark.parametrize("folder", [True, False])
def test_inv_backend_001_a_link_that_is_put_there_meanwhile(
    root: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    """What was a folder or file when the path was resolved, and is a link by now, is refused."""
    out = root.parent / "out"
    (root / "plots" / "s.png").write_bytes(PNG)
    resolve = os.path.realpath

    def swap(path: str) -> str:
        found = resolve(path)
        if folder:
            (root / "plots").rename(root / "gone")
            (root / "plots").symlink_to(out)
        else:
            (root / "plots" / "s.png").unlink()
            (root / "plots" / "s.png").symlink_to(out / "s.png")
        return found

    allowed = AllowedPaths([root])
    monkeypatch.setattr(allowed_paths.os.path, "realpath", swap)
    with pytest.raises(CommandError, match="can't be read"):
        allowed.read_image("plots/s.png")


def test_inv_backend_001_while_links_come_and_go(root: Path) -> None:
    """However often a folder turns into a link out of the workspace and back: nothing leaks."""
    out = root.parent / "out"
    (root / "plots" / "s.png").write_bytes(PNG)
    over = threading.Event()

    def turn() -> None:
        while not over.is_set():
            (root / "plots").rename(root / "kept")
            (root / "plots").symlink_to(out)
            (root / "plots").unlink()
            (root / "kept").rename(root / "plots")

    thread = threading.Thread(target=turn)
    thread.start()
    allowed = AllowedPaths([root])
    try:
        for _ in range(300):
            try:
                assert allowed.read_image("plots/s.png").data == PNG
            except CommandError as error:
                assert error.code == "not_allowed"
    finally:
        over.set()
        thread.join()


def held(folder: Path) -> list[int]:
    """Descriptors of this process that are of the folder, or of what is in it."""
    there = {(each.lstat().st_dev, each.lstat().st_ino) for each in (folder, *folder.rglob("*"))}
    found = []
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):  # the one that lists them
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) in there:
                found.append(descriptor)
    return found


def test_nothing_is_left_open(root: Path) -> None:
    allowed = AllowedPaths([root])
    (root / "link").symlink_to(root.parent / "out")
    os.mkfifo(root / "pipe")
    for path in ("plots/a.png", "a.py", "link/s.png", "pipe", "plots", "missing/x", "plots/no.png"):
        for ask in (allowed.read_image, allowed.read_text):
            with suppress(CommandError):
                ask(path)
    assert held(root) == []
    with (root / "a.py").open():
        assert len(held(root)) == 1  # it would be seen
