"""Limits of memory and processes, in real runs: a fork bomb and a program that takes all memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from agentstepper_nb.coding.sandbox import ResourceLimits, resource_limits
from agentstepper_nb.coding.sandbox.resource_limits import CgroupFolder as Groups
from agentstepper_nb.coding.sandbox.resource_limits import ResourceLimiter
from tests.coding.sandbox.agent import ForkedAgent
from tests.coding.sandbox.scenes import NOBODY, UserWorkspace, make_sandbox, make_user_workspace
from tests.helpers.sampling import select_sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")

MIB: Final = 1024**2
SMALL: Final = ResourceLimits(memory_bytes=256 * MIB, processes=64)
TINY: Final = ResourceLimits(memory_bytes=100 * MIB, processes=64)

# It starts processes that stay until no more can be started, and says how many there are.
BOMB: Final = """
n=0
while [ $n -lt 500 ] && { sleep 1000 & } 2>/dev/null; do n=$((n+1)); echo $n >count; done
"""
HOG: Final = "head -c 150m /dev/zero | tail -c 150m | wc -c"


@pytest.fixture
def root(own: UserWorkspace) -> UserWorkspace:
    if not _has("memory") or not _has("pids"):
        pytest.skip("this user can make no control group for memory and for processes")
    return own


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> Iterator[UserWorkspace]:
    """A user with no control group, of the first process namespace."""
    with make_user_workspace("ordinary") as made:
        monkeypatch.setattr(resource_limits, "find_cgroup_folders", lambda: ())
        monkeypatch.setattr(resource_limits, "_explain_uncounted", lambda: "")
        user = NOBODY if os.geteuid() == 0 else os.getuid()
        monkeypatch.setattr(resource_limits.os, "getuid", lambda: user)
        yield made


def _has(controller: str) -> bool:
    return any(controller in place.controllers for place in resource_limits.find_cgroup_folders())


def started(place: UserWorkspace) -> int:
    """How many processes a fork bomb could start."""
    sandbox = make_sandbox("none", SMALL)
    place.run(sandbox, "sh", "-c", BOMB)
    return int((place.workspace / "count").read_text())


def test_a_control_group_bounds_a_fork_bomb(root: UserWorkspace) -> None:
    assert 40 < started(root) < 64


def test_a_fork_bomb_of_an_ordinary_user_is_bounded_by_the_process_limit(
    ordinary: UserWorkspace,
) -> None:
    # The tasks of the user that run already are added: each that ends meanwhile leaves room for one.
    assert 40 < started(ordinary) < 100


@pytest.mark.slow
@pytest.mark.parametrize("name", select_sample(["none", "landlock", "bubblewrap"], "bubblewrap"))
def test_a_control_group_bounds_memory_and_it_is_said(root: UserWorkspace, name: str) -> None:
    result = root.run(make_sandbox(name, TINY), "sh", "-c", f"{HOG}; echo after")
    assert "after\n" in result.stdout, "the shell itself was small enough"
    assert str(150 * MIB) not in result.stdout
    assert "agentstepper: a process was killed: the command's memory is limited." in result.stdout


@pytest.mark.parametrize("name", select_sample(["none", "landlock"], "none"))
def test_the_memory_of_an_ordinary_user_is_bounded_for_each_process(
    ordinary: UserWorkspace, name: str
) -> None:
    result = ordinary.run(make_sandbox(name, TINY), "sh", "-c", f"{HOG}; echo after")
    assert "memory" in result.stdout and result.stdout.endswith("after\n")
    assert str(150 * MIB) not in result.stdout


NODE: Final = (
    "const {Worker} = require('worker_threads'); new Worker('', {eval: true});"
    "console.log('x'.repeat(1e7).length)"
)


@pytest.mark.parametrize("name", select_sample(["none", "landlock"], "none"))
def test_node_starts_within_the_limits_of_an_ordinary_user(
    ordinary: UserWorkspace, name: str
) -> None:
    assert ordinary.run(make_sandbox(name, SMALL), "node", "-e", NODE).stdout == "10000000\n"


@pytest.mark.parametrize("name", select_sample(["none", "landlock", "bubblewrap"], "bubblewrap"))
def test_node_starts_within_a_control_group(root: UserWorkspace, name: str) -> None:
    assert root.run(make_sandbox(name, SMALL), "node", "-e", NODE).stdout == "10000000\n"


def groups_left() -> list[Path]:
    return [
        each
        for place in resource_limits.find_cgroup_folders()
        for each in place.folder.glob("agentstepper-*")
    ]


def groups_of(process: int) -> set[Path]:
    """The groups that a process holds; other tests may have some, too."""
    held = {
        os.readlink(each) for each in Path(f"/proc/{process}/fd").iterdir() if each.is_symlink()
    }
    return {folder for folder in groups_left() if str(folder) in held}


def test_the_group_of_a_command_is_removed_when_it_ends(root: UserWorkspace) -> None:
    sandbox = make_sandbox("none", SMALL)
    with sandbox.prepare_command(["true"], root.workspace, root.access()) as launch:
        held = groups_of(os.getpid())
        assert len(held) == len(resource_limits.find_cgroup_folders())
        subprocess.run(launch.argv, env=launch.env, pass_fds=launch.pass_fds, check=True)
    assert not held & set(groups_left())


def test_the_groups_of_a_killed_agent_are_removed_by_the_next(root: UserWorkspace) -> None:
    with ForkedAgent("none", root.workspace, "sleep", "1000") as agent:
        left = groups_of(agent.pid)
        agent.kill()
    assert left and left <= set(groups_left())
    for place in resource_limits.find_cgroup_folders():
        resource_limits.remove_stale_cgroups(place)
    assert not left & set(groups_left())


def test_the_groups_of_others_who_live_are_left(root: UserWorkspace) -> None:
    place = resource_limits.find_cgroup_folders()[0]
    with resource_limits.make_cgroup(place, SMALL) as folder:
        resource_limits.remove_stale_cgroups(place)
        assert folder.exists()
    assert not folder.exists()


def test_what_is_left_in_a_group_is_killed_with_it(root: UserWorkspace) -> None:
    place = resource_limits.find_cgroup_folders()[0]
    with resource_limits.make_cgroup(place, SMALL) as folder:
        process = subprocess.Popen(["sleep", "1000"])
        (folder / "cgroup.procs").write_text(str(process.pid))
    assert process.wait() == -signal.SIGKILL
    assert not folder.exists()


# ---- what is said, and where groups are looked for -------------------------------------------------


@pytest.mark.parametrize(
    ("places", "uncounted", "memory", "processes"),
    [
        (
            ["memory", "pids"],
            "",
            "256 MiB for a command with all",
            "64 for a command, by a control",
        ),
        (["pids"], "", "256 MiB for each process", "64 for a command, by a control"),
        ([], "", "RLIMIT_DATA", "beside the user's others, by RLIMIT_NPROC"),
        (
            [],
            "of this",
            "RLIMIT_DATA",
            "not limited: there is no control group for them, and of this",
        ),
    ],
)
def test_which_limits_hold_is_said(
    monkeypatch: pytest.MonkeyPatch,
    places: list[resource_limits.Controller],
    uncounted: str,
    memory: str,
    processes: str,
) -> None:
    monkeypatch.setattr(resource_limits, "_explain_uncounted", lambda: uncounted)
    said = ResourceLimiter(SMALL, [Groups(Path("/x"), tuple(places), 2)]).descriptions
    assert memory in said[0] and processes in said[1]


def test_limits_without_end_are_said() -> None:
    said = ResourceLimiter(ResourceLimits(memory_bytes=None, processes=None), []).descriptions
    assert [each.partition(":")[2] for each in said] == [" not limited, by the settings."] * 2


def test_neither_root_nor_a_container_has_a_limit_of_processes_without_a_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource_limits.os, "getuid", lambda: 0)
    assert "root" in ResourceLimiter(SMALL, []).descriptions[1]
    monkeypatch.setattr(resource_limits.os, "getuid", lambda: 1000)
    monkeypatch.setattr(resource_limits, "_process_namespace", lambda: "pid:[4026532222]")
    assert "other containers" in ResourceLimiter(SMALL, []).descriptions[1]
    with ResourceLimiter(SMALL, []).apply() as applied:
        assert len(applied.rlimits) == 1


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[Groups]]:
    """What is found on a machine with these mounts and these groups of the process."""
    read = Path.read_text

    def found(mounts: str, own: str) -> list[Groups]:
        texts = {"/proc/self/mountinfo": mounts, "/proc/self/cgroup": own}
        monkeypatch.setattr(
            Path, "read_text", lambda path: texts[str(path)] if str(path) in texts else read(path)
        )
        return list(resource_limits._candidates())

    return found


def test_delegated_groups_of_version_2_are_found_above_the_own(
    tmp_path: Path, machine: Callable[[str, str], list[Groups]]
) -> None:
    own = tmp_path / "user.slice" / "app.slice" / "term.scope"
    own.mkdir(parents=True)
    (own.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")
    mounts = f"30 29 0:26 / {tmp_path} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    found = machine(mounts, "0::/user.slice/app.slice/term.scope\n")
    assert [place.folder for place in found][:2] == [own, own.parent]
    assert found[1].controllers == ("memory", "pids") and found[0].controllers == ()


def test_groups_of_version_1_are_found_where_a_container_has_a_part_of_them(
    tmp_path: Path, machine: Callable[[str, str], list[Groups]]
) -> None:
    mounts = f"30 29 0:26 /docker/ab {tmp_path}/m rw - cgroup cgroup rw,memory\n"
    mounts += f"31 29 0:27 / {tmp_path}/p rw - cgroup cgroup rw,pids\n"
    found = machine(mounts, "9:pids:/a/b\n4:memory:/docker/ab/c\n1:name=systemd:/\n")
    assert [(str(place.folder.relative_to(tmp_path)), place.controllers) for place in found] == [
        ("m/c", ("memory",)),
        ("m", ("memory",)),
        ("p/a/b", ("pids",)),
        ("p/a", ("pids",)),
        ("p", ("pids",)),
    ]


def test_a_group_that_cannot_be_joined_is_a_command_that_does_not_start(
    ordinary: UserWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = resource_limits.AppliedLimits(cgroups=(Path("/nowhere"),))
    monkeypatch.setattr(ResourceLimiter, "apply", lambda self: contextlib.nullcontext(gone))
    result = ordinary.run(make_sandbox("none", SMALL), "true")
    assert result.returncode == 125
    assert result.stdout == "agentstepper: 'true' was not started: No such file or directory\n"
