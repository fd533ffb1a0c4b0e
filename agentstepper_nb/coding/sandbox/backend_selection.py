"""Chooses a session's sandbox: the first that works in a test run."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from ...errors import SandboxError
from . import ResourceLimits, SandboxAccess, SandboxChoice
from .bubblewrap import Bubblewrap, find_bubblewrap_programs
from .landlock import Landlock
from .launch import Sandbox, Unconfined
from .seatbelt import Seatbelt

_PROBE_TIMEOUT_S: Final = 60.0

# What a probe does in the sandbox: each line that it prints is something that the sandbox doesn't hold.
_PROBE: Final = """
import hashlib, os, socket, sys
inside, outside, port, process, environment = sys.argv[1:]

def attempt(what, act):
    try:
        act()
    except OSError as error:
        return str(error)
    if what:
        print(what)

def connect():
    socket.create_connection(("127.0.0.1", int(port)), 5).close()

def look():
    with open(f"/proc/{process}/environ", "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != environment:
            raise OSError

def change():
    with open(outside, "w"):
        pass

why = attempt("", lambda: open(inside, "w").close())
if why:
    print(f"it can't write in the workspace ({why})")
attempt("it lets commands write outside of the workspace", change)
attempt("it lets commands use the network", connect)
attempt("it lets commands see the environment of this process", look)
print("done")
"""

_EXTRA: Final = "`pip install 'agentstepper_nb[sandbox]'` or your system's package `bubblewrap`"
_ADVICE: Final = {
    "bubblewrap": f"Install it ({_EXTRA}), or allow user namespaces: docs/guide/install.md says how.",
    "landlock": "Landlock needs Linux 5.13 or newer, with Landlock among the kernel's security "
    "modules.",
    "seatbelt": "Seatbelt needs macOS.",
}


class RejectedSandbox(Struct, frozen=True):
    """A sandbox that doesn't work on this machine.

    Args:
        name: Which one.
        reason: Why, in words for a person.
    """

    name: str
    reason: str

    def __str__(self) -> str:
        """The sandbox and the reason, as one sentence."""
        return f"{self.name}: {self.reason}"


class SelectedSandbox(Struct, frozen=True):
    """A session's sandbox, and why it is no better one.

    Args:
        sandbox: The sandbox.
        rejection_reasons: The better ones that don't work here, each a sentence for a person.
    """

    sandbox: Sandbox
    rejection_reasons: tuple[str, ...] = ()


def choose_sandbox(backend: SandboxChoice, limits: ResourceLimits) -> SelectedSandbox:
    """Choose a sandbox, by a real run of each until one holds. Blocking.

    What was found is remembered for as long as this process runs.

    Args:
        backend: Which one; `auto` is the first that works of bubblewrap, Landlock, Seatbelt and none.
        limits: What a command may use.

    Raises:
        SandboxError: The sandbox that was named doesn't work on this machine.
    """
    sandbox, refused = _try_sandboxes(backend, limits)
    if sandbox is not None:
        return SelectedSandbox(sandbox, tuple(map(str, refused)))
    why = "; ".join(each.reason for each in refused) or "this machine has none"
    raise SandboxError(
        f"The sandbox {backend!r} doesn't work on this machine: {why}. {_ADVICE[backend]} "
        "`--sandbox auto` chooses the best one that works."
    )


def probe_sandbox(sandbox: Sandbox) -> None:
    """Run a command in a sandbox that tries what it must not.

    Raises:
        SandboxError: The command couldn't be run, or did what it must not; the text says which.
        OSError: The operating system refuses.
    """
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as server:
        root = Path(name).resolve()
        access = SandboxAccess(
            workspace=root / "workspace", home=root / "home", temporary_folder=root / "tmp"
        )
        for folder in (access.workspace, access.home, access.temporary_folder, root / "outside"):
            folder.mkdir()
        paths = (str(access.workspace / "file"), str(root / "outside" / "file"))
        words = (sys.executable, "-I", "-S", "-c", _PROBE, *paths)
        seen = (str(server.getsockname()[1]), str(os.getpid()), _own_environment())
        with sandbox.prepare_command((*words, *seen), access.workspace, access) as launch:
            try:
                done = subprocess.run(
                    launch.argv,
                    env=launch.env,
                    pass_fds=launch.pass_fds,
                    cwd=access.workspace,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_PROBE_TIMEOUT_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise SandboxError("a test command in it doesn't end") from None
    *failures, last = done.stdout.decode("utf-8", "replace").splitlines() or [""]
    if last != "done":
        error_lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise SandboxError(
            error_lines[-1][:300]
            if error_lines
            else f"a test command in it ends with exit code {done.returncode}"
        )
    if failures:
        raise SandboxError("; ".join(failures))


def _own_environment() -> str:
    """A mark of this process's environment, by which a command would know it."""
    try:
        return hashlib.sha256(Path("/proc/self/environ").read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def _try_sandboxes(
    backend: SandboxChoice, limits: ResourceLimits
) -> tuple[Sandbox | None, tuple[RejectedSandbox, ...]]:
    refused: list[RejectedSandbox] = []
    for name, make in _candidates(limits):
        if backend not in ("auto", name):
            continue
        try:
            sandbox = make()
            if name != "none":
                probe_sandbox(sandbox)
            return sandbox, tuple(refused)
        except (SandboxError, OSError) as error:
            refused.append(RejectedSandbox(name, str(error)))
    return None, tuple(refused)


def _candidates(limits: ResourceLimits) -> Iterator[tuple[str, Callable[[], Sandbox]]]:
    """Every sandbox, the best first."""
    if sys.platform == "linux":
        programs = find_bubblewrap_programs()
        for program in programs:
            yield "bubblewrap", partial(Bubblewrap, program, limits)
        if not programs:
            yield "bubblewrap", _no_bubblewrap
        yield "landlock", partial(Landlock, limits)
    if sys.platform == "darwin":
        yield "seatbelt", partial(Seatbelt, limits)
    yield "none", partial(Unconfined, limits)


def _no_bubblewrap() -> Sandbox:
    raise SandboxError("it isn't installed")
