"""The Jupyter server is killed and comes back: so do the view and the agent, and the edits are there."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.envelope import SUBPROTOCOL, VERSION

from .jupyter import Jupyter, Server, running
from .lab import DebuggerView, Lab, notebook
from .test_page import edit_argument, open_page
from .test_several_agents import agent, api, choose, expect_rows_of_core, run_of

#: An edit of the agent's call, as it travels.
KEPT = '{"Tool": "count", "Argument": {"number": 40}}'

Show = Callable[[BrowserContext, Jupyter], DebuggerView]


def on_its_own_page(context: BrowserContext, jupyter: Jupyter) -> DebuggerView:
    return open_page(context, jupyter)[1]


def in_the_side_panel(context: BrowserContext, jupyter: Jupyter) -> DebuggerView:
    notebook(jupyter.folder / "back.ipynb", ["1"])
    lab = Lab(context, jupyter, "back.ipynb")
    lab.open()
    lab.toggle_panel()
    # JupyterLab's own word on a server that is away, where that takes a while: a person takes note.
    lab.page.add_locator_handler(
        lab.page.get_by_role("dialog", name="Server Connection Error"),
        lambda dialog: dialog.get_by_role("button").last.click(),
    )
    return lab.panel_view()


@pytest.fixture(params=[on_its_own_page, pytest.param(in_the_side_panel, marks=pytest.mark.soak)])
def show(request: pytest.FixtureRequest) -> Show:
    """Opens the view."""
    shell: Show = request.param
    return shell


@pytest.fixture
def server(tmp_path: Path, show: Show) -> Iterator[Server]:
    """A server of the test's own, with JupyterLab where the view is shown there."""
    own = Server(tmp_path, lab=show is in_the_side_panel)
    with running(own):
        yield own


def keep_edit(jupyter: Jupyter, run: str, edit: str) -> None:
    """Keep an edit to what a run is halted at, as another view does."""
    (pending,) = [row for row in api(jupyter, f"runs/{run}")["rows"] if row["pending"]]
    said: list[Any] = [
        ui.UiHello(version=VERSION, client="another view"),
        ui.OpenRun(run=run),
        ui.SetEdit(run=run, halt_point=pending["id"], revision=pending["revision"], edit=edit),
    ]
    address = f"{jupyter.url.replace('http', 'ws')}agentstepper/ui?token={jupyter.token}"
    with connect(address, subprotocols=[Subprotocol(SUBPROTOCOL)]) as socket:
        for n, command in enumerate(said, start=1):
            socket.send(ui.from_ui.encode(command, n, f"c{n}"))
        for text in socket:
            _, message = ui.to_ui.decode(text)
            assert not isinstance(message, ui.UiError), message
            if isinstance(message, ui.RowChanged) and message.row.edited:
                return


@pytest.mark.slow
def test_a_halted_agent_and_its_edits_outlive_the_server(
    context: BrowserContext, server: Server, show: Show
) -> None:
    with agent(server.jupyter, "survivor"):
        view = show(context, server.jupyter)
        choose(view, "survivor")
        view.expect_state("Halted at the start")
        view.press("Step")
        view.expect_state("Halted before tool call")
        keep_edit(server.jupyter, run_of(server.jupyter, "survivor"), KEPT)
        expect(view.root.locator(".as-mod-halted")).to_contain_text("40")
        edit_argument(view, "41")
        expect(view.button("Step with edit")).to_be_visible()

        server.stop(signal.SIGKILL)
        view.expect_state("Connection lost")
        server.start()
        view.expect_state("Halted before tool call", timeout=60_000)
        expect(view.button("Step with edit")).to_be_visible()
        view.press("Discard edit")
        view.press("Really discard")
        view.press("Step")
        view.expect_state("Halted after tool call")
        expect(view.root.locator(".as-mod-halted")).to_contain_text("40")
        run = run_of(server.jupyter, "survivor")
        expect_rows_of_core(view, server.jupyter, run)
        view.press("Continue")
        view.expect_state("Finished")
        rows = api(server.jupyter, f"runs/{run}")["rows"]
        assert [row["seq"] for row in rows] == list(range(1, 203))
