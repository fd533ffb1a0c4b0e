"""Run the tutorials with the driver and keep their outputs, without widgets' state.

python scripts/run_notebooks.py notebooks/*.ipynb
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from agentstepper_nb.widgets import VIEW_MIME
from notebooks.tutorial_core import serve_tutorials

#: What a reader of the file can't see: their Core never had these runs.
_VIEWS = (VIEW_MIME, "application/vnd.jupyter.widget-view+json")


def main(paths: list[str]) -> None:
    with serve_tutorials():
        for path in paths:
            run(Path(path))


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
