"""A real Jupyter server on a folder, as a person starts it."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE_URL = "/user/ada/"
#: Where `make kernels` puts its kernelspecs.
KERNELS = ROOT / ".make" / "kernels" / "share" / "jupyter"
#: Has a kernel with LangGraph and OpenAI Agents.
FRAMEWORKS = ROOT / ".make" / "frameworks" / "kernel" / "jupyter" / "share" / "jupyter"

_LAB_OPTIONS = (
    "--LabApp.expose_app_in_browser=True",
    "--JupyterNotebookApp.expose_app_in_browser=True",
    "--LabApp.extension_manager=readonly",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)
_NO_EXTENSION = "--ServerApp.jpserver_extensions={'agentstepper_nb.server_ext': False}"


@dataclass(frozen=True)
class Jupyter:
    """A running server.

    Attributes:
        url: Its address, with its base_url, ending in a slash.
        token: Its login token.
        folder: Its root folder.
        data: Its Jupyter data folder, where the agents' token lies.
        runtime: Its Jupyter runtime folder.
    """

    url: str
    token: str
    folder: Path
    data: Path
    runtime: Path
    log: Path

    def environment(self) -> dict[str, str]:
        """What a process of the same user sees."""
        return jupyter_environment(self.folder.parent)


def jupyter_environment(home: Path) -> dict[str, str]:
    """An environment whose Jupyter folders are a test's own."""
    own = {
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_PATH": os.pathsep.join([str(KERNELS), str(FRAMEWORKS)]),
        "IPYTHONDIR": str(home / "ipython"),
        "AGENTSTEPPER_SCRIPTS": str(home / "scripts"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "examples")]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("AGENTSTEPPER_")
    }
    return kept | own


class Server:
    """A server that may be killed, and started again at the same address on the same folders.

    Args:
        home: A folder for all of them.
        lab: Whether JupyterLab and Notebook 7 are there; without them it starts faster.
        extended: Whether our extensions, the server's and JupyterLab's, are enabled.

    Attributes:
        jupyter: What is known of it.
    """

    def __init__(self, home: Path, *, lab: bool = True, extended: bool = True) -> None:
        folder, log = home / "root", home / "server.log"
        for each in (folder, home / "data", home / "runtime", home / "config"):
            each.mkdir(parents=True, exist_ok=True)
        decline_news(home / "settings")
        port, token = _free_port(), secrets.token_hex(16)
        url = f"http://127.0.0.1:{port}{BASE_URL}"
        self.jupyter = Jupyter(url, token, folder, home / "data", home / "runtime", log)
        self._command = [
            *(sys.executable, "-m", "jupyterlab" if lab else "jupyter_server"),
            *("--no-browser", "--allow-root"),
            f"--ServerApp.root_dir={folder}",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.base_url={BASE_URL}",
            f"--IdentityProvider.token={token}",
            "--ServerApp.allow_unauthenticated_access=False",
            *(_LAB_OPTIONS if lab else ()),
        ]
        if not extended:
            self._command.append(_NO_EXTENSION)
            _disable_labextension(home / "config")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        jupyter = self.jupyter
        with jupyter.log.open("ab") as sink:
            self._process = subprocess.Popen(
                self._command, stdout=sink, stderr=subprocess.STDOUT, env=jupyter.environment()
            )
        _wait(self._process, f"{jupyter.url}api/status?token={jupyter.token}", jupyter.log)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it by a signal, unless it isn't there."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None


@contextmanager
def running_jupyter(home: Path, *, extended: bool = True) -> Iterator[Jupyter]:
    """Start JupyterLab in a folder of its own and end it afterwards.

    Args:
        home: Its folder.
        extended: Whether our extensions, the server's and JupyterLab's, are enabled.
    """
    server = Server(home, extended=extended)
    with running(server):
        yield server.jupyter


@contextmanager
def running(server: Server) -> Iterator[None]:
    """Start a server, and end the one that is there afterwards."""
    try:
        server.start()
        yield
    finally:
        server.stop()


def decline_news(settings: Path) -> None:
    """JupyterLab asks whether it may fetch news, in a notice over the notebook."""
    folder = settings / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    chosen = '{"fetchNews": "false", "checkForUpdates": false}'
    (folder / "notification.jupyterlab-settings").write_text(chosen)


def _disable_labextension(config: Path) -> None:
    folder = config / "labconfig"
    folder.mkdir()
    (folder / "page_config.json").write_text('{"disabledExtensions": {"agentstepper_nb": true}}')


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Poll until the server answers: it has no other way to say so."""
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")
