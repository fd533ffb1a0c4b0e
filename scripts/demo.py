"""Open the first tutorial in JupyterLab, on a copy: the checkout stays as it is.

Each start makes a new folder under demo/ (or where DEMO_FOLDER says), so that no earlier work is
overwritten. With DEMO_BROWSER=0 no browser is opened; the URL is printed and the server stays up until
Ctrl-C.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = "notebooks/01_first_steps.ipynb"
#: Where `make demo` installs the tutorials' kernel, which has LangGraph and OpenAI Agents.
KERNELSPECS = ROOT / ".make" / "frameworks" / "kernel" / "jupyter" / "share" / "jupyter"
#: The tutorials, what they read, and the pages that they lead to, by relative links.
COPIED = (
    *("notebooks", "examples", "docs", "js/schema", "LICENSE"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
)


def main() -> None:
    folder = copy_of_the_tutorial(Path(os.environ.get("DEMO_FOLDER") or ROOT / "demo"))
    port, token = free_port(), secrets.token_hex(16)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the server is ended too
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser"),
            f"--ServerApp.root_dir={folder}",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",  # the URL below must be the one
            "--ServerApp.answer_yes=True",  # Ctrl-C stops it without a question
            "--ServerApp.log_level=WARN",
            "--LabApp.extension_manager=readonly",  # the demo asks no registry for extensions
            # Tabs of earlier JupyterLabs stay where they are.
            f"--LabApp.workspaces_dir={folder / '.workspaces'}",
            *(["--allow-root"] if os.geteuid() == 0 else []),
        ],
        env={
            **os.environ,
            # The agents' tools find the Python and pytest that are installed here.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "JUPYTER_PATH": os.pathsep.join(
                filter(None, [str(KERNELSPECS), os.environ.get("JUPYTER_PATH")])
            ),
            # Not on the command line, where every user of the machine could read it.
            "JUPYTER_TOKEN": token,
        },
    )
    try:
        wait_until_up(server, f"http://127.0.0.1:{port}/api/status?token={token}")
        url = f"http://127.0.0.1:{port}/lab/tree/{NOTEBOOK}?token={token}"
        print(f"\nThe tutorial, on a copy in {os.path.relpath(folder)}/:\n\n    {url}\n")
        print("Ctrl-C stops it.", flush=True)
        if os.environ.get("DEMO_BROWSER") != "0":
            webbrowser.open(url)
        sys.exit(server.wait())
    except KeyboardInterrupt:
        server.wait()  # it has had the Ctrl-C too
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()


def copy_of_the_tutorial(parent: Path) -> Path:
    """Copy the tutorials to a new folder of that one; the paths in them are relative, so all keep
    their places.
    """
    folder = parent / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    for name in COPIED:
        source, copy = ROOT / name, folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=left_out)
        else:
            shutil.copy(source, copy)
    return folder


def left_out(folder: str, names: list[str]) -> set[str]:
    """What running them leaves: in notebooks/ every folder is of an earlier time."""
    made = shutil.ignore_patterns("__pycache__", ".*")(folder, names)
    if Path(folder) == ROOT / "notebooks":
        made |= {name for name in names if not name.endswith(".ipynb")}
    return set(made)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_up(server: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    sys.exit("JupyterLab did not come up; its messages are above")


if __name__ == "__main__":
    main()
