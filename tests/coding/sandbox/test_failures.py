"""What the output of a failed command says of the sandbox: real strings of real programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.coding.sandbox import SandboxAccess, SandboxChoice
from agentstepper_nb.coding.sandbox.failures import SandboxFailure, find_sandbox_failure


@pytest.fixture
def access(tmp_path: Path) -> SandboxAccess:
    for name in ("repo/.git/hooks", "data/home", "data/tmp", "out side", "out", "jupyter"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out" / "there.csv").write_text("1\n")
    return SandboxAccess(
        workspace=tmp_path / "repo",
        home=tmp_path / "data/home",
        temporary_folder=tmp_path / "data/tmp",
        hidden=(tmp_path / "jupyter",),
    )


def found(
    output: str, access: SandboxAccess, name: SandboxChoice = "bubblewrap"
) -> SandboxFailure | None:
    return find_sandbox_failure(
        output.replace("ROOT", str(access.workspace.parent)), access.workspace, access, name
    )


NETWORK = [
    "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
    "OSError: [Errno 101] Network is unreachable",
    "curl: (6) Could not resolve host: example.com",
    "curl: (7) Failed to connect to 93.184.216.34 port 80 after 0 ms: Couldn't connect to server",
    "wget: unable to resolve host address ‘example.com’",
    "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
    "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
    "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\nnpm error errno EAI_AGAIN",
    "TypeError: fetch failed\n  [cause]: Error: getaddrinfo EAI_AGAIN example.com",
    "bash: connect: Network is unreachable\nbash: line 1: /dev/tcp/1.1.1.1/80: Network is unreachable",
    "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError(': "
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'",
    'go: example.com/m@v1.0.0: Get "https://proxy.golang.org/": dial tcp: lookup proxy.golang.org on '
    "10.0.0.2:53: dial udp 10.0.0.2:53: connect: network is unreachable",
    "  error trying to connect: dns error: failed to lookup address information: Temporary failure",
    # Where each socket is refused:
    '  File "/usr/lib/python3.11/socket.py", line 233, in __init__\n'
    "    _socket.socket.__init__(self, family, type, proto, fileno)\n"
    "PermissionError: [Errno 1] Operation not permitted, socket",
    "urllib.error.URLError: <urlopen error [Errno 13] Permission denied>",
    "Error: connect EPERM 93.184.216.34:80 - Local (undefined:undefined)",
    '  File "/usr/lib/python3.11/socket.py", line 232, in __init__\n'
    "    _socket.socket.__init__(self, family, type, proto, fileno)\n"
    "PermissionError: [Errno 1] Operation not permitted",
    "  errno: -1,\n  code: 'EPERM',\n  syscall: 'connect',\n  address: '192.0.2.1',\n  port: 80",
    "Could not create socket: Operation not permitted",
]


@pytest.mark.parametrize("output", NETWORK)
def test_no_network_is_recognised(output: str, access: SandboxAccess) -> None:
    failure = found(output, access)
    assert failure is not None
    assert failure.retry_args == {"network": True}
    assert failure.retry_question == "the sandbox has no network. Run it again with the network?"


OUTSIDE = [
    "sh: 1: cannot create ROOT/out/x: Read-only file system",
    "/bin/bash: line 1: ROOT/out/x: Permission denied",
    "/bin/bash: line 1: ../out/x: Read-only file system",
    "touch: cannot touch 'ROOT/out/x': Read-only file system",
    "mkdir: cannot create directory ‘ROOT/out/new’: Permission denied",
    "OSError: [Errno 30] Read-only file system: 'ROOT/out/x'",
    "PermissionError: [Errno 13] Permission denied: 'ROOT/out/x'",
    "Error: EROFS: read-only file system, open 'ROOT/out/x'",
    "npm error Error: EACCES: permission denied, mkdir 'ROOT/out/lib'",
    "cp: cannot create regular file 'ROOT/out/x': Read-only file system",
    "fatal: cannot mkdir ROOT/out/zz: Read-only file system",
    "rm: cannot remove 'ROOT/out/there.csv': Read-only file system",
    # Bubblewrap doesn't show the folder at all:
    "sh: 1: cannot create ROOT/out/x: Directory nonexistent",
    "touch: cannot touch 'ROOT/out/x': No such file or directory",
    "mkdir: cannot create directory ‘ROOT/out/x’: No such file or directory",
]


@pytest.mark.parametrize("output", OUTSIDE)
def test_a_folder_outside_is_recognised(output: str, access: SandboxAccess) -> None:
    failure = found(output, access)
    assert failure is not None
    assert failure.retry_args == {"writable": [str(access.workspace.parent / "out")]}


def test_a_name_with_spaces_is_one(access: SandboxAccess) -> None:
    failure = found("touch: cannot touch 'ROOT/out side/x y': Read-only file system", access)
    assert failure is not None and failure.folder == access.workspace.parent / "out side"


@pytest.mark.parametrize(
    ("output", "name", "cause"),
    [
        ("cat: ROOT/out/there.csv: No such file or directory", "bubblewrap", "don't see"),
        (
            "touch: cannot touch '/etc/x': Read-only file system",
            "bubblewrap",
            "can't change `/etc/x`",
        ),
        ("touch: cannot touch '/usr/x': Permission denied", "landlock", "can't change `/usr/x`"),
        ("touch: cannot touch '../x': Read-only file system", "bubblewrap", "can't change"),
        ("touch: cannot touch '/tmp/x': Permission denied", "landlock", "can't change `/tmp/x`"),
        (
            "fatal: Unable to create 'ROOT/repo/.git/index.lock': Permission denied",
            "landlock",
            ".git",
        ),
        (
            "error: could not lock config file .git/config: Read-only file system",
            "bubblewrap",
            ".git",
        ),
        ("touch: cannot touch 'new.txt': Permission denied", "landlock", "no new names"),
        ("/bin/bash: line 1: cannot create new.txt: Permission denied", "landlock", "no new names"),
    ],
)
def test_what_no_question_helps_is_explained(
    output: str, name: SandboxChoice, cause: str, access: SandboxAccess
) -> None:
    failure = found(output, access, name)
    assert failure is not None
    assert cause in failure.cause
    assert not failure.retry_args


@pytest.mark.parametrize(
    "output",
    [
        "",
        "FAILED tests/test_a.py::test_b - AssertionError",
        "curl: (7) Failed to connect to 127.0.0.1 port 5432 after 0 ms: Couldn't connect to server",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "cat: missing.txt: No such file or directory",
        "cat: ROOT/out/missing.csv: No such file or directory",  # nor is it there outside
        "cat: ROOT/jupyter/token: No such file or directory",  # nobody says what is hidden
        "bash: ./run.sh: Permission denied",  # not executable, and inside
        "ModuleNotFoundError: No module named 'colorama'",
        "cat: ROOT/data/home/x: No such file or directory",
    ],
)
def test_other_failures_are_left_alone(output: str, access: SandboxAccess) -> None:
    assert found(output, access) is None


def test_what_is_granted_or_not_held_is_no_reason(access: SandboxAccess) -> None:
    assert find_sandbox_failure(NETWORK[0], access.workspace, access, "none") is None
    out = access.workspace.parent / "out"
    granted = replace(access, hidden=(), has_network=True, writable=(out,))
    assert all(found(output, granted) is None for output in NETWORK + OUTSIDE)
