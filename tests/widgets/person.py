"""Somebody at a view: a small UI of version 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from websockets.sync.client import connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import ui as v2
from agentstepper_nb.protocol.data_model import Run
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL, VERSION
from tests.helpers.auth_headers import view_headers

TIMEOUT_S = 60
Message = TypeVar("Message")


@contextmanager
def connect_view(url: str) -> Iterator[KernelTestView]:
    """Somebody at the Core whose UIs connect to `url`."""
    with connect(
        url,
        additional_headers=view_headers(url),
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        proxy=None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
    ) as socket:
        yield KernelTestView(socket)


class TextConnection(Protocol):
    """A connection: a socket, or the like."""

    def send(self, text: str, /) -> None: ...

    def recv(self, timeout: float) -> str | bytes: ...


class KernelTestView:
    """Watches all runs and presses buttons.

    Args:
        socket: Their connection to the Core.
    """

    def __init__(self, socket: TextConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.runs: dict[str, Run] = {}
        self._send(v2.UiHello(version=VERSION, client="test"))
        for run in self._expect(v2.CoreHello).runs:
            self.runs[run.id] = run

    @property
    def newest(self) -> Run:
        """The run that began last, as far as was read."""
        return list(self.runs.values())[-1]

    def wait_for_run(self, told: Callable[[Run], bool]) -> Run:
        """Wait until some run is so, and give it."""
        while True:
            run = self._expect(v2.RunChanged).run
            if told(run):
                return run

    def wait_until_halted(self) -> Run:
        """Wait until a run halts."""
        return self.wait_for_run(lambda run: bool(run.pending))

    def find_halted_run(self) -> Run:
        """The run that is halted, by now or soon."""
        halted = [run for run in self.runs.values() if run.pending]
        return halted[-1] if halted else self.wait_until_halted()

    def wait_until_ended(self) -> Run:
        """Wait until a run ends."""
        return self.wait_for_run(lambda run: not run.live)

    def step(self, edit: str | None = None) -> None:
        """Wait for the next halt and press Step."""
        self.step_run(self.wait_until_halted(), edit)

    def step_run(self, run: Run, edit: str | None = None) -> None:
        """Press Step for a run that is halted."""
        self.run_command(v2.StepRun(run=run.id, halt_point=run.pending[0], revision=1, edit=edit))

    def stop(self) -> None:
        """Wait for the next halt and press Stop."""
        self.run_command(v2.StopRun(run=self.wait_until_halted().id))

    def run_command(self, command: Any) -> None:
        """Send a command and see it carried out."""
        self._send(command)
        self._expect(v2.CommandDone)

    def ask(self, command: Any, kind: type[Message]) -> Message:
        """Send a command and give its answer."""
        self._send(command)
        return self._expect(kind)

    def _send(self, message: Any) -> None:
        self._sent += 1
        self._socket.send(v2.from_ui.encode(message, self._sent, "c"))

    def _expect(self, kind: type[Message]) -> Message:
        while True:
            _, message = v2.to_ui.decode(self._socket.recv(timeout=TIMEOUT_S))
            assert not isinstance(message, v2.UiError), message
            if isinstance(message, v2.RunChanged):
                self.runs[message.run.id] = message.run
            if isinstance(message, kind):
                return message
