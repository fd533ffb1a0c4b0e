"""The fifth tutorial in JupyterLab: its table shows live what its cells do, through both kills."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from .jupyter import Jupyter
from .lab import Lab
from .test_sessions import SessionsView

#: The tutorial's cells that do something, by their place.
SERVE, CREATE, TABLE, WATCH, PAUSE, GUIDE, POST, KILL, AGAIN, RESUME, DESTROY, RUNS, END = (
    *range(2, 8, 2),
    *range(8, 28, 2),
)

pytestmark = pytest.mark.soak


@pytest.fixture
def lab(context: BrowserContext, demo: Jupyter) -> Iterator[Lab]:
    lab = Lab(context, demo, "notebooks/05_background_agents.ipynb")
    lab.open()
    lab.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    yield lab
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def run(lab: Lab, cell: int) -> None:
    """Run a cell to its end."""
    lab.run(cell)
    expect(lab.prompt(cell)).to_have_text(f"[{cell // 2}]:", timeout=60_000)


def test_the_table_follows(lab: Lab) -> None:
    for cell in (SERVE, CREATE, TABLE, WATCH):
        run(lab, cell)
    view = SessionsView(lab, TABLE)
    expect(view.row("comedian-")).to_have_count(10)

    lab.run(PAUSE)
    expect(view.row("comedian-3")).to_contain_text("Paused")
    expect(lab.prompt(PAUSE)).to_have_text(f"[{PAUSE // 2}]:", timeout=60_000)
    run(lab, GUIDE)
    expect(view.row("comedian-3")).to_contain_text("oxes")
    run(lab, POST)
    expect(view.row("moon")).to_have_count(10)

    run(lab, KILL)
    run(lab, AGAIN)
    expect(view.row("comedian-7")).to_contain_text("Paused")
    expect(view.row("Running")).to_have_count(9)
    run(lab, RESUME)
    expect(view.row("Running")).to_have_count(10)
    run(lab, DESTROY)
    expect(lab.outputs(DESTROY)).to_contain_text("each step stands once, for 10 agents")
    expect(view.row("Stopped")).to_have_count(10)
    run(lab, RUNS)
    run(lab, END)
    assert lab.errors == []
