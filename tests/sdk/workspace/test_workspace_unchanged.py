"""The workspace before and after: nothing is different but what the agent itself did."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sdk.workspace.helpers import (
    Open,
    by_path,
    files_of,
    fingerprint,
    git,
    kinds,
    make_repository,
)

ODD_NAMES = [
    "-rf",
    "--help",
    ":(top)a",
    ":!b",
    "*.py",
    "[ab]",
    "a\nb",
    "tab\t",
    'quo"te',
    "back\\slash",
    "\\303\\244",
    " lead and trail ",
    "é",
    "e\u0301",
    "日本語",
    "\x01\x7f",
    "#hash",
    "a => b",
    "{a => b}",
    "diff --git a b",
    "git~1",
    ".git ",
    ".git\u200c",
    ".gitx",
]


def everything(folder: Path) -> None:
    """A workspace that has all that has ever been trouble."""
    make_repository(folder, readme="hello\n", tracked="1\n")
    (folder / "tracked").write_text("dirty\n")
    (folder / "untracked").write_text("new\n")
    (folder / "staged").write_text("staged\n")
    git(folder, "add", "staged")
    make_repository(folder / "nested", inner="x\n")
    make_repository(folder / "nested/deeper/still", inner="y\n")
    git(folder / "nested", "branch", "other")
    (folder / "unborn").mkdir()
    git(folder / "unborn", "init", "--quiet")
    (folder / "unborn/file").write_text("z\n")
    library = make_repository(folder.parent / "library", lib="lib\n")
    git(folder, "submodule", "--quiet", "add", str(library), "module")
    git(folder, "worktree", "add", "--quiet", "tree", "HEAD")
    (folder / "loop").symlink_to("loop")
    (folder / "up").symlink_to("..")
    (folder / "ping").symlink_to("pong")
    (folder / "pong").symlink_to("ping")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "etc").symlink_to("/etc")
    (folder / "nested/.gitmodules").symlink_to("inner")
    os.mkfifo(folder / "fifo")
    (folder / "empty").mkdir()
    (folder / "odd").mkdir()
    for name in ODD_NAMES:
        (folder / "odd" / name).write_text(name)
    with open(os.fsencode(folder) + b"/odd/caf\xe9.txt", "w") as file:
        file.write("latin\n")
    with (folder / "huge").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    (folder / "read-only").write_text("ro\n")
    (folder / "read-only").chmod(0o444)


@pytest.mark.slow
def test_nothing_in_a_difficult_workspace_is_touched(folder: Path, data: Path, watch: Open) -> None:
    everything(folder)
    before = fingerprint(folder)
    workspace = watch()
    baseline = files_of(data, workspace.head)
    assert workspace.commit() is None
    workspace.close()
    assert fingerprint(folder) == before

    assert not any(".git" in path.split("/") for path in baseline)
    plain = {
        "nested/inner",
        "nested/deeper/still/inner",
        "unborn/file",
        "module/lib",
        "tree/readme",
        ".gitmodules",
        "tracked",
        "untracked",
        "staged",
        "huge",
        "read-only",
        "odd/caf\udce9.txt",
        *(f"odd/{name}" for name in ODD_NAMES),
    }
    links = {"loop", "up", "ping", "pong", "dangling", "etc"}
    assert {path for path, mode in baseline.items() if mode == "120000"} == links
    assert plain <= baseline.keys()
    assert "fifo" not in baseline
    assert not any(path.startswith(("up/", "etc/")) for path in baseline)
    assert set(baseline.values()) == {"100644", "120000"}  # no submodule


@pytest.mark.slow
def test_only_the_agents_own_writes_differ(folder: Path, watch: Open) -> None:
    everything(folder)
    workspace = watch()
    before = fingerprint(folder)
    agents = {"nested/inner", "module/lib", "odd/a\nb", "untracked", "new", "tree/readme"}
    for name in agents:
        (folder / name).write_text("by the agent\n")
    git(folder / "nested", "commit", "--all", "--quiet", "--message=by the agent")
    written = fingerprint(folder)

    commit = workspace.commit()

    assert kinds(commit) == {name: "added" if name == "new" else "changed" for name in agents}
    workspace.close()
    assert fingerprint(folder) == written
    different = {path for path in written if written[path] != before.get(path)}
    assert {path for path in different if "/.git" not in path} == {
        f"{folder}/",  # a new file is in it
        *(str(folder / name) for name in agents),
    }


def test_odd_names_come_through_as_they_are(folder: Path, watch: Open) -> None:
    workspace = watch()
    for name in ODD_NAMES:
        (folder / name).write_text(f"{name}\n")
    with open(os.fsencode(folder) + b"/caf\xe9.txt", "w") as file:
        file.write("latin\n")
    commit = workspace.commit()
    found = by_path(commit)
    assert set(found) == {*ODD_NAMES, "caf\\xe9.txt"}
    for name, change in found.items():
        assert change.body and change.body.diff.startswith("diff --git ")
        assert change.body.content in (f"{name}\n", "latin\n")
        change.path.encode()  # valid Unicode
    for name in [*ODD_NAMES, b"caf\xe9.txt"]:
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.rename(path, path + b"2")
    commit = workspace.commit()
    assert {(c.previous_path, c.path) for c in by_path(commit).values()} == {
        (name, f"{name}2") for name in [*ODD_NAMES, "caf\\xe9.txt"]
    }


def test_a_socket_and_a_device_are_left_out(data: Path, tmp_path: Path, watch: Open) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        workspace = watch(folder)
        assert files_of(data, workspace.head) == {}


def test_our_own_data_inside_the_workspace_is_left_out(folder: Path, watch: Open) -> None:
    workspace = watch(data_dir=folder / "share/data")
    (folder / "share" / "a").touch()
    assert kinds(workspace.commit()) == {"share/a": "added"}
    assert workspace.commit() is None
    assert watch(data_dir=folder).commit() is None


def test_the_folder_by_a_link_and_a_non_utf8_path(tmp_path: Path, data: Path, watch: Open) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 -x"))
    folder.mkdir()
    (folder / "a").touch()
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "b.log").touch()
    (tmp_path / "link").symlink_to(folder)
    first, second = watch(folder), watch(tmp_path / "link")
    assert files_of(data, first.head).keys() == {".gitignore", "a"}
    assert len(list((data / "workspaces").iterdir())) == 1
    assert first.head != second.head


WATCH_AS_NOBODY = """
import itertools, logging, os, sys, tempfile
from pathlib import Path
from agentstepper_nb.sdk.workspace import Workspace
folder, data = Path(sys.argv[1]), Path(sys.argv[2])
with tempfile.TemporaryDirectory() as warm:  # whoever we become may not read our modules
    Workspace(warm, "a", data_dir=Path(warm) / "d").close()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stdout)
