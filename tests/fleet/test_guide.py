"""`docs/guide/fleet.md`, and the docstring of `Fleet`: their programs run as they are printed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname

import pytest

from tests.docs.docstrings import list_examples
from tests.docs.pages import GUIDE, write_files
from tests.helpers.serve_process import ServeProcess

# Each starts a cluster: ten processes that import Dask, or us.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

PAGE = GUIDE / "fleet.md"


@pytest.fixture
def folder(home: Path) -> Iterator[Path]:
    """A folder with the page's programs, beside `agentstepper serve`."""
    write_files(PAGE, home)
    options = ("--client-port", "0", "--ui-port", "0", "--no-worker", "--log-level", "warning")
    served = ServeProcess([sys.executable, "-m", "agentstepper_nb", "serve", *options])
    yield home
    served.stop()


def run(folder: Path, program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_fleet(folder: Path) -> None:
    hosts, status = run(folder, "fleet.py")
    assert set(hosts.split()) == {gethostname()}
    assert status == "stopped"


def test_many_agents(folder: Path) -> None:
    *agents, lost = run(folder, "many.py")
    assert sorted(agents) == ["0 done otters are fine", "1 done foxes are fine"]
    assert lost == "[]"


def test_the_docstring(folder: Path) -> None:
    (example,) = [each.text for each in list_examples() if each.place == "fleet/fleet.py Fleet"]
    program = folder / "docstring.py"
    program.write_text(
        "from dask.distributed import LocalCluster\n"
        "from agentstepper_nb.fleet import Fleet\n"
        "def solve(task):\n    return task * 2\n"
        "tasks = [1, 2]\n"
        f"if __name__ == '__main__':\n{textwrap.indent(example, '    ')}\n"
    )
    assert run(folder, program.name)[-1] == "[2, 4]"
