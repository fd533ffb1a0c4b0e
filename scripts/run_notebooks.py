"""Run the tutorials with the driver and keep their outputs, without widgets' state.

python scripts/run_notebooks.py notebooks/*.ipynb
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.widgets import VIEW_MIME
from notebooks.driver import Driver
from scripts.demo import KERNELSPECS

#: What a reader of the file can't see: their Core never had these runs.
_VIEWS = (VIEW_MIME, "application/vnd.jupyter.widget-view+json")


def main(paths: list[str]) -> None:
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        driver = Driver(f"ws://127.0.0.1:{core.ui_port}")
        driver.start()
        os.environ["AGENTSTEPPER_URL"] = f"ws://127.0.0.1:{core.client_port}"
        os.environ["AGENTSTEPPER_TOKEN"] = core.tokens.agent
        os.environ["AGENTSTEPPER_CONTROL_TOKEN"] = core.tokens.control
        os.environ["JUPYTER_PATH"] = str(KERNELSPECS)
        for variable in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[variable] = tempfile.mkdtemp()
        for path in paths:
            run(Path(path))
        driver.stop()


def run(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for mime in _VIEWS:
                output.get("data", {}).pop(mime, None)
    nbformat.write(notebook, path)
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