workspace = Workspace(folder, "agent", data_dir=data)
for line in itertools.chain([""], sys.stdin):
    commit = workspace.commit()
    print(sorted((c.path, c.kind.value) for c in commit.changes) if commit else None, flush=True)
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that other users reach; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
def test_what_cannot_be_read_is_left_out_with_one_warning(open_to_all: Path) -> None:
    folder, data = open_to_all / "w", open_to_all / "data"
    folder.mkdir()
    data.mkdir()
    data.chmod(0o777)
    (folder / "open").write_text("open\n")
    (folder / "later").write_text("later\n")
    (folder / "closed").write_text("closed\n")
    (folder / "closed").chmod(0)
    for name in ("dir", "later-dir"):
        (folder / name).mkdir()
        (folder / name / "file").write_text("file\n")
    (folder / "dir").chmod(0)
    before = fingerprint(folder)
    with subprocess.Popen(
        [sys.executable, "-c", WATCH_AS_NOBODY, folder, data],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout

        def committed() -> list[str]:
            process.stdin.write("\n")
            process.stdin.flush()
            lines = [process.stdout.readline().strip()]
            while lines[-1].startswith("Can't"):
                lines.append(process.stdout.readline().strip())
            return lines

        assert process.stdout.readline() == "Can't be read and isn't watched: closed, dir\n"
        assert process.stdout.readline() == "None\n"
        assert fingerprint(folder) == before
        # What was read before is unknown now, not deleted.
        (folder / "later").chmod(0)
        (folder / "later-dir").chmod(0)
        assert committed() == ["Can't be read and isn't watched: later, later-dir", "None"]
        (folder / "open").write_text("changed\n")
        assert committed() == ["[('open', 'changed')]"]
        for name in ("later", "later-dir", "closed", "dir"):
            (folder / name).chmod(0o755 if "dir" in name else 0o644)
        (folder / "later").write_text("now\n")
        assert committed() == ["[('closed', 'added'), ('dir/file', 'added'), ('later', 'changed')]"]
        process.stdin.close()
        assert process.wait() == 0
