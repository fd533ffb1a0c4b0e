"""Landlock with seccomp, in real runs: as root and as an ordinary user."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentstepper_nb.coding.sandbox import landlock as module
from agentstepper_nb.coding.sandbox import seccomp
from agentstepper_nb.coding.sandbox.landlock import Landlock, split_around_exclusions
from agentstepper_nb.coding.sandbox.launcher import kernel
from agentstepper_nb.errors import SandboxError
from tests.coding.sandbox.scenes import (
    SECRET,
    UserWorkspace,
    join_commands,
    make_user_workspace,
    split_output,
)
from tests.helpers.sampling import select_sample

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or kernel.find_landlock_abi() < 6 or not seccomp.is_supported(),
    reason="this kernel has no Landlock of version 6 or later, or no filter is known for the machine",
)

PYTHON: Final = sys.executable
SCOPED: Final = "Operation not permitted"


@pytest.fixture(params=["root", "ordinary"])
def place(request: pytest.FixtureRequest) -> Iterator[UserWorkspace]:
    with make_user_workspace(request.param) as made:
        yield made


@pytest.fixture
def sandbox() -> Landlock:
    return Landlock()


def sh(place: UserWorkspace, sandbox: Landlock, line: str, **access: Any) -> str:
    """What a line of a shell prints, with its exit code last where it failed."""
    result = place.run(sandbox, "sh", "-c", line, access=place.access(**access))
    return result.stdout + (f"[{result.returncode}]" if result.returncode else "")


# ---- files -----------------------------------------------------------------------------------------


def test_a_command_writes_in_the_workspace_its_home_and_its_temporary_folder(
    place: UserWorkspace, sandbox: Landlock
) -> None:
    line = "mkdir new && echo 1 >new/a && mv new/a b && ln -s b c && rm -r new && cat c"
    assert sh(place, sandbox, line) == "1\n"
    line = 'echo 2 >~/a && mv ~/a "$TMPDIR/a" && cat "$TMPDIR/a" && echo >/dev/null'
    assert sh(place, sandbox, line) == "2\n"
    assert (place.folder / "tmp" / "a").read_text() == "2\n"


OUTWARD: Final = (
    "cat ../outside/secret.txt",
    "ln ../outside/secret.txt mine && cat mine",
    "ln -s ../outside/secret.txt his && cat his",
    "mv ../outside/secret.txt mine",
    "cat <>../outside/secret.txt",
    "ls ../outside",
    "echo >../outside/new",
    "echo >>../outside/secret.txt",
    "truncate -s 0 ../outside/secret.txt",
    "rm ../outside/secret.txt",
    "mkdir ../outside/new",
    "mkfifo ../outside/new",
    "cp /bin/true ../outside/",
    "mv src ../outside/",
)


def test_what_lies_outside_is_neither_read_nor_changed(
    place: UserWorkspace, sandbox: Landlock
) -> None:
    results = split_output(sh(place, sandbox, join_commands(OUTWARD)))
    for line, (_, printed) in zip(OUTWARD, results, strict=True):
        assert "denied" in printed or "cross-device" in printed, line
        assert SECRET not in printed, line
    assert os.listdir(place.outside) == ["secret.txt"]
    assert (place.outside / "secret.txt").read_text() == SECRET


def test_of_the_machine_only_what_programs_need_is_visible(
    own: UserWorkspace, sandbox: Landlock
) -> None:
    lines = [f"cat {path}" for path in ("/etc/shadow", "/root", "/proc/self/environ", "/tmp")]
    results = split_output(sh(own, sandbox, join_commands([*lines, "cat /var/log"])))
    assert ["denied" in printed for _, printed in results] == [True] * 5, results


def test_a_read_only_workspace(place: UserWorkspace, sandbox: Landlock) -> None:
    place.write("a.txt", "one\n")
    line = "cat a.txt; echo >a.txt || echo >b.txt || rm a.txt || echo >src/c.txt"
    assert "[" in sh(place, sandbox, line, is_workspace_writable=False)
    assert (place.workspace / "a.txt").read_text() == "one\n"
    assert sorted(os.listdir(place.workspace)) == ["a.txt", "src"]


def test_more_is_granted_where_the_access_says_so(place: UserWorkspace, sandbox: Landlock) -> None:
    assert sh(place, sandbox, "cat ../outside/secret.txt", readable=(place.outside,)) == SECRET
    assert "denied" in sh(place, sandbox, "echo >../outside/new", readable=(place.outside,))
    assert sh(place, sandbox, "echo >../outside/new", writable=(place.outside,)) == ""
    assert (place.outside / "new").exists()


def test_a_hidden_folder_is_closed_wherever_it_lies(
    place: UserWorkspace, sandbox: Landlock
) -> None:
    place.write("deep/er/token", SECRET)
    place.write("deep/er2/b", "b")
    place.write("deep/c", "c")
    hidden = (place.workspace / "deep" / "er",)
    line = (
        "cat deep/er/token; ls deep; cat deep/er2/b deep/c; echo new >deep/er/x; mv deep/er src/er"
    )
    printed = sh(place, sandbox, line, hidden=hidden, readable=(place.workspace,))
    assert SECRET not in printed and "bc" in printed
    assert "er\ner2\n" in printed, "the names beside it can still be read"
    assert os.listdir(place.workspace / "deep" / "er") == ["token"]
    outer = {"hidden": (place.folder,), "readable": (place.outside, place.folder)}
    assert "denied" in sh(place, sandbox, "cat ../outside/secret.txt", **outer)
    assert sh(place, sandbox, "cat deep/c", **outer) == "c", "the workspace stays"


def test_files_that_a_rule_denies(place: UserWorkspace, sandbox: Landlock) -> None:
    unreadable = (place.write("src/.env", SECRET),)
    read_only = (place.write("src/lock", "fixed"),)
    place.write("src/free", "free")
    line = "cat src/.env; mv src/.env e; cp src/.env e; cat src/lock src/free; echo f >src/free"
    line += "; echo >src/lock; rm -f src/lock; mv src/free src/lock; echo g >new"
    printed = sh(place, sandbox, line, unreadable=unreadable, read_only=read_only)
    assert SECRET not in printed and "fixedfree" in printed
    assert unreadable[0].read_text() == SECRET and read_only[0].read_text() == "fixed"
    assert (place.workspace / "src" / "free").read_text() == "f\n"


def test_a_repository_is_read_and_not_changed(place: UserWorkspace, sandbox: Landlock) -> None:
    place.write("a.txt", "one\n")
    git = ["git", "-C", str(place.workspace), "-c", "safe.directory=*"]
    git += ["-c", "user.name=a", "-c", "user.email=b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *words], check=True, env=os.environ | {"HOME": "/nowhere"})
    place.own()
    before = {str(path) for path in place.workspace.rglob("*")}
    line = "git log --format=%s && echo two >a.txt && git diff --stat && git status --short"
    assert sh(place, sandbox, line).splitlines()[::3] == ["First", " M a.txt"]
    line = "echo x >.git/hooks/pre-commit; echo >>.git/config; mv .git gone; rm -rf .git; git add ."
    assert "denied" in sh(place, sandbox, line)
    assert "denied" in sh(place, sandbox, "echo >new"), "the gap that is said"
    assert sh(place, sandbox, "echo 1 >src/new && mv src/new src/newer && cat src/newer") == "1\n"
    assert {str(path) for path in place.workspace.rglob("*")} - before == {
        str(place.workspace / "src" / "newer")
    }


def test_a_folder_with_too_many_entries_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for number in range(11):
        (tmp_path / f"{number}.txt").touch()
    assert len(split_around_exclusions(tmp_path, [tmp_path / ".git"], max_grants=11)[0]) == 11
    with pytest.raises(SandboxError, match="more than 10 entries"):
        split_around_exclusions(tmp_path, [tmp_path / ".git"], max_grants=10)


def test_a_folder_that_becomes_a_link_is_not_followed(
    own: UserWorkspace, sandbox: Landlock
) -> None:
    (own.workspace / ".git").mkdir()
    with sandbox.prepare_command(["ls", "src/"], own.workspace, own.access()) as launch:
        (own.workspace / "src").rename(own.workspace / "moved")
        (own.workspace / "src").symlink_to(own.outside)
        result = subprocess.run(
            launch.argv,
            cwd=own.workspace,
            env=launch.env,
            pass_fds=launch.pass_fds,
            capture_output=True,
        )
    assert result.returncode != 0 and b"denied" in result.stderr


# ---- processes and the network ---------------------------------------------------------------------


def test_other_programs_get_no_signals(place: UserWorkspace, sandbox: Landlock) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        printed = sh(place, sandbox, f"kill -9 {other.pid}; kill -9 $PPID; kill -0 $$ && echo self")
        assert other.poll() is None
        other.kill()
    assert printed.count(SCOPED) == 2 and printed.endswith("self\n")


def test_a_command_has_no_capabilities_and_gets_none(own: UserWorkspace, sandbox: Landlock) -> None:
    code = "import ctypes; l=ctypes.CDLL(None); n=(ctypes.c_uint32*6)(); "
    code += "l.capget((ctypes.c_uint32*2)(0x20080522,0), n); print(list(n), l.prctl(39,0,0,0,0))"
    assert own.run(sandbox, PYTHON, "-c", code).stdout == "[0, 0, 0, 0, 0, 0] 1\n"


FAMILIES: Final = """
import socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind).close()
            print(family.name, kind.name)
        except OSError:
            pass
