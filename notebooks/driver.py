"""Presses the tutorials' buttons over the same wire as the view, so that they run unattended."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from typing import Any, Final

from msgspec import Struct
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb.discover import find_view_endpoint
from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Run, TimelineRow
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder
from agentstepper_nb.protocol.envelope import SUBPROTOCOL, VERSION

#: Programs of tutorials whose reader presses Continue, and where a breakpoint halts them what is edited
#: in the call: where its argument stands, and what it is to be.
CONTINUED: Final[dict[str, tuple[tuple[str, ...], Any]]] = {
    "bookkeeper": (("cents",), 125_000),
    "chat Weather": (("message", "content"), "Which day was the warmest?"),
}
#: What programs of tutorials begin with that a cell finds halted, edits and continues.
LEFT_TO_CELLS: Final = ("pay back ",)
#: Tools whose calls the reader edits while stepping: the argument, and what it is to be.
STEPPED: Final[dict[str, tuple[str, Any]]] = {"refund": ("cents", 2_900)}
#: A command that asks for an approval, and what the reader makes of it.
APPROVED: Final = ("rm -rf build", "rm -rf build/cache")


class Driver:
    """A reader of the tutorials who does what they ask for: edits the fix, and steps or continues.

    Args:
        url: The Core's UI port.

    Attributes:
        steps: How many halt points it has answered.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._open = ExitStack()
        self._socket: ClientConnection
        self._sent = 0
        self._answered: set[str] = set()
        self.steps = 0
        self._rows: dict[str, TimelineRow] = {}
        self._programs: dict[str, str] = {}  # by run
        self._thread = threading.Thread(target=self._drive, name="driver", daemon=True)

    def start(self) -> None:
        """Connect and begin; returns once connected."""
        core = find_view_endpoint(self._url)
        headers = {"Authorization": f"Bearer {core.token}"} if core.token else None
        self._socket = self._open.enter_context(
            connect(
                core.url,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                additional_headers=headers,
                proxy=None,
                max_size=None,
            )
        )
        self._send(ui.UiHello(version=VERSION, client="tutorial driver"))
        self._thread.start()

    def stop(self) -> None:
        """Disconnect and wait for the thread."""
        self._open.close()
        self._thread.join()

    def _drive(self) -> None:
        decoder = DeltaDecoder()
        try:
            for text in self._socket:
                _, message = ui.to_ui.decode(text)
                self._receive(decode_contents(message, decoder))
        except ConnectionClosed:
            return

    def _receive(self, message: Struct) -> None:
        match message:
            case ui.RunChanged(run=run) if run.program.startswith(LEFT_TO_CELLS):
                pass
            case ui.RunChanged(run=run) if run.rows == 0:
                self._programs[run.id] = run.program
                self._send(ui.OpenRun(run=run.id))
            case ui.RunOpened(run=run, rows=rows):
                self._rows |= {row.id: row for row in rows}
                self._answer(run)
            case ui.RowChanged(row=row):
                self._rows[row.id] = row
            case ui.RunChanged(run=run):
                self._answer(run)
            case ui.MessageBody():
                self._edit(message)

    def _answer(self, run: Run) -> None:
        """Step what waits; what has something to correct is read first."""
        for id in run.pending:
            row = self._rows.get(id)
            if row is None or id in self._answered:
                continue
            if row.approval and self._programs.get(run.id) in CONTINUED:
                continue  # is given elsewhere: in the chat
            self._answered.add(id)
            self.steps += 1
            if (
                (row.name in ("write_file", *STEPPED) and row.side == "begin")
                or row.breakpoints
                or row.approval
            ):
                self._send(ui.GetMessage(run=run.id, message=id))
            else:
                self._go_on(run.id, id, row.revision)

    def _edit(self, body: ui.MessageBody) -> None:
        call: dict[str, Any] = json.loads(body.data)
        argument = call["Argument"]
        if call["Tool"] == "write_file":
            argument["content"] = argument["content"].replace(GUESSED_LINE, RIGHT_LINE)
        elif call["Tool"] == "run_command":
            argument["command"] = argument["command"].replace(*APPROVED)
        elif call["Tool"] in STEPPED:
            name, value = STEPPED[call["Tool"]]
            argument[name] = value
        else:
            (*path, last), value = CONTINUED[self._programs[body.run]]
            for name in path:
                argument = argument[name]
            argument[last] = value
        if body.approval is None:
            self._go_on(body.run, body.message, body.revision, json.dumps(call))
        else:
            self._approve(body, json.dumps(call))

    def _approve(self, body: ui.MessageBody, edit: str) -> None:
        meant = {"run": body.run, "halt_point": body.message, "revision": body.revision}
        self._send(ui.ApproveCall(**meant, edit=edit, confirmed=True))

    def _go_on(self, run: str, halt_point: str, revision: int, edit: str | None = None) -> None:
        """Press Continue where the tutorial says so, else Step."""
        press = ui.ContinueRun if self._programs.get(run) in CONTINUED else ui.StepRun
        self._send(press(run=run, halt_point=halt_point, revision=revision, edit=edit))

    def _send(self, message: Struct) -> None:
        self._sent += 1
        self._socket.send(ui.from_ui.encode(message, self._sent, f"d{self._sent}"))
