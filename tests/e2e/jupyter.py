"""A real Jupyter server on a folder, as a person starts it."""

from __future__ import annotations

import os
import secrets
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
        "JUPYTER_PATH": str(KERNELS),
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "examples")]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("AGENTSTEPPER_")
    }
    return kept | own


@contextmanager
def running_jupyter(home: Path, *, extended: bool = True) -> Iterator[Jupyter]:
    """Start a server in a folder of its own and end it afterwards.

    Args:
        home: Its folder.
        extended: Whether our extensions, the server's and JupyterLab's, are enabled.
    """
    folder, log = home / "root", home / "server.log"
    for each in (folder, home / "data", home / "runtime", home / "config"):
        each.mkdir(parents=True, exist_ok=True)
    _decline_news(home / "settings")
    port, token = _free_port(), secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        f"--ServerApp.root_dir={folder}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.base_url={BASE_URL}",
        f"--IdentityProvider.token={token}",
        "--ServerApp.allow_unauthenticated_access=False",
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if not extended:
        command.append("--ServerApp.jpserver_extensions={'agentstepper_nb.server_ext': False}")
        _disable_labextension(home / "config")
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, env=jupyter_environment(home)
        )
    try:
        url = f"http://127.0.0.1:{port}{BASE_URL}"
        _wait(process, f"{url}api/status?token={token}", log)
        yield Jupyter(url, token, folder, home / "data", home / "runtime", log)
    finally:
        process.terminate()
        process.wait()


def _decline_news(settings: Path) -> None:
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