one, other = socket.socketpair()
one.send(b"pair")
print(other.recv(9).decode())
"""


def test_without_the_network_there_are_no_sockets_of_any_family(
    own: UserWorkspace, sandbox: Landlock
) -> None:
    assert own.run(sandbox, PYTHON, "-c", FAMILIES).stdout == "pair\n"


def test_with_the_network_there_are_those_of_the_internet_alone(
    own: UserWorkspace, sandbox: Landlock
) -> None:
    allowed = own.run(sandbox, PYTHON, "-c", FAMILIES, access=own.access(has_network=True))
    kinds = ("SOCK_STREAM", "SOCK_DGRAM")
    lines = [f"{family} {kind}" for family in ("AF_INET", "AF_INET6") for kind in kinds]
    assert allowed.stdout.splitlines() == [*lines, "pair"]


SHARED: Final = """
import ctypes, errno, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
for name, call in {
    "shmget": lambda: libc.shmget(7, 4096, 0o1600),
    "msgget": lambda: libc.msgget(7, 0o1600),
    "semget": lambda: libc.semget(7, 1, 0o1600),
    "mq_open": lambda: libc.mq_open(b"/queue", 0o102, 0o600, None),
    "ptrace": lambda: libc.ptrace(16, int(sys.argv[1]), 0, 0),
    "keyctl": lambda: libc.syscall(250, 0, -3, 1),
}.items():
    if call() != -1:
        print(name)
