"""Thousands of hostile paths, and links that change while tools work: nothing outside is touched."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.tool_workspace import SECRET, TEXT, ToolWorkspace

PIECES: Final = (
    *("..", ".", "", "~", "~root", "...", ".. ", " ..", "a.txt", "src", "b.py", "missing", "-rf"),
    *("out", "up", "loop", "gone", "inside", "absolute", "out.txt", "outside", "ws-evil", "ws"),
    *("etc/passwd", "proc/self/root", "dev/fd/0", "proc/self/cwd", "C:", "c$", "?", "*", "%2e%2e"),
    *("%2f", "..%c0%af", "．．", "‥", "..\u200b", "\u202e..", "\0", "a\0b", "\n", "\x7f", "$HOME"),
    *("`ls`", "{a,b}", "x" * 300, "output:1", ".git", "file:", "con", "nul"),
)
JOINTS: Final = ("/", "/", "/", "//", "\\", "/./", "/../", "\\..\\", "∕", "")


#: Those that would lead out, were they just put behind the root.
NEAR: Final = (
    "..",
    "..",
    ".",
    "out",
    "up",
    "src",
    "inside",
    "absolute",
    "outside",
    "ws",
    "ws-evil",
)


def hostile(tool_workspace: ToolWorkspace, count: int) -> list[str]:
    """Paths that mean no good, the same ones each time."""
    chance = random.Random(SECRET)
    begins = [*("", "", "/", "\\", "\\\\server\\share\\", "C:\\", "~/", "file://", "./", "../")]
    begins += [
        f"{tool_workspace.outside}/",
        f"{tool_workspace.root}-evil/",
        f"{tool_workspace.root}/",
        f"//{tool_workspace.outside}/",
    ]
    ends = ["", "a.txt", "deep/b.txt", "new.txt", "."]
    found = []
    for number in range(count):
        if number % 2:
            path = "/".join([*chance.choices(NEAR, k=chance.randint(1, 5)), chance.choice(ends)])
        else:
            path = chance.choice(begins)
            for piece in chance.choices(PIECES, k=chance.randint(1, 6)):
                path += piece + chance.choice(JOINTS)
            path += chance.choice(ends)
        found.append(path)
    return found


def patch(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n"


def creation(path: str) -> str:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n"


def renaming(path: str) -> str:
    return f"diff --git a/a.txt b/{path}\nrename from a.txt\nrename to {path}\n"


#: The tools that take paths, with arguments for one.
CALLS: Final[dict[str, Callable[[str], tuple[str, dict[str, Any]]]]] = {
    "list": lambda path: ("list_files", {"path": path, "depth": 2, "hidden": True}),
    "read": lambda path: ("read_file", {"path": path}),
    "search": lambda path: ("search", {"path": path, "pattern": "canary", "ignored": True}),
    "edit": lambda path: ("edit_file", {"path": path, "old": "canary", "new": "x", "all": True}),
    "write": lambda path: ("write_file", {"path": path, "content": "new"}),
    "patch": lambda path: ("apply_patch", {"patch": patch(path)}),
    "create": lambda path: ("apply_patch", {"patch": creation(path)}),
    "rename": lambda path: ("apply_patch", {"patch": renaming(path)}),
    "run": lambda path: ("run_command", {"command": "true", "folder": path}),
    "diff": lambda path: ("git_diff", {"path": path}),
}


async def try_all(tool_workspace: ToolWorkspace, call: str, count: int) -> None:
    for path in hostile(tool_workspace, count):
        name, args = CALLS[call](path)
        await tool_workspace.acall(name, args)  # which looks for the canary in the result


@pytest.fixture
def tool_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolWorkspace:
    # ripgrep would be started for each path; what it finds is read through the workspace anyway.
    monkeypatch.setattr("agentstepper_nb.coding.tools.search.find_ripgrep", lambda: None)
    return ToolWorkspace(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_hostile_paths(tool_workspace: ToolWorkspace, call: str) -> None:
    asyncio.run(try_all(tool_workspace, call, 300))
    tool_workspace.assert_outside_is_unchanged()


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("call", CALLS)
def test_very_many_hostile_paths(tool_workspace: ToolWorkspace, call: str) -> None:
    asyncio.run(try_all(tool_workspace, call, 10_000))
    tool_workspace.assert_outside_is_unchanged()


def test_the_paths_would_lead_out(tool_workspace: ToolWorkspace) -> None:
    """Without the workspace they are what they are meant to be: the test can fail."""
    leaks = 0
    for path in hostile(tool_workspace, 2000):
        try:
            leaks += SECRET in (tool_workspace.root / path).read_text()
        except (OSError, ValueError):
            continue
    assert leaks > 20


# ---- links that change meanwhile -------------------------------------------------------------------


class FlippingLink:
    """A thread that puts a link out and a folder (or file) of the workspace in one place, in turn.

    Args:
        desk: Where: at `spot` a folder, at `file.txt` a file.
        times: How often at least; then until `enough` is set.
    """

    def __init__(self, tool_workspace: ToolWorkspace, times: int) -> None:
        self._root = tool_workspace.root
        self._outside = tool_workspace.outside / "a.txt"
        self._times = times
        self._aside = 0
        self.enough = threading.Event()
        for name in ("spot/a.txt", "file.txt"):
            tool_workspace.write(name, TEXT)
        tool_workspace.link("spot-out", tool_workspace.outside)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> FlippingLink:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.enough.set()
        self._thread.join()

    @property
    def goes_on(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        spot, out, kept = (str(self._root / name) for name in ("spot", "spot-out", "spot-in"))
        file, link = (str(self._root / name) for name in ("file.txt", "file-out"))
        done = 0
        while done < self._times or not self.enough.is_set():
            os.rename(spot, kept)
            self._put(out, spot)
            os.symlink(self._outside, link)
            os.replace(link, file)
            os.rename(spot, out)
            self._put(kept, spot)
            done += 1

    def _put(self, source: str, place: str) -> None:
        """Put something in a place where a tool may have made a folder since."""
        while True:
            try:
                return os.rename(source, place)
            except OSError:
                self._aside += 1
                os.rename(place, f"{place}-aside-{self._aside}")


RACING: Final = (
    ("read_file", {"path": "spot/a.txt"}),
    ("read_file", {"path": "file.txt"}),
    ("list_files", {"path": "spot", "ignored": True}),
    ("search", {"path": "spot", "pattern": "canary|two", "ignored": True}),
    ("write_file", {"path": "spot/a.txt", "content": TEXT}),
    ("write_file", {"path": "spot/new.txt", "content": "one\n"}),
    ("write_file", {"path": "file.txt", "content": TEXT}),
    ("edit_file", {"path": "spot/a.txt", "old": "two", "new": "two"}),
    ("apply_patch", {"patch": creation("spot/made/x.txt")}),
    ("apply_patch", {"patch": "--- a/spot/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"}),
)


async def race(tool_workspace: ToolWorkspace, times: int, rounds: int) -> None:
    """Call the tools, and what they stand on more often, while links change."""
    done = 0
    with FlippingLink(tool_workspace, times) as flipping:
        while done < rounds or flipping.goes_on:
            for name, args in RACING:
                await tool_workspace.acall(name, args)
            for _ in range(20):
                use(tool_workspace.workspace)
            done += 1
            if done >= rounds:
                flipping.enough.set()


def use(workspace: LocalWorkspace) -> None:
    for path in ("spot/a.txt", "file.txt"):
        with contextlib.suppress(OSError):
            assert workspace.read_text(path) == TEXT
    with contextlib.suppress(OSError):
        assert "deep" not in [entry.name for entry in workspace.list_dir("spot")]
    with contextlib.suppress(OSError):
        workspace.write_bytes("spot/a.txt", TEXT.encode())
    with contextlib.suppress(OSError):
        workspace.delete("spot/new.txt")


@pytest.fixture
def eager() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("with_ripgrep", [True, False], ids=["ripgrep", "python"])
def test_links_that_change_lead_nowhere(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, with_ripgrep: bool
) -> None:
    if with_ripgrep:
        monkeypatch.undo()
    asyncio.run(race(tool_workspace, 200, 5))
    tool_workspace.assert_outside_is_unchanged()


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("eager")
def test_links_that_change_ten_thousand_times_lead_nowhere(tool_workspace: ToolWorkspace) -> None:
    asyncio.run(race(tool_workspace, 10_000, 500))
    tool_workspace.assert_outside_is_unchanged()
