"""Several runs on one folder, runs that are killed, and what one leaves to the next."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.sdk.workspace import files
from tests.helpers.forked_python import fork_programs
from tests.sdk.workspace.helpers import (
    Open,
    by_path,
    files_of,
    fingerprint,
    git,
    kinds,
    private_repository,
    run_python,
)

AGENT = """
import sys
from pathlib import Path
from agentstepper_nb.sdk.workspace import Workspace
folder, data, name, steps = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
workspace = Workspace(folder, "agent", data_dir=data, clock=lambda: 1_700_000_000)
print(workspace.branch, flush=True)
for step in range(steps):
    (folder / name).mkdir(exist_ok=True)
    (folder / name / str(step)).write_text(f"{name} {step}\\n" * 100)
    if step % 2:
        workspace.snapshot()
    commit = workspace.commit()
    print(commit.id if commit else "", flush=True)
workspace.close()
"""


def start(folder: Path, data: Path, name: str, steps: int) -> "subprocess.Popen[str]":
    with fork_programs("agentstepper_nb.sdk.workspace"):
        return subprocess.Popen(
            [sys.executable, "-c", AGENT, folder, data, name, str(steps)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )


def check(data: Path) -> None:
    """The private repository is whole, and nothing is locked."""
    repository = private_repository(data)
    git(repository, "fsck", "--strict", "--full")
    assert not list(repository.rglob("*.lock"))


def test_two_runs_in_one_second_have_branches_of_their_own(
    folder: Path, data: Path, watch: Open
) -> None:
    (folder / "a").write_text("1\n")
    runs = [watch(clock=lambda: 1_700_000_000) for _ in range(3)]
    first = runs[0].branch
    assert [run.branch for run in runs] == [first, f"{first}-2", f"{first}-3"]
    assert len({run.head for run in runs}) == 3  # though all is the same
    (folder / "a").write_text("2\n")
    made = [run.commit() for run in runs]
    assert all(kinds(commit) == {"a": "changed"} for commit in made)
    log = git(private_repository(data), "log", "--format=%s", runs[1].branch)
    assert log == "Change a\nWorkspace before the run"


@pytest.mark.slow
def test_processes_at_work_on_one_folder_at_once(folder: Path, data: Path) -> None:
    for n in range(150):  # more than git keeps in loose objects
        (folder / f"file{n}").write_text(f"{n}\n")
    agents = [start(folder, data, name, 4) for name in ("one", "two", "three")]
    said = [agent.communicate()[0].split() for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0, 0]
    assert len({lines[0] for lines in said}) == 3
    check(data)
    for name, lines in zip(("one", "two", "three"), said, strict=True):
        # Each saw all of its own changes, and whatever of the others' was there.
        assert {f"{name}/{step}" for step in range(4)} <= files_of(data, lines[0]).keys()
        assert git(private_repository(data), "rev-parse", lines[0]) == lines[-1]


def test_a_name_that_is_in_the_way_is_an_error_not_a_loop(
    folder: Path, data: Path, watch: Open
) -> None:
    branch = watch(clock=lambda: 1).branch
    with pytest.raises(WorkspaceError, match=r"can't be watched: .*fast-import"):
        watch(program=branch, clock=lambda: 1)


# Where a process dies: just before the named function is called for the nth time.
FAULTS = [
    ("repository._create", 1),
    ("commit_draft.CommitDraft._feed", 1),
    ("commit_draft.CommitDraft.finish", 1),
    ("cache._replace", 1),
    *(
        pytest.param(where, count, marks=pytest.mark.soak)
        for where, count in (
            ("git_command.Git.run", 1),
            ("cache.EntryCache.save", 1),
            ("workspace.compare_commits", 1),
            ("commit_draft.CommitDraft.set_tree", 1),
            ("changes._Describer.describe", 1),
            ("git_command.Git.run", 2),
            ("commit_draft.CommitDraft._feed", 3),
            ("commit_draft.CommitDraft._feed", 5),
            ("commit_draft.CommitDraft._feed", 6),
            ("commit_draft.CommitDraft.finish", 2),
            ("commit_draft.CommitDraft.finish", 3),
            ("commit_draft.CommitDraft.finish", 4),
            ("workspace.compare_commits", 2),
            ("commit_draft.CommitDraft.set_tree", 2),
            ("commit_draft.CommitDraft.finish", 5),
        )
    ),
]

DIE = """
import functools, importlib, os, signal, sys
import agentstepper_nb.sdk.workspace as package
path, count = sys.argv[5], int(sys.argv[6])
module, *names, last = path.split(".")
owner = importlib.import_module(f"agentstepper_nb.sdk.workspace.{module}")
for name in names:
    owner = getattr(owner, name)
real = getattr(owner, last)
@functools.wraps(real)
def deadly(*arguments, **options):
    global count
    count -= 1
    if count == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **options)