try:
    resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (3, 3))
    print("prlimit")
except PermissionError:
    pass
print(resource.getrlimit(resource.RLIMIT_CORE))
"""


def test_what_programs_of_a_user_share_is_refused(own: UserWorkspace, sandbox: Landlock) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        printed = own.run(sandbox, PYTHON, "-c", SHARED, str(other.pid)).stdout
        other.kill()
    assert printed == "(0, 0)\n"


def test_no_command_leaves_by_namespaces_or_mounts(place: UserWorkspace, sandbox: Landlock) -> None:
    lines = [
        *("unshare -U true", "unshare -m true", "chroot / true", "nsenter -t 1 -a true"),
        "mount -t tmpfs none src",
    ]
    results = split_output(sh(place, sandbox, join_commands(lines)))
    assert [line for line, (code, _) in zip(lines, results, strict=True) if code == 0] == []


# ---- what people run -------------------------------------------------------------------------------


@pytest.mark.usefixtures("cached_python")
def test_python_its_subprocesses_asyncio_and_tests(own: UserWorkspace, sandbox: Landlock) -> None:
    own.write(
        "src/test_a.py",
        "import asyncio, subprocess, sys, tempfile, threading\n"
        "def test_a(tmp_path):\n"
        "    tmp_path.joinpath('a').write_text('1')\n"
        "    assert subprocess.run([sys.executable, '-c', '']).returncode == 0\n"
        "    asyncio.run(asyncio.create_subprocess_exec('true'))\n"
        "    threading.Thread(target=print).start()\n"
        "    tempfile.TemporaryDirectory().cleanup()\n",
    )
    result = own.run(
        sandbox, "env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", PYTHON, "-m", "pytest", "src"
    )
    assert result.returncode == 0 and "1 passed" in result.stdout, result.stdout


def test_node_and_its_children(own: UserWorkspace, sandbox: Landlock) -> None:
    code = (
        "const p = require('child_process'); const o = require('os');"
        "require('fs').writeFileSync('a.js', '1');"
        "console.log(p.execSync('echo child').toString(), o.tmpdir().endsWith('tmp'));"
        "require('net').connect(1, '127.0.0.1').on('error', e => console.log(e.code))"
    )
    assert own.run(sandbox, "node", "-e", code).stdout == "child\n true\nEPERM\n"


def test_a_compiler_make_and_what_they_built(own: UserWorkspace, sandbox: Landlock) -> None:
    own.write("a.c", '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
    own.write("Makefile", "a: a.c\n\tcc -o a a.c\nrun: a\n\t./a\n")
    assert sh(own, sandbox, "make -s run") == "built\n"


def test_bash_with_pipes_and_what_it_writes_by_itself(
    place: UserWorkspace, sandbox: Landlock
) -> None:
    line = "cat <<<here | tr h H; diff <(echo 1) <(echo 1) && for i in {1..2}; do echo $i; done"
    printed = place.run(sandbox, "bash", "-c", line).stdout
    assert "Here\n" in printed and printed.endswith("1\n2\n")


def test_a_program_that_is_not_visible_is_not_run(own: UserWorkspace, sandbox: Landlock) -> None:
    program = own.outside / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    result = own.run(sandbox, str(program))
    assert result.returncode == 126 and "Permission denied" in result.stdout


# ---- what is said ----------------------------------------------------------------------------------


def test_the_gaps_of_older_kernels_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = {}
    for abi in range(1, 8):
        monkeypatch.setattr(kernel, "find_landlock_abi", lambda abi=abi: abi)
        gaps[abi] = Landlock().missing_protections
    assert [len(gaps[abi]) for abi in gaps] == [7, 6, 5, 5, 4, 3, 3]
    assert any("signals" in gap for gap in gaps[5])


def test_a_kernel_without_landlock_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "find_landlock_abi", lambda: 0)
    with pytest.raises(SandboxError, match=r"Linux 5\.13"):
        Landlock()


def test_older_kernels_are_asked_for_what_they_know_alone(own: UserWorkspace) -> None:
    sandbox = Landlock()
    rules = {abi: _orders(abi, own) for abi in range(1, 8)}
    known = [rules[abi]["files"].bit_count() for abi in rules]
    assert known == [13, 14, 15, 15, 16, 16, 16]
    assert [rules[abi]["network"] for abi in rules] == [0, 0, 0, 3, 3, 3, 3]
    assert [rules[abi]["scopes"] for abi in rules] == [0, 0, 0, 0, 0, 3, 3]
    assert own.run(sandbox, "true").returncode == 0


def _orders(abi: int, place: UserWorkspace) -> module.LandlockRules:
    return module.make_landlock_rules(abi, place.access())


@pytest.mark.parametrize("abi", select_sample(range(1, 6), 1, 3))
def test_the_rules_of_older_kernels_hold(
    own: UserWorkspace, monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    monkeypatch.setattr(kernel, "find_landlock_abi", lambda: abi)
    printed = sh(own, Landlock(), "echo 1 >a && cat a ../outside/secret.txt")
    assert printed.startswith("1\n") and "denied" in printed and SECRET not in printed


def test_a_signal_of_a_confined_program_is_passed_on(own: UserWorkspace, sandbox: Landlock) -> None:
    assert own.run(sandbox, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert Path(own.workspace).is_dir()
