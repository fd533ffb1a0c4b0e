"""Somebody at a Core that dies again and again: steps, edits, and remembers what was promised."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import UNSET, Struct
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Run, RunState
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL
from tests.helpers.auth_headers import view_headers

#: Seconds in which something has to happen.
TIMEOUT_S: Final = 60
#: What dies while a Core does.
GONE: Final = (ConnectionClosed, InvalidHandshake, OSError, EOFError)

STEPPED, CONTINUED, HALTED = "stepped", "continued", "halted"


@dataclass
class AcknowledgedCommands:
    """What the Core said `ok` to."""

    #: Each halt point's edit: what the agent has to get, unless a later edit took its place.
    edits: dict[str, str] = field(default_factory=dict)
    #: Edits that were sent and never answered: they may hold or not.
    perhaps: dict[str, set[str | None]] = field(default_factory=dict)


class RandomView:
    """Acts on each run as its name says: steps it, lets it continue, or lets it stay halted for long.

    Args:
        seed: Decides what is edited.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._edits = 0
        #: Whether it is time to let all of them go on to their ends.
        self.ends = False
        self.acknowledged = AcknowledgedCommands()
        self.met: set[str] = set()  # programs whose agents are past their hello
        self.begun: set[str] = set()  # runs that are past their hello
        self.here: set[str] = set()  # programs whose agents are connected now
        self.ended: dict[str, Run] = {}

    def act_until(self, url: str, enough: Callable[[], bool]) -> None:
        """Act until it is enough, which is asked after each message, or the Core is gone.

        Args:
            url: Where UIs reach it.
            enough: Asked after each message.
        """
        try:
            with connect(
                url,
                additional_headers=view_headers(url),
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                proxy=None,
                max_size=MAX_MESSAGE_BYTES,
            ) as socket:
                self.here.clear()
                _ViewConnection(self, socket).act(enough)
        except GONE:
            return

    def choose_edit(self, run: Run) -> Any | None:
        """A new edit, now and then; None is none."""
        if self._random.random() > 0.4:
            return None
        self._edits += 1
        return {"edited": self._edits, "of": run.program}

    def leaves_halted(self) -> bool:
        """Whether a halted run stays halted this time."""
        return self._random.random() < 0.9


class _ViewConnection:
    """One connection."""

    def __init__(self, person: RandomView, socket: ClientConnection) -> None:
        self._person = person
        self._socket = socket
        self._sent = 0
        self._runs: dict[str, Run] = {}
        self._asked: dict[str, tuple[str, str | None]] = {}  # by command: halt point and edit
        self._acted: set[tuple[str, int]] = set()

    def act(self, enough: Callable[[], bool]) -> None:
        self._send(ui.UiHello(version=2, client="killing"))
        while not enough():
            self._receive()
            for run in self._runs.values():
                self._decide(run)

    def _receive(self) -> None:
        envelope, message = ui.to_ui.decode(self._socket.recv(timeout=TIMEOUT_S))
        match message:
            case ui.CoreHello(runs=runs):
                for run in runs:
                    self._update_run(run)
            case ui.RunChanged(run=run):
                self._update_run(run)
            case ui.CommandDone() if envelope.id is not UNSET and envelope.id in self._asked:
                self._record_acknowledged(*self._asked.pop(envelope.id))
            case ui.UiError():
                # Nobody knows whether an agent that was killed meanwhile would have taken the edit.
                unasked = (
                    message.code == "invalid_edit"
                    and "disconnected before it said" in message.message
                )
                assert unasked or message.code in ("stale", "run_is_over"), message
                if envelope.id is not UNSET and envelope.id in self._asked:
                    halt_point, edit = self._asked.pop(envelope.id)
                    self._person.acknowledged.perhaps[halt_point].discard(edit)

    def _update_run(self, run: Run) -> None:
        self._runs[run.id] = run
        if run.state is RunState.DETACHED:
            self._person.here.discard(run.program)
        else:
            self._person.here.add(run.program)
        if run.rows:
            self._person.met.add(run.program)
            self._person.begun.add(run.id)
        if run.state is RunState.IDLE:
            self._person.ended[run.id] = run

    def _record_acknowledged(self, halt_point: str, edit: str | None) -> None:
        promises = self._person.acknowledged
        promises.perhaps[halt_point].discard(edit)
        if edit is not None:
            promises.edits[halt_point] = edit

    def _decide(self, run: Run) -> None:
        if not run.pending or run.state is RunState.DETACHED:
            return
        halt_point = run.pending[0]
        if (halt_point, len(run.pending)) in self._acted:
            return
        self._acted.add((halt_point, len(run.pending)))
        if run.program == CONTINUED or self._person.ends:
            self._send(ui.ContinueRun(run=run.id))
        elif run.program == STEPPED or not self._person.leaves_halted():
            self._edit_and_step(run, halt_point)

    def _edit_and_step(self, run: Run, halt_point: str) -> None:
        """Edit it by itself, and step it by a second command, so that a Core may die in between."""
        edit = self._person.choose_edit(run) if run.rows > 1 else None
        if edit is not None:
            shape = {"Tool": "work", "Argument": edit}
            # A tool's call keeps its form; what it is, only the agent's own data tells.
            text = json.dumps(shape)
            self._person.acknowledged.perhaps.setdefault(halt_point, set()).add(text)
            id = self._send(ui.SetEdit(run=run.id, halt_point=halt_point, revision=1, edit=text))
            self._asked[id] = (halt_point, text)
        self._send(ui.StepRun(run=run.id, halt_point=halt_point))

    def _send(self, command: Struct) -> str:
        self._sent += 1
        id = f"c{self._sent}"
        self._socket.send(ui.from_ui.encode(command, self._sent, id))
        return id
