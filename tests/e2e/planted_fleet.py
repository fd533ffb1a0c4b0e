"""A Jupyter server whose store has many sessions already, and the view of all agents on a page of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import uuid_utils
from playwright.sync_api import Browser, Page

from agentstepper_nb.protocol.runtime import AgentState, SessionStatus, StepLoss
from agentstepper_nb.store.runtime.sqlite.row_codec import STATES
from agentstepper_nb.store.runtime.sqlite.runtime_file import RUNTIME_FILE, open_writer

from .jupyter import Jupyter, Server, running

#: When the first session was created, and how many seconds later each other.
_BEGAN, _LATER_S = 1_790_000_000.0, 2.0
#: How sessions stand, by turns: none is live, so that no worker is wanted for them.
_STATUSES: Final = (
    *[SessionStatus.DONE] * 6,
    SessionStatus.STOPPED,
    SessionStatus.ERROR,
)
_STATE: Final = {"messages": [{"role": "user", "content": "Sort these tickets, please. " * 40}] * 4}

#: Draws the view; gives milliseconds until sessions are seen, and how many rows are in the document.
_DRAW: Final = """async base => {
    const config = document.createElement("script");
    config.id = "jupyter-config-data";
    config.type = "application/json";
    config.textContent = JSON.stringify({ baseUrl: base });
    const host = document.createElement("div");
    document.body.replaceChildren(config, host);
    const { default: widget } = await import(`${base}static/agentstepper/fleet.js`);
    const traits = { direct: true, height: 520, page: "" };
    const model = { get: name => traits[name], on() {}, off() {}, send() {} };
    const began = performance.now();
    const shell = widget();
    shell.initialize({ model });
    shell.render({ model, el: host });
    while (!host.querySelector(".as-SessRow[data-session]")) {
        await new Promise(requestAnimationFrame);
    }
    await new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)));
    return [performance.now() - began, host.querySelectorAll("[role=row]").length];
}"""


def plant_sessions(folder: Path, count: int) -> None:
    """Write sessions into a store's file, of which no Core is there.

    Args:
        folder: The Core's; made where it is missing.
        count: How many sessions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUNTIME_FILE
    open_writer(path).close()
    rows = (STATES.encode_row(_make_session(number)) for number in range(count))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(STATES.insert(), rows)


def _make_session(number: int) -> AgentState:
    status = _STATUSES[number % len(_STATUSES)]
    is_lost = status is SessionStatus.ERROR and number % 3 == 0
    at = _BEGAN + _LATER_S * number
    loss = StepLoss(worker=f"worker-{number}", at=at, ending="was killed by signal 9")
    fields: dict[str, Any] = {"attempt": 1, "losses": (loss,)} if is_lost else {}
    error = f"Timed out after {number} s." if status is SessionStatus.ERROR else None
    return AgentState(
        agent_id=f"ticket-{number}",
        session_id=str(uuid_utils.uuid7()),
        status=status,
        iteration=number % 60,
        state=_STATE,
        result={"text": f"Sorted ticket {number}.", "data": None, "done": True},
        last_error=error,
        moniker="llm" if number % 2 else "coding",
        created_at=at,
        updated_at=at + 1,
        **fields,
    )


@contextmanager
def running_planted_server(home: Path, count: int) -> Iterator[Jupyter]:
    """A Jupyter server, without JupyterLab, whose Core has so many sessions.

    Args:
        home: A folder for all of it.
        count: How many sessions.
    """
    server = Server(home, lab=False)
    plant_sessions(home / "data" / "agentstepper", count)
    with running(server):
        yield server.jupyter


def open_fleet_page(browser: Browser, jupyter: Jupyter) -> Page:
    """A page of the server, logged in, to draw the view on."""
    page = browser.new_page(viewport={"width": 1400, "height": 700})
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    return page


def draw_fleet(page: Page, jupyter: Jupyter) -> tuple[float, int]:
    """Draw the view in place of all that the page has.

    Returns:
        Milliseconds until sessions are seen, and how many rows are in the document then.
    """
    milliseconds, rows = page.evaluate(_DRAW, jupyter.url)
    return float(milliseconds), int(rows)
