"""The tutorials as `make demo` opens them: on its copy, in the JupyterLab that it starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from .jupyter import ROOT, Jupyter, decline_news, jupyter_environment


@contextmanager
def running_demo(home: Path) -> Iterator[Jupyter]:
    """Run `scripts/demo.py`, and end it as Ctrl+C does.

    Args:
        home: A folder for its copy, and for Jupyter's own folders.
    """
    folders = {name: home / name for name in ("copies", "data", "runtime", "config")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    decline_news(home / "settings")
    # Of the person's own configuration: what the tests reach JupyterLab by.
    (folders["config"] / "jupyter_lab_config.json").write_text(
        '{"LabApp": {"expose_app_in_browser": true}}'
    )
    environment = jupyter_environment(home)
    del environment["PYTHONPATH"]  # what is installed is all that the demo has
    del environment["JUPYTER_PATH"]  # it finds the tutorials' kernel by itself
    environment |= {"DEMO_BROWSER": "0", "DEMO_FOLDER": str(folders["copies"])}
    log = home / "demo.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / "demo.py")],
            stdout=subprocess.PIPE,
            stderr=sink,
            env=environment,
            text=True,
            start_new_session=True,  # Ctrl+C reaches the demo and its server
        )
    try:
        url, token = _address(process, log)
        [folder] = folders["copies"].iterdir()
        yield Jupyter(url, token, folder, folders["data"], folders["runtime"], log)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.communicate()


def _address(process: subprocess.Popen[str], log: Path) -> tuple[str, str]:
    """The server's URL and login token, as the demo prints them."""
    assert process.stdout
    for line in process.stdout:
        found = re.search(r"http://\S+", line)
        if found:
            parts = urlsplit(found[0])
            return f"{parts.scheme}://{parts.netloc}/", parts.query.removeprefix("token=")
    raise AssertionError(f"The demo did not start:\n{log.read_text()}")