setattr(owner, last, deadly)
"""


@pytest.mark.parametrize(("where", "count"), FAULTS)
def test_after_a_kill_at_any_point_the_next_run_works(
    folder: Path, data: Path, watch: Open, where: str, count: int
) -> None:
    for n in range(3):
        (folder / f"file{n}").write_text(f"{n}\n")
    before = fingerprint(folder)
    done = run_python(DIE + AGENT, folder, data, "new", 3, where, count)
    assert done.returncode == -signal.SIGKILL, done.stderr
    after = fingerprint(folder)
    assert {path: after[path] for path in before if path != f"{folder}/"} == {
        path: before[path] for path in before if path != f"{folder}/"
    }
    workspace = watch()
    assert workspace.commit() is None
    (folder / "file1").write_text("changed\n")
    (folder / "mine").touch()
    assert kinds(workspace.commit()) == {"file1": "changed", "mine": "added"}
    assert fingerprint(folder).keys() == after.keys() | {str(folder / "mine")}
    check_repository = [
        path for path in (data / "workspaces").iterdir() if ".new-" not in path.name
    ]
    git(check_repository[0], "fsck", "--strict", "--full")
    assert not list(check_repository[0].glob("fast_import_crash_*"))


@pytest.mark.soak
def test_a_kill_at_no_particular_point(folder: Path, data: Path, watch: Open) -> None:
    for n in range(300):
        (folder / f"file{n}").write_text(f"{n}\n" * 50)
    chance = random.Random(1)
    for round_ in range(8):
        with start(folder, data, f"round{round_}", 1000) as agent:
            assert agent.stdout
            for _ in range(chance.randrange(1, 8)):
                assert agent.stdout.readline()
            agent.kill()
    workspace = watch()
    assert workspace.commit() is None
    workspace.close()
    check(data)


def test_a_git_that_is_killed_fails_one_commit_only(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentstepper_nb.sdk.workspace.commit_draft import CommitDraft

    workspace = watch()
    (folder / "a").write_text("a\n" * 100_000)
    finish = CommitDraft.finish

    def killed(self: CommitDraft) -> str | None:
        assert self._process
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return finish(self)

    with monkeypatch.context() as patch:
        patch.setattr(CommitDraft, "finish", killed)
        with pytest.raises(WorkspaceError, match="fast-import failed with status -9"):
            workspace.commit()
    assert kinds(workspace.commit()) == {"a": "added"}


def test_the_next_run_reads_nothing_again(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_text("a\n")
    (folder / "b").write_text("b\n")
    opened: list[bytes] = []
    read = files.read_file

    def spy(
        root: bytes, path: bytes, found: os.stat_result, limits: files.FileLimits
    ) -> files.FileReadResult:
        opened.append(path)
        return read(root, path, found, limits)

    later = (folder / "b").lstat().st_ctime_ns + 10**10
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.files.time.time_ns", lambda: later)
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.reader.read_file", spy)
    watch().close()
    assert sorted(opened) == [b"a", b"b"]
    (folder / "b").write_text("c\n")
    opened.clear()
    workspace = watch()
    assert opened == [b"b"]
    assert workspace.commit() is None
    (folder / "b").write_text("b\n")
    assert by_path(workspace.commit())["b"].body.content == "b\n"  # type: ignore[union-attr]


def test_a_commit_of_nothing_reads_no_file_and_starts_no_git(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(50):
        (folder / f"d{n}/sub").mkdir(parents=True)
        (folder / f"d{n}/sub/file").write_text(f"{n}\n")
    later = (folder / "d49/sub/file").lstat().st_ctime_ns + 10**10
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.files.time.time_ns", lambda: later)
    workspace = watch()

    def called(*_: object, **__: object) -> None:
        raise AssertionError("for nothing")

    monkeypatch.setattr("agentstepper_nb.sdk.workspace.reader.read_file", called)
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.git_command._start", called)
    assert workspace.commit() is None


@pytest.mark.parametrize(
    "saved", [b"", b"{", b"[]", b'{"format": [0], "files": {}}', b"\xff", None, "lies"]
)
def test_a_cache_of_no_use_costs_time_only(
    folder: Path, data: Path, watch: Open, saved: bytes | str | None
) -> None:
    (folder / "a").write_text("a\n")
    watch().close()
    cache = private_repository(data) / "files.json"
    if saved == "lies":  # names blobs that the repository hasn't
        text = json.loads(cache.read_text())
        for row in text["files"].values():
            row[1] = "1" * 40
            row[-1] += 10**10
        saved = json.dumps(text).encode()
    if saved is None:
        cache.unlink()
        cache.mkdir()
    else:
        cache.write_bytes(saved)
    workspace = watch()
    assert git(private_repository(data), "show", f"{workspace.head}:a") == "a"
    assert workspace.commit() is None


def test_a_lost_repository_is_made_again(folder: Path, data: Path, watch: Open) -> None:
    (folder / "a").touch()
    watch().close()
    shutil.rmtree(private_repository(data))
    assert files_of(data, watch().head).keys() == {"a"}


def test_a_damaged_repository_is_named(folder: Path, data: Path, watch: Open) -> None:
    watch().close()
    shutil.rmtree(private_repository(data) / "objects")
    with pytest.raises(WorkspaceError, match=r"If this error repeats, delete .*/workspaces/"):
        watch()


def test_the_repository_is_for_the_user_alone(folder: Path, data: Path, watch: Open) -> None:
    (folder / "secret").write_text("secret\n")
    watch()
    assert private_repository(data).stat().st_mode & 0o777 == 0o700


def test_where_the_data_goes_by_default(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; from agentstepper_nb.sdk.workspace import Workspace;"
        "Workspace(sys.argv[1], 'agent').close()"
    )
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    done = run_python(code, folder)
    assert done.returncode == 0, done.stderr
    (made,) = (tmp_path / "jupyter/agentstepper/workspaces").iterdir()
    assert len(made.name) == 32
