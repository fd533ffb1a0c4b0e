"""Where a Core lives while it is killed: `agentstepper serve`, or a Jupyter server."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentstepper_nb import discover
from tests.helpers.ports import find_ports
from tests.helpers.serve_process import ServeProcess

from .faults import KillPoint


@dataclass
class RunningCore:
    """A Core that runs.

    Args:
        process: Its process.
        uis: Where UIs reach it, with what they need to get in.
    """

    process: subprocess.Popen[str]
    uis: str


class CoreHost(Protocol):
    """Starts a Core on the same folder again and again."""

    #: The folder of the store.
    data: Path

    def core(self, point: KillPoint, count: int) -> AbstractContextManager[RunningCore]:
        """Start one, which dies at a point where it can; killed at the end."""

    def environment(self) -> Mapping[str, str]:
        """What agents find it by."""


class ServeHost:
    """`agentstepper serve`, on the same ports each time.

    Args:
        folder: For all that it keeps.
        options: What it is told besides.
    """

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self.data = folder / "data"
        self._options = options
        self._ports = [str(port) for port in find_ports(2)]
        self._url = ""

    @contextmanager
    def core(self, point: KillPoint, count: int) -> Iterator[RunningCore]:
        """Start a Core; raises `ServeExitedError` where it was killed before it listened."""
        agents, uis = self._ports
        core = ServeProcess(
            [
                *(sys.executable, "-m", "tests.crash_recovery.faults", point, str(count), "serve"),
                *("--client-port", agents, "--ui-port", uis),
                *("--data", str(self.data), "--log-level", "warning", *self._options),
            ],
            is_forked=True,
        )
        self._url = core.agents
        with _ended(core.process):
            yield RunningCore(core.process, core.uis)

    def environment(self) -> dict[str, str]:
        """By its address."""
        return os.environ | {discover.URL_VARIABLE: self._url}


class JupyterHost:
    """A Jupyter server, each time on another port: agents find it by what it announces.

    Args:
        folder: For all that it keeps.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.data = folder / "jupyter" / "agentstepper"
        self._token = secrets.token_hex(16)

    @contextmanager
    def core(self, point: KillPoint, count: int) -> Iterator[RunningCore]:
        """Start one; it dies from outside only."""
        assert point is KillPoint.ANYWHERE
        root, runtime = self._folder / "root", self._folder / "runtime"
        root.mkdir(exist_ok=True)
        before = set(runtime.glob("agentstepper-*.json"))
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root"),
                *(f"--ServerApp.root_dir={root}", f"--ServerApp.port={_free_port()}"),
                f"--IdentityProvider.token={self._token}",
            ],
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with _ended(process):
            while not (new := set(runtime.glob("agentstepper-*.json")) - before):
                assert process.poll() is None
                time.sleep(0.01)  # without it, half of a machine of two cores waits
            yield RunningCore(process, self._uis(new.pop()))

    def environment(self) -> dict[str, str]:
        """By discovery alone."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("AGENTSTEPPER")
        }
        own = {
            "JUPYTER_DATA_DIR": str(self._folder / "jupyter"),
            "JUPYTER_RUNTIME_DIR": str(self._folder / "runtime"),
            "JUPYTER_CONFIG_DIR": str(self._folder / "config"),
        }
        return kept | own

    def _uis(self, announced: Path) -> str:
        agents: str = json.loads(announced.read_text())["url"]
        return f"{agents.removesuffix('agent')}ui?token={self._token}"


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
